"""`make run`: broker, worker and web server of one installation under one supervisor.

Read from the environment: DATA_DIR, HOST, PORT, REDIS_URL (then no broker is started),
WEB_PROCESSES, WEB_THREADS, WORKER_PROCESSES, WORKER_THREADS. Standard library only: the supervisor
stays small.
"""

import argparse
import fcntl
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from . import embedded_broker, web_server
from .supervisor import Program, Supervisor, say

BASE_DIR = Path(__file__).resolve().parent.parent.parent

# One BLAS thread and few memory arenas a process: several small processes share the machine.
FRUGAL = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}


class CannotStart(Exception):
    """The message says what is in the way and what to do."""


@dataclass(frozen=True)
class Installation:
    """Where an installation keeps its data and how it is reached."""

    data_dir: Path
    host: str
    port: int
    redis_url: str
    web_processes: int
    web_threads: int
    worker_processes: int
    worker_threads: int

    @classmethod
    def from_environment(cls) -> "Installation":
        """Reads the environment. Raises CannotStart for a value that is not allowed."""
        return cls(
            data_dir=Path(os.environ.get("DATA_DIR") or BASE_DIR / "var").resolve(),
            host=os.environ.get("HOST") or "127.0.0.1",
            port=whole_number("PORT", 8000, range(65536)),
            redis_url=os.environ.get("REDIS_URL", ""),
            web_processes=whole_number("WEB_PROCESSES", 2, range(1, 65)),
            web_threads=whole_number("WEB_THREADS", 16, range(1, 65)),
            worker_processes=whole_number("WORKER_PROCESSES", 1, range(1, 65)),
            worker_threads=whole_number("WORKER_THREADS", 2, range(1, 65)),
        )


def whole_number(name: str, default: int, allowed: range) -> int:
    text = os.environ.get(name, "").strip() or str(default)
    if not text.isascii() or not text.isdigit() or int(text) not in allowed:
        raise CannotStart(
            f"{name}={text}: a whole number from {allowed[0]} to {allowed[-1]} is needed."
        )
    return int(text)


def lock(data_dir: Path) -> IO[str]:
    """The open, locked file that keeps a second start away from `data_dir`; keep it open."""
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = (data_dir / "services.lock").open("a+")
    except OSError as error:
        raise CannotStart(
            f"The data folder {data_dir} cannot be used: {error.strerror}. Set DATA_DIR."
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise CannotStart(
            f"Concord already runs on {data_dir} (process {holder}). "
            "Stop it first, or start another one with its own DATA_DIR and PORT."
        ) from None
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file


def choose_address(host: str, port: int) -> tuple[str, int]:
    """Where the web server will listen, in numbers. Raises CannotStart where somebody else listens
    already."""
    try:
        return web_server.free_address(host, port)
    except OSError as error:
        raise CannotStart(
            f"Cannot listen on {host}, port {port}: {error.strerror or error}. Choose another "
            "port, e.g. PORT=8001, "
            "or another address with HOST."
        ) from error


def prepare(environment: dict[str, str]) -> str:
    """Brings the database up to date. Returns what to tell about signing in."""
    # Into a terminal the first password may be said; a log keeps it for ever.
    show = ["--show"] if sys.stdout.isatty() else []
    done = subprocess.run(
        [sys.executable, "-m", "agreement_site.server.prepare", *show],
        env={**os.environ, **environment},
        cwd=BASE_DIR,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CannotStart(
            f"{done.stdout}The database could not be brought up to date; the reason stands above."
        )
    return done.stdout.strip()


def programs(installation: Installation, environment: dict[str, str]) -> list[Program]:
    """Broker (where none is given), workers, web server: in the order of their start."""
    chosen = [
        worker(installation, environment, number)
        for number in range(1, installation.worker_processes + 1)
    ]
    chosen.append(web(installation, environment))
    if not installation.redis_url:
        broker = Program(
            "The broker",
            embedded_broker.broker_command(installation.data_dir),
            ready=lambda: embedded_broker.broker_answers(installation.data_dir),
        )
        chosen.insert(0, broker)
    return chosen


def worker(installation: Installation, environment: dict[str, str], number: int) -> Program:
    """A Celery worker. Threads, not forked children: one process is half the memory, and NumPy and
    the database release the interpreter lock; a long import on one thread leaves the other for
    counting."""
    command = [
        sys.executable,
        "-m",
        "celery",
        "--app",
        "agreement_site.celery",
        "--quiet",
        "worker",
    ]
    command += ["--pool", "threads", "--concurrency", str(installation.worker_threads)]
    command += ["--hostname", f"worker{number}@%h", "--loglevel", "INFO"]
    # Nobody listens to these, and an idle worker without them is silent.
    command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    own = {
        "BROKER_SOCKET_TIMEOUT": "30",  # a worker may wait for the broker; a web request may not
        # `migrate` has made them; here they would load every page of the site
        "CELERY_SKIP_CHECKS": "1",
    }
    return Program(f"Worker {number}", command, {**environment, **own}, stop_patience=20)


def web(installation: Installation, environment: dict[str, str]) -> Program:
    own = {
        "HOST": installation.host,
        "PORT": str(installation.port),
        "WEB_PROCESSES": str(installation.web_processes),
        "WEB_THREADS": str(installation.web_threads),
    }
    command = [sys.executable, "-m", "agreement_site.server.web_server"]
    return Program(
        "The web server",
        command,
        {**environment, **own},
        stop_patience=web_server.STOP_SECONDS + 5,
    )


def announce(host: str, port: int, sign_in: str) -> None:
    """Waits for the first answer of the site, then prints its address. Runs in a thread."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    while not answers(reachable, port):
        time.sleep(0.05)
    shown = f"[{reachable}]" if ":" in reachable else reachable
    say(
        f"\nConcord is at http://{shown}:{port}/\n{sign_in}\nCtrl+C stops it.\n".replace(
            "\n\n\n", "\n"
        )
    )


def answers(host: str, port: int) -> bool:
    """Whether a site answers there; not yet, while the web server starts."""
    try:
        with socket.create_connection((host, port)) as connection:
            connection.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
            return bool(connection.recv(1))
    except OSError:
        return False


def start(installation: Installation, *, end_with_parent: bool) -> int:
    """Prepares and runs the installation until it is told to stop."""
    with lock(installation.data_dir):
        host, port = choose_address(installation.host, installation.port)
        installation = replace(installation, host=host, port=port)
        broker_url = f"redis+socket://{embedded_broker.broker_socket(installation.data_dir)}"
        environment = {
            **{name: value for name, value in FRUGAL.items() if name not in os.environ},
            "PYTHONUNBUFFERED": "1",
            "DJANGO_SETTINGS_MODULE": "agreement_site.settings",
            "DATA_DIR": str(installation.data_dir),
            "REDIS_URL": installation.redis_url or broker_url,
        }
        if os.geteuid() == 0:
            say(
                "Running as root. It works, but a user of its own is safer for a server on a "
                "network."
            )
        sign_in = prepare(environment)
        supervisor = Supervisor(
            programs(installation, environment), end_with_parent=end_with_parent
        )
        threading.Thread(target=announce, args=(host, port, sign_in), daemon=True).start()
        return supervisor.run()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="manage.py services", description=__doc__)
    parser.add_argument(
        "--end-with-parent", action="store_true", help="stop when the starting process is gone"
    )
    options = parser.parse_args(arguments)
    os.chdir(BASE_DIR)
    try:
        return start(Installation.from_environment(), end_with_parent=options.end_with_parent)
    except (CannotStart, embedded_broker.NoBroker) as reason:
        print(reason, file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # Ctrl+C while the database is being prepared
        return 130


if __name__ == "__main__":
    sys.exit(main())
