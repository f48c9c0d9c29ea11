"""A clean Debian with its own systemd in a folder: made by debootstrap, run by systemd-nspawn.

DRILL_DEBIAN names a folder that debootstrap has already made, which is copied. DRILL_BIND
names files and folders of this machine that `pip` needs inside (its configuration, an
index), separated by blanks, each also as `from:to`.
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


class DebianMachine:
    """A machine that runs commands as root.

    Before `boot` nothing else runs in it, and it uses the network of the host.
    """

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
        """Run the script before anything is started: services are installed, and wait for `boot`."""
        self._execute(
            [*self.nspawn, "--resolv-conf=copy-host", "/usr/bin/env", f"PATH={PATH}"], script
        )

    def boot(self) -> None:
        """Start its systemd, in a network of its own so that its ports conflict with no others."""
        command = [*self.nspawn, "--private-network", "--boot"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(self.is_running, "systemd", timeout=120)

    def is_running(self) -> bool:
        result = subprocess.run(
            [*self.build_enter_command(), "systemctl", "is-system-running"],
            capture_output=True,
            text=True,
            check=False,
        )
        return result.stdout.strip() in {"running", "degraded"}

    def build_enter_command(self) -> list[str]:
        """Return the words that precede a command to run it inside the machine."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        leader = (children.read_text().split() or ["0"])[0]
        environment_command = [
            "/usr/bin/env",
            "--chdir=/",
            "--ignore-environment",
            f"PATH={PATH}",
            "HOME=/root",
            "LANG=C.UTF-8",
        ]
        return ["nsenter", "--target", leader, "--all", *environment_command]

    def run(self, script: str) -> str:
        return self._execute(self.build_enter_command(), script)

    def _execute(self, prefix: list[str], script: str) -> str:
        """Return the output of the script, which ends at the first command that fails."""
        # A root shell does not have our own umask, which the site's settings set.
        commands = f"umask 022\n{script}"
        (self.root / "root" / "typed.sh").write_text(commands, encoding="utf-8")
        result = subprocess.run(
            [*prefix, "/bin/bash", "-euo", "pipefail", "/root/typed.sh"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        output = result.stdout[-3000:] + result.stderr[-3000:]
        assert result.returncode == 0, f"{script}\n-> {result.returncode}\n{output}"
        return result.stdout

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def create_debian(root: Path) -> None:
    """Create a minimal Debian in the folder, with only systemd added."""
    template = os.environ.get("DRILL_DEBIAN")
    if template:
        subprocess.run(["cp", "--archive", template, root], check=True)
        return
    included = "--include=systemd-sysv,dbus"
    command = ["debootstrap", "--variant=minbase", included, RELEASE, str(root)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def create_clean_machine() -> Iterator[DebianMachine]:
    """Yield a machine with this checkout's last commit as a repository at REPOSITORY.

    It is removed afterwards.
    """
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(
            f"needs root and {', '.join(PROGRAMS)}; missing: {', '.join(missing) or 'root'}"
        )
    folder = Path(tempfile.mkdtemp(prefix="concord-machine-"))
    machine = DebianMachine(folder / "root")
    try:
        create_debian(machine.root)
        repository = machine.root / REPOSITORY.lstrip("/")
        subprocess.run(["git", "clone", "--quiet", "--bare", BASE_DIR, repository], check=True)
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=BASE_DIR, capture_output=True, check=True
        )
        git_command = ["git", "-C", str(repository)]
        subprocess.run(
            [*git_command, "update-ref", "refs/heads/drill", head.stdout.decode().strip()],
            check=True,
        )
        subprocess.run([*git_command, "symbolic-ref", "HEAD", "refs/heads/drill"], check=True)
        # Another user upgrades, and our own umask, which the site's settings set, shuts them out.
        subprocess.run(["chmod", "--recursive", "a+rX", repository], check=True)
        yield machine
    finally:
        machine.stop()
        shutil.rmtree(folder, ignore_errors=True)
