"""`make run`: broker, worker and web server of one installation under one supervisor.

Environment: DATA_DIR, HOST, PORT, REDIS_URL (then no broker is started), WEB_PROCESSES,
WEB_THREADS, WORKER_PROCESSES, WORKER_THREADS. Standard library only: the supervisor stays small.
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
from .supervisor import Program, Supervisor, print_message

BASE_DIR = Path(__file__).resolve().parent.parent.parent

# One BLAS thread and few memory arenas per process: several small processes share the machine.
LOW_MEMORY_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
}


class StartupError(Exception):
    """The installation cannot start; the message says why and what to do."""


@dataclass(frozen=True)
class Installation:
    """Settings of an installation: its data folder, its address, and its processes."""

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
        """Read the environment. Raises StartupError for a value that is not allowed."""
        return cls(
            data_dir=Path(os.environ.get("DATA_DIR") or BASE_DIR / "var").resolve(),
            host=os.environ.get("HOST") or "127.0.0.1",
            port=read_integer("PORT", 8000, range(65536)),
            redis_url=os.environ.get("REDIS_URL", ""),
            web_processes=read_integer("WEB_PROCESSES", 2, range(1, 65)),
            web_threads=read_integer("WEB_THREADS", 16, range(1, 65)),
            worker_processes=read_integer("WORKER_PROCESSES", 1, range(1, 65)),
            worker_threads=read_integer("WORKER_THREADS", 2, range(1, 65)),
        )


def read_integer(name: str, default: int, allowed: range) -> int:
    """Return an integer of the environment. Raises StartupError outside of ``allowed``."""
    text = os.environ.get(name, "").strip() or str(default)
    if not text.isascii() or not text.isdigit() or int(text) not in allowed:
        raise StartupError(
            f"{name}={text}: a whole number from {allowed[0]} to {allowed[-1]} is needed."
        )
    return int(text)


def lock_data_dir(data_dir: Path) -> IO[str]:
    """Return the locked file that prevents a second start on `data_dir`; keep it open.

    All processes started from here on create files for their owner alone, as the settings do.
    """
    os.umask(0o077)
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = (data_dir / "services.lock").open("a+")
    except OSError as error:
        raise StartupError(
            f"The data folder {data_dir} cannot be used: {error.strerror}. Set DATA_DIR."
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise StartupError(
            f"Concord already runs on {data_dir} (process {holder}). "
            "Stop it first, or start another one with its own DATA_DIR and PORT."
        ) from None
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file


def resolve_address(host: str, port: int) -> tuple[str, int]:
    """Return host and port in numbers.

    Raises StartupError where another program already listens.
    """
    try:
        return web_server.find_free_address(host, port)
    except OSError as error:
        raise StartupError(
            f"Cannot listen on {host}, port {port}: {error.strerror or error}. Choose another "
            "port, e.g. PORT=8001, "
            "or another address with HOST."
        ) from error


def prepare_database(environment: dict[str, str]) -> str:
    """Migrate the database and return the text about signing in."""
    # A terminal may show the first password; a log would keep it for good.
    show = ["--show"] if sys.stdout.isatty() else []
    result = subprocess.run(
        [sys.executable, "-m", "agreement_site.server.prepare", *show],
        env={**os.environ, **environment},
        cwd=BASE_DIR,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if result.returncode:
        raise StartupError(
            f"{result.stdout}The database could not be brought up to date; the reason is above."
        )
    return result.stdout.strip()


def list_programs(installation: Installation, environment: dict[str, str]) -> list[Program]:
    """Return broker (unless REDIS_URL is set), workers and web server, in the order of start."""
    started = [
        build_worker(installation, environment, number)
        for number in range(1, installation.worker_processes + 1)
    ]
    started.append(build_web_server(installation, environment))
    if not installation.redis_url:
        broker = Program(
            "The broker",
            embedded_broker.build_broker_command(installation.data_dir),
            ready=lambda: embedded_broker.is_broker_running(installation.data_dir),
        )
        started.insert(0, broker)
    return started


def build_worker(installation: Installation, environment: dict[str, str], number: int) -> Program:
    """Return a Celery worker.

    It has threads, not forked children: one process takes half the memory, and NumPy and the
    database release the interpreter lock. A long import on one thread leaves the other
    for counting.
    """
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
    # These events are not used, and without them an idle worker sends nothing.
    command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    overrides = {
        "BROKER_SOCKET_TIMEOUT": "30",  # a worker may wait for the broker; a web request may not
        # `migrate` has run them; here they would import every view of the site
        "CELERY_SKIP_CHECKS": "1",
    }
    return Program(f"Worker {number}", command, {**environment, **overrides}, stop_timeout=20)


def build_web_server(installation: Installation, environment: dict[str, str]) -> Program:
    overrides = {
        "HOST": installation.host,
        "PORT": str(installation.port),
        "WEB_PROCESSES": str(installation.web_processes),
        "WEB_THREADS": str(installation.web_threads),
    }
    command = [sys.executable, "-m", "agreement_site.server.web_server"]
    return Program(
        "The web server",
        command,
        {**environment, **overrides},
        stop_timeout=web_server.STOP_TIMEOUT_SECONDS + 5,
    )


def announce_address(host: str, port: int, sign_in: str) -> None:
    """Wait until the site answers, then print its address. Runs in a thread."""
    local_host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    while not is_answering(local_host, port):
        time.sleep(0.05)
    url_host = f"[{local_host}]" if ":" in local_host else local_host
    print_message(
        f"\nConcord is at http://{url_host}:{port}/\n{sign_in}\nCtrl+C stops it.\n".replace(
            "\n\n\n", "\n"
        )
    )


def is_answering(host: str, port: int) -> bool:
    """Return True when the site answers; False while the web server is starting."""
    try:
        with socket.create_connection((host, port)) as connection:
            connection.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
            return bool(connection.recv(1))
    except OSError:
        return False


def run_installation(installation: Installation, *, end_with_parent: bool) -> int:
    """Prepare the installation and run it until it receives a signal to stop."""
    with lock_data_dir(installation.data_dir):
        host, port = resolve_address(installation.host, installation.port)
        installation = replace(installation, host=host, port=port)
        broker_url = f"redis+socket://{embedded_broker.get_broker_socket(installation.data_dir)}"
        environment = {
            **{
                name: value
                for name, value in LOW_MEMORY_ENVIRONMENT.items()
                if name not in os.environ
            },
            "PYTHONUNBUFFERED": "1",
            "DJANGO_SETTINGS_MODULE": "agreement_site.settings",
            "DATA_DIR": str(installation.data_dir),
            "REDIS_URL": installation.redis_url or broker_url,
        }
        if os.geteuid() == 0:
            print_message(
                "Running as root. It works, but a user of its own is safer for a server on a "
                "network."
            )
        print_message(
            f"Concord keeps its data in {installation.data_dir} and writes its log here, one line "
            "a request. Checking the database ..."
        )
        sign_in = prepare_database(environment)
        print_message("The tables are ready. Starting the worker and the web server ...")
        supervisor = Supervisor(
            list_programs(installation, environment), end_with_parent=end_with_parent
        )
        threading.Thread(target=announce_address, args=(host, port, sign_in), daemon=True).start()
        return supervisor.run()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="manage.py services", description=__doc__)
    parser.add_argument(
        "--end-with-parent", action="store_true", help="stop when the starting process is gone"
    )
    options = parser.parse_args(arguments)
    os.chdir(BASE_DIR)
    try:
        return run_installation(
            Installation.from_environment(), end_with_parent=options.end_with_parent
        )
    except (StartupError, embedded_broker.BrokerNotInstalled) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # Ctrl+C while the database is being prepared
        return 130


if __name__ == "__main__":
    sys.exit(main())
