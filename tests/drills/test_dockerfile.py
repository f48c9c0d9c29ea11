"""Every step of the Dockerfile, executed in a clean folder, up to the answer of its health check.

No container engine is needed. Steps that change the system (packages, users) are left out: the
folder belongs to whoever runs the test, and `make` is there.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.agreement_site.server.conftest import find_free_port, wait_for
from tests.deployment import BASE_DIR, DEPLOY

# Everything that a clean image installs is downloaded first.
pytestmark = [pytest.mark.drill, pytest.mark.timeout(900)]

SYSTEM_STEPS = ("apt-get ", "useradd ")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def read_steps() -> list[tuple[str, str]]:
    """Return (instruction, arguments) of each step."""
    text = (DEPLOY / "Dockerfile").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1].strip()) for line in joined.splitlines()]


def copy(arguments: str, target: Path) -> None:
    """Copy files of the checkout that .dockerignore does not exclude."""
    *sources, destination = [word for word in arguments.split() if not word.startswith("--")]
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for name in names:
        if any(fnmatch.fnmatch(name, f"{pattern}*") for pattern in ignored):
            continue
        if sources == ["."]:
            path = target / name
        elif name in sources:
            path = target / destination / Path(name).name
        else:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if (BASE_DIR / name).is_file():
            shutil.copy2(BASE_DIR / name, path)


def test_every_step_runs_in_a_clean_folder(tmp_path: Path) -> None:
    folder, port = tmp_path / "concord", find_free_port()
    folder.mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "COMMIT": COMMIT,
        **{name: value for name, value in os.environ.items() if name.startswith("PIP_")},
    }
    health_check: list[str] = []
    command: list[str] = []
    for instruction, arguments in read_steps():
        if instruction == "FROM":
            assert re.fullmatch(r"python:3\.(11|12|13)-slim", arguments)
        elif instruction == "COPY":
            copy(arguments, folder)
        elif instruction == "RUN" and not arguments.startswith(SYSTEM_STEPS):
            python = f"PYTHON={sys.executable}"
            script = arguments.replace("PYTHON=python3", python)
            subprocess.run(["sh", "-ec", script], cwd=folder, env=environment, check=True)
        elif instruction == "ENV":
            values = dict(word.split("=", 1) for word in arguments.split())
            values["PATH"] = f"{folder}/.venv/bin:{environment['PATH']}"
            environment |= values
        elif instruction == "HEALTHCHECK":
            health_check = json.loads(arguments.split("CMD ")[1].replace(":8000", f":{port}"))
        elif instruction == "CMD":
            command = json.loads(arguments)
        else:
            assert instruction in ("RUN", "USER", "WORKDIR", "ARG", "LABEL", "VOLUME", "EXPOSE")

    assert not (folder / "tests").exists()
    assert not (folder / ".git").exists()
    environment |= {"DATA_DIR": str(tmp_path / "data"), "HOST": "127.0.0.1", "PORT": str(port)}
    process = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True)
    try:

        def is_healthy() -> bool:
            assert process.poll() is None
            check = subprocess.run(
                health_check, env=environment, cwd=folder, capture_output=True, check=False
            )
            return check.returncode == 0

        wait_for(is_healthy, "the health check of the image", timeout=120)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz") as response:
            release = json.load(response)["release"]
        assert release.endswith(f"+{COMMIT[:7]}")
    finally:
        process.terminate()
        process.wait(timeout=60)
