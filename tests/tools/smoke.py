"""Start all programs once and process one rating: the check of `make test-lowest`.

    python tests/tools/smoke.py

It needs only the packages of requirements.txt. DATABASE_URL and REDIS_URL are used where they are
set. It exits with status 0 on success, else with a message about what failed.
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
TIMEOUT_SECONDS = 60.0  # seconds to wait for a condition


class ConcordServices:
    """A `manage.py services` process with its own data folder."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.port = server.getsockname()[1]
        self.output = folder / "output.txt"
        overrides = {"DATA_DIR": str(folder), "HOST": "127.0.0.1", "PORT": str(self.port)}
        self.environment = {**os.environ, **overrides}
        self.token = ""
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                self.build_command("services"),
                env=self.environment,
                cwd=BASE_DIR,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def build_command(self, *arguments: str) -> list[str]:
        """Return the command line of a management command."""
        return [sys.executable, "manage.py", *arguments]

    def run_command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a management command."""
        return subprocess.run(
            self.build_command(*arguments),
            env=self.environment,
            cwd=BASE_DIR,
            capture_output=True,
            text=True,
            check=False,
        )

    def command_succeeds(self, command: str) -> bool:
        """Return whether a management command exits with 0."""
        return self.run_command(command).returncode == 0

    def get_page(self, path: str) -> str:
        """Return the HTML of a page."""
        address = f"http://127.0.0.1:{self.port}{path}"
        with urllib.request.urlopen(address, timeout=TIMEOUT_SECONDS) as response:
            return response.read().decode()

    def call_api(self, method: str, path: str, body: Any = None) -> Any:
        """Return the API's response as data. Exits the program on an error."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/v1/projects/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            self.fail(f"{method} {path}: {error.code} {error.read().decode()}")

    def is_responding(self) -> bool:
        """Return whether the site responds. Exits the program if the process has ended."""
        if self.process.poll() is not None:
            self.fail("it ended at once")
        try:
            return bool(self.get_page("/healthz"))
        except OSError:
            return False

    def wait_for(self, condition: Any, description: str) -> None:
        """Wait until a condition holds; exit after the timeout."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                self.fail(f"waited in vain for {description}")
            time.sleep(0.1)

    def fail(self, reason: str) -> Any:
        """Exit the program, with the output of the services and the reason."""
        sys.exit(f"{self.output.read_text(errors='replace')}\n{reason}")


def main() -> None:
    """Run the check in a temporary folder and end all processes."""
    with tempfile.TemporaryDirectory(prefix="concord-") as folder:
        concord = ConcordServices(Path(folder).resolve())
        try:
            check_services(concord)
        finally:
            if concord.process.poll() is None:
                concord.process.kill()  # its watcher ends what it started
                concord.process.wait()


def check_services(concord: ConcordServices) -> None:
    """Create two ratings, wait until they are counted, and stop the services cleanly."""
    concord.wait_for(concord.is_responding, "an answer")
    if 'name="password"' not in concord.get_page("/sign-in/"):
        concord.fail("the page to sign in has no field for a password")
    concord.token = concord.run_command("create_token", "lead").stdout.strip()
    question = {"key": "q", "text": "?", "scale": "nominal"}
    categories = [{"label": "a"}, {"label": "b"}]
    project_data = {"name": "Smoke", "questions": [{**question, "categories": categories}]}
    project = concord.call_api("POST", "", project_data)["id"]
    concord.call_api("POST", f"{project}/items/", [{"key": "i", "body": {"text": "i"}}])
    concord.call_api("POST", f"{project}/raters/", [{"key": "r"}, {"key": "s"}])
    for rater in ("r", "s"):
        concord.call_api("POST", f"{project}/ratings/", {"item": "i", "rater": rater, "label": "a"})
    agreement = f"{project}/agreement/"
    concord.wait_for(
        lambda: concord.call_api("GET", agreement)["ratings"] == 2, "the worker's counting"
    )
    # `status` exits with 0 when a worker has swept and the broker answers, `audit` when the counts
    # are exact.
    concord.wait_for(lambda: concord.command_succeeds("status"), "a sweep")
    concord.wait_for(lambda: concord.command_succeeds("audit"), "an audit without a difference")
    concord.process.send_signal(signal.SIGTERM)
    if concord.process.wait(timeout=TIMEOUT_SECONDS):
        concord.fail("it did not stop as it should")


if __name__ == "__main__":
    main()
