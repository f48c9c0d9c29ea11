"""Start everything once and let one rating pass through it: what `make test-lowest` runs.

    python tests/tools/smoke.py

It needs what requirements.txt names and nothing else. DATABASE_URL and REDIS_URL are used where
they are set. Ends with status 0 when all went well, else with what did not.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

BASE_DIR = Path(__file__).resolve().parents[2]
PATIENCE = 60.0  # seconds until something must have happened


class Concord:
    """`manage.py services` on a data folder of its own."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.port = server.getsockname()[1]
        self.output = folder / "output.txt"
        own = {"DATA_DIR": str(folder), "HOST": "127.0.0.1", "PORT": str(self.port)}
        self.environment = {**os.environ, **own}
        self.token = ""
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                self.command("services"),
                env=self.environment,
                cwd=BASE_DIR,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "manage.py", *arguments]

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            env=self.environment,
            cwd=BASE_DIR,
            capture_output=True,
            text=True,
            check=False,
        )

    def succeeds(self, command: str) -> bool:
        return self.manage(command).returncode == 0

    def page(self, path: str) -> str:
        address = f"http://127.0.0.1:{self.port}{path}"
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The API's answer. Exits when it is an error."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/v1/projects/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            self.fail(f"{method} {path}: {error.code} {error.read().decode()}")

    def answers(self) -> bool:
        if self.process.poll() is not None:
            self.fail("it ended at once")
        try:
            return bool(self.page("/healthz"))
        except OSError:
            return False

    def wait_for(self, condition: Any, what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                self.fail(f"waited in vain for {what}")
            time.sleep(0.1)

    def fail(self, reason: str) -> Any:
        sys.exit(f"{self.output.read_text(errors='replace')}\n{reason}")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="concord-") as folder:
        concord = Concord(Path(folder).resolve())
        try:
            look_at(concord)
        finally:
            if concord.process.poll() is None:
                concord.process.kill()  # its watcher ends what it started
                concord.process.wait()


def look_at(concord: Concord) -> None:
    concord.wait_for(concord.answers, "an answer")
    if 'name="password"' not in concord.page("/sign-in/"):
        concord.fail("the page to sign in has no field for a password")
    concord.token = concord.manage("create_token", "lead").stdout.strip()
    question = {"key": "q", "text": "?", "scale": "nominal"}
    categories = [{"label": "a"}, {"label": "b"}]
    wanted = {"name": "Smoke", "questions": [{**question, "categories": categories}]}
    project = concord.call("POST", "", wanted)["id"]
    concord.call("POST", f"{project}/items/", [{"key": "i", "body": {"text": "i"}}])
    concord.call("POST", f"{project}/raters/", [{"key": "r"}, {"key": "s"}])
    for rater in ("r", "s"):
        concord.call("POST", f"{project}/ratings/", {"item": "i", "rater": rater, "label": "a"})
    agreement = f"{project}/agreement/"
    concord.wait_for(
        lambda: concord.call("GET", agreement)["ratings"] == 2, "the worker's counting"
    )
    # `status` ends with 0 when a worker has swept and the broker answers, `audit` when the counts
    # are exact.
    concord.wait_for(lambda: concord.succeeds("status"), "a sweep")
    concord.wait_for(lambda: concord.succeeds("audit"), "an audit without a difference")
    concord.process.send_signal(signal.SIGTERM)
    if concord.process.wait(timeout=PATIENCE):
        concord.fail("it did not stop as it should")


if __name__ == "__main__":
    main()
