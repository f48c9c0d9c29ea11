"""Run the scripts of the CI examples in docs/connecting.md against a server with known verdicts."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

from agreement_site.settings import BASE_DIR

PAGE = BASE_DIR / "docs" / "connecting.md"
SHELLS = {"jobs": ["bash", "-e", "-o", "pipefail"], "agreement": ["sh", "-e"]}  # GitHub, GitLab


def read_scripts() -> dict[str, str]:
    """Return the script of each example by the first key of its file."""
    scripts = {}
    for block in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL):
        example = yaml.safe_load(block)
        if "jobs" in example:
            scripts["jobs"] = example["jobs"]["agreement"]["steps"][0]["run"]
        elif "agreement" in example:
            scripts["agreement"] = example["agreement"]["script"][-1]
    return scripts


@contextmanager
def serve(responses: list[tuple[int, object]]) -> Iterator[str]:
    """Answer with each response in turn, the last one for ever, and 401 without the token."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = responses.pop(0) if len(responses) > 1 else responses[0]
            is_known = self.headers["Authorization"] == "Bearer ccd_token"
            self.send_response(status if is_known else 401)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.skipif(
    not shutil.which("jq") or not shutil.which("curl"), reason="the examples need curl and jq"
)
@pytest.mark.parametrize("system", sorted(SHELLS))
@pytest.mark.parametrize(
    ("responses", "exit_status"),
    [
        ([(200, {"verdict": "pass"})], 0),
        ([(202, {"computed_at": None}), (200, {"verdict": "pass"})], 0),
        ([(200, {"verdict": "fail"})], 1),
        ([(200, {"verdict": "not_enough"})], 2),
        ([(404, {"status": 404})], 3),
    ],
)
def test_exit_status_is_that_of_the_verdict(
    tmp_path: Path, system: str, responses: list[tuple[int, object]], exit_status: int
) -> None:
    with serve(list(responses)) as address:
        result = subprocess.run(
            [*SHELLS[system], "-c", read_scripts()[system]],
            cwd=tmp_path,
            env={**os.environ, "CONCORD_TOKEN": "ccd_token", "VERDICT": address},
            capture_output=True,
            timeout=60,
            check=False,
        )
    assert result.returncode == exit_status, result.stderr
    stored = json.loads((tmp_path / "verdict.json").read_text())
    assert stored == responses[-1][1]
