"""Every step of the Dockerfile, executed in a clean system, up to the answer of its health check.

No container engine is needed: for root, and where debootstrap is installed, the steps run in a
minimal Debian in a folder of its own (chroot). Otherwise they run in an empty folder, and steps
that change the system (packages, users) are left out.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.agreement_site.server.conftest import find_free_port, wait_for
from tests.deployment import BASE_DIR, DEPLOY

# Everything that a clean image installs is downloaded first.
pytestmark = [pytest.mark.drill, pytest.mark.timeout(900)]

SYSTEM_STEPS = ("apt-get ", "useradd ")
DEBIAN = ("bookworm", "http://deb.debian.org/debian")
DEBIAN_PACKAGES = "python3,python3-venv,ca-certificates"  # what python:3.13-slim has
# Files by which the network is reached, where this machine has them.
NETWORK_FILES = ("/etc/resolv.conf", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
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


@dataclass
class ImageSystem:
    """The system in which the steps run: a Debian below ``root``, or this one.

    ``work_folder`` is the folder of the image's working directory.
    """

    root: Path
    is_debian: bool
    work_folder: Path
    environment: dict[str, str]
    user: str = "root"
    health_check: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    def build_command(self, command: list[str]) -> list[str]:
        """Return the command in the working directory, as the image's user."""
        if not self.is_debian:
            return command
        inside = f"/{self.work_folder.relative_to(self.root)}"
        change = ["sh", "-c", 'cd "$0" && exec "$@"', inside]
        return ["chroot", f"--userspec={self.user}", str(self.root), *change, *command]

    def run(self, script: str) -> None:
        command = self.build_command(["sh", "-ec", script])
        cwd = None if self.is_debian else self.work_folder
        subprocess.run(command, cwd=cwd, env=self.environment, check=True)

    def run_step(self, script: str) -> None:
        """Run a step; without a Debian of its own, none that changes the system."""
        if self.is_debian:
            self.run(script)
        elif not script.startswith(SYSTEM_STEPS):
            self.run(script.replace("PYTHON=python3", f"PYTHON={sys.executable}"))

    def copy_files(self, arguments: str) -> None:
        copy(arguments, self.work_folder)
        if self.is_debian:
            subprocess.run(["chown", "-R", "10001", str(self.work_folder)], check=True)

    def execute(self, instruction: str, arguments: str, port: int) -> None:
        """Carry out a step; those that only describe the image do nothing."""
        if instruction == "FROM":
            assert re.fullmatch(r"python:3\.(11|12|13)-slim", arguments)
        elif instruction == "USER" and self.is_debian:
            self.user = arguments
            self.environment["HOME"] = f"/home/{arguments}"
        elif instruction == "WORKDIR" and self.is_debian:
            self.work_folder = self.root / arguments.lstrip("/")
        elif instruction == "COPY":
            self.copy_files(arguments)
        elif instruction == "RUN":
            self.run_step(arguments)
        elif instruction == "ENV":
            values = dict(word.split("=", 1) for word in arguments.split())
            inside = "/opt/concord" if self.is_debian else self.work_folder
            values["PATH"] = f"{inside}/.venv/bin:{self.environment['PATH']}"
            self.environment |= values
        elif instruction == "HEALTHCHECK":
            check = arguments.split("CMD ")[1].replace(":8000", f":{port}")
            self.health_check = json.loads(check)
        elif instruction == "CMD":
            self.command = json.loads(arguments)
        else:
            assert instruction in ("RUN", "USER", "WORKDIR", "ARG", "LABEL", "VOLUME", "EXPOSE")


@contextlib.contextmanager
def open_system(tmp_path: Path) -> Iterator[ImageSystem]:
    """Create a minimal Debian where that is possible, else an empty folder."""
    environment = {
        "COMMIT": COMMIT,
        **{name: value for name, value in os.environ.items() if name.startswith("PIP_")},
    }
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        folder = tmp_path / "concord"
        folder.mkdir()
        environment |= {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        yield ImageSystem(tmp_path, False, folder, environment)
        return
    root = tmp_path / "debian"
    subprocess.run(
        [
            *("debootstrap", "--variant=minbase", f"--include={DEBIAN_PACKAGES}"),
            *(DEBIAN[0], str(root), DEBIAN[1]),
        ],
        check=True,
    )
    for name in filter(os.path.exists, NETWORK_FILES):
        shutil.copy(name, root / name.lstrip("/"))
    root.chmod(0o755)
    environment |= {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
    subprocess.run(["mount", "-t", "proc", "proc", str(root / "proc")], check=True)
    try:
        yield ImageSystem(root, True, root, environment)
    finally:
        subprocess.run(["umount", str(root / "proc")], check=True)


def test_every_step_runs_in_a_clean_system(tmp_path: Path) -> None:
    with open_system(tmp_path) as system:
        check_image(system, find_free_port(), tmp_path)


def check_image(system: ImageSystem, port: int, tmp_path: Path) -> None:
    """Carry out all steps, start the command, and wait for the health check."""
    for instruction, arguments in read_steps():
        system.execute(instruction, arguments, port)
    assert not (system.work_folder / "tests").exists()
    assert not (system.work_folder / ".git").exists()
    data = system.environment["DATA_DIR"] if system.is_debian else str(tmp_path / "data")
    environment = system.environment | {"DATA_DIR": data, "HOST": "127.0.0.1", "PORT": str(port)}
    cwd = None if system.is_debian else system.work_folder
    process = subprocess.Popen(
        system.build_command(system.command), cwd=cwd, env=environment, start_new_session=True
    )
    try:

        def is_healthy() -> bool:
            assert process.poll() is None
            check = subprocess.run(
                system.build_command(system.health_check),
                env=environment,
                cwd=cwd,
                capture_output=True,
                check=False,
            )
            return check.returncode == 0

        wait_for(is_healthy, "the health check of the image", timeout=120)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz") as response:
            release = json.load(response)["release"]
        assert release.endswith(f"+{COMMIT[:7]}")
        if system.is_debian:
            owner = os.stat(system.root / data.lstrip("/")).st_uid
            assert owner == 10001, "the site does not run as root"
    finally:
        process.terminate()
        process.wait(timeout=60)
