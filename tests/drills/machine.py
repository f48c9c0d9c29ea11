"""A clean Debian with a systemd of its own, in a folder: made by debootstrap, run by systemd-nspawn.

DRILL_DEBIAN names a folder that debootstrap made already, which is copied. DRILL_BIND names
files and folders of this machine that `pip` needs inside (its configuration, an index), by blanks,
each also as `from:to`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agreement_site.server.conftest import BASE_DIR, wait_for

PROGRAMS = ("debootstrap", "systemd-nspawn", "nsenter", "git")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
RELEASE = "bookworm"
REPOSITORY = "/srv/concord.git"


class Machine:
    """Commands run in it as root; before `boot` nothing else runs, and it sees the network."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.process: subprocess.Popen[bytes] | None = None
        self.nspawn = ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit"]
        self.nspawn.append("--console=pipe")
        name = root.parent.name.replace("_", "0")
        self.nspawn += [f"--directory={root}", f"--machine={name}"]
        for path in os.environ.get("DRILL_BIND", "").split():
            self.nspawn.append(f"--bind-ro={path}")

    def install(self, script: str) -> None:
        """Run it before anything is started: services are installed, and wait for `boot`."""
        self._shell(
            [*self.nspawn, "--resolv-conf=copy-host", "/usr/bin/env", f"PATH={PATH}"], script
        )

    def boot(self) -> None:
        """Its systemd; a network of its own, so that its ports are nobody else's."""
        command = [*self.nspawn, "--private-network", "--boot"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(self.runs, "systemd", patience=120)

    def runs(self) -> bool:
        done = subprocess.run(
            [*self.inside(), "systemctl", "is-system-running"],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip() in {"running", "degraded"}

    def inside(self) -> list[str]:
        """What stands before a command that is run in it."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        leader = (children.read_text().split() or ["0"])[0]
        clean = [
            "/usr/bin/env",
            "--chdir=/",
            "--ignore-environment",
            f"PATH={PATH}",
            "HOME=/root",
            "LANG=C.UTF-8",
        ]
        return ["nsenter", "--target", leader, "--all", *clean]

    def run(self, script: str) -> str:
        return self._shell(self.inside(), script)

    def _shell(self, before: list[str], script: str) -> str:
        """What it prints; the script ends at the first command that fails."""
        # Our own umask, that of the site's settings, is no root's.
        typed = f"umask 022\n{script}"
        (self.root / "root" / "typed.sh").write_text(typed, encoding="utf-8")
        done = subprocess.run(
            [*before, "/bin/bash", "-euo", "pipefail", "/root/typed.sh"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout[-3000:] + done.stderr[-3000:]
        assert done.returncode == 0, f"{script}\n-> {done.returncode}\n{said}"
        return done.stdout

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def debian(root: Path) -> None:
    """A minimal Debian in the folder, with nothing but systemd added."""
    ready = os.environ.get("DRILL_DEBIAN")
    if ready:
        subprocess.run(["cp", "--archive", ready, root], check=True)
        return
    added = "--include=systemd-sysv,dbus"
    command = ["debootstrap", "--variant=minbase", added, RELEASE, str(root)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def clean_machine() -> Iterator[Machine]:
    """One with this checkout's last commit as a repository at REPOSITORY; gone afterwards."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(
            f"needs root and {', '.join(PROGRAMS)}; missing: {', '.join(missing) or 'root'}"
        )
    folder = Path(tempfile.mkdtemp(prefix="concord-machine-"))
    machine = Machine(folder / "root")
    try:
        debian(machine.root)
        repository = machine.root / REPOSITORY.lstrip("/")
        subprocess.run(["git", "clone", "--quiet", "--bare", BASE_DIR, repository], check=True)
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=BASE_DIR, capture_output=True, check=True
        )
        own = ["git", "-C", str(repository)]
        subprocess.run(
            [*own, "update-ref", "refs/heads/drill", head.stdout.decode().strip()], check=True
        )
        subprocess.run([*own, "symbolic-ref", "HEAD", "refs/heads/drill"], check=True)
        # Who upgrades is another user, and our own umask, that of the site's settings, shuts it.
        subprocess.run(["chmod", "--recursive", "a+rX", repository], check=True)
        yield machine
    finally:
        machine.stop()
        shutil.rmtree(folder, ignore_errors=True)
