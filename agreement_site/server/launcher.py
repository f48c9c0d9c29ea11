"""`make run`: broker, worker and web server of one installation under one supervisor.

Environment: DATA_DIR, HOST, PORT, REDIS_URL (then no broker is started), WEB_PROCESSES,
WEB_THREADS, WORKER_PROCESSES, WORKER_THREADS.

The supervisor loads the site while a fork of it migrates the database, and forks worker and web
server from itself: the memory and the time of loading are spent once.
"""

import argparse
import contextlib
import fcntl
import io
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO

import setproctitle

from . import embedded_broker, web_server
from .supervisor import CAN_FORK, Program, Supervisor, print_message

BASE_DIR = Path(__file__).resolve().parent.parent.parent

# What the C libraries and Python read when a process begins. One BLAS thread and few memory arenas
# per process: several small processes share the machine. Titles of processes leave their
# environment as it is.
PROCESS_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "PYTHONUNBUFFERED": "1",
    "SPT_NOENV": "1",
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
    """Lock `data_dir` against a second start; return the lock file, to be kept open.

    Also sets the umask, so that all files of this process and its children are readable by their
    owner alone. A fork does not keep the lock. Raises StartupError if the folder is locked already
    or cannot be used.
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
    os.register_at_fork(after_in_child=file.close)
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file


def resolve_address(host: str, port: int) -> tuple[str, int]:
    """Return host and port in numbers.

    Raises StartupError where another program already listens.
    """
    try:
        return web_server.resolve_free_address(host, port)
    except OSError as error:
        raise StartupError(
            f"Cannot listen on {host}, port {port}: {error.strerror or error}. Choose another "
            "port, e.g. PORT=8001, "
            "or another address with HOST."
        ) from error


def prepare_database_and_load_site() -> str:
    """Migrate the database, load the site meanwhile, and return the text about signing in.

    Raises StartupError if the migration fails.
    """
    # A terminal may show the first password; a log would keep it for good.
    show = sys.stdout.isatty()
    exitcode, output = prepare_in_fork(show=show) if CAN_FORK else prepare_by_command(show=show)
    if exitcode:
        raise StartupError(
            f"{output}The database could not be brought up to date; the reason is above."
        )
    return output.strip()


def prepare_in_fork(*, show: bool) -> tuple[int | None, str]:
    """Migrate in a fork, and meanwhile load the site in this process.

    Return the fork's exit status and its text about signing in ("" if it failed).
    """
    with contextlib.suppress(Exception):  # the fork says why
        import django

        django.setup()
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=run_preparation, args=[writer, show], daemon=True)
    process.start()
    writer.close()
    with contextlib.suppress(Exception):  # the programs say why
        web_server.preload_site()
    output = ""
    with contextlib.suppress(EOFError):  # it ended with a message on stderr
        output = reader.recv()
    process.join()
    if process.exitcode == 0:
        with contextlib.suppress(Exception):
            web_server.prepare_fork()
    return process.exitcode, output


def run_preparation(writer: Connection, show: bool) -> None:
    """Migrate the database and send the text about signing in. Runs in a fork."""
    from . import prepare

    set_connection_options("migrate")
    with contextlib.redirect_stdout(io.StringIO()) as output:
        prepare.main(show=show)
    writer.send(output.getvalue())


def prepare_by_command(*, show: bool) -> tuple[int, str]:
    command = [sys.executable, "-m", "agreement_site.server.prepare", *(["--show"] if show else [])]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return result.returncode, result.stdout


def set_connection_options(program: str) -> None:
    """Set the PostgreSQL application name and timeouts of ``program`` in a fork of this process.

    Forks inherit the settings of the web server.
    """
    from django.conf import settings
    from django.db import connection

    if connection.vendor != "postgresql":
        return
    options = connection.settings_dict["OPTIONS"]
    options["application_name"] = f"concord {program}"
    if options.get("options") == settings.TIMEOUT_OPTIONS["web"]:
        options["options"] = settings.TIMEOUT_OPTIONS.get(program, "")


def list_programs(installation: Installation) -> list[Program]:
    """Return broker (unless REDIS_URL is set), workers and web server, in the order of start."""
    started = [build_worker(number) for number in range(1, installation.worker_processes + 1)]
    started.append(build_web_server())
    if not installation.redis_url:
        broker = Program(
            "The broker",
            embedded_broker.build_broker_command(installation.data_dir),
            ready=lambda: embedded_broker.is_broker_running(installation.data_dir),
        )
        started.insert(0, broker)
    return started


def build_worker(number: int) -> Program:
    def run() -> None:
        from .worker import run_worker

        set_connection_options("worker")
        run_worker(f"worker{number}")

    command = [sys.executable, "-m", "agreement_site.server.worker", f"worker{number}"]
    return Program(f"Worker {number}", command, run, stop_timeout=20)


def build_web_server() -> Program:
    return Program(
        "The web server",
        [sys.executable, "-m", "agreement_site.server.web_server"],
        web_server.serve,
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
    """Prepare the installation, run it until it receives a signal to stop, return the exit status.

    ``end_with_parent``: also stop when the parent process ends.
    """
    with lock_data_dir(installation.data_dir):
        host, port = resolve_address(installation.host, installation.port)
        installation = replace(installation, host=host, port=port)
        broker_url = f"redis+socket://{embedded_broker.get_broker_socket(installation.data_dir)}"
        os.environ.update(
            {
                "DJANGO_SETTINGS_MODULE": "agreement_site.settings",
                "DATA_DIR": str(installation.data_dir),
                "REDIS_URL": installation.redis_url or broker_url,
                "HOST": host,
                "PORT": str(port),
                "WEB_PROCESSES": str(installation.web_processes),
                "WEB_THREADS": str(installation.web_threads),
                "WORKER_THREADS": str(installation.worker_threads),
            }
        )
        if os.geteuid() == 0:
            print_message(
                "Running as root. It works, but a user of its own is safer for a server on a "
                "network."
            )
        print_message(
            f"Concord keeps its data in {installation.data_dir} and writes its log here, one line "
            "a request. Checking the database ..."
        )
        sign_in = prepare_database_and_load_site()
        print_message("The tables are ready. Starting the worker and the web server ...")
        announcement = threading.Thread(
            target=announce_address, args=(host, port, sign_in), daemon=True
        )
        supervisor = Supervisor(list_programs(installation), end_with_parent=end_with_parent)
        return supervisor.run(when_started=announcement.start)


def set_process_environment() -> None:
    """Replace this process by the same program with PROCESS_ENVIRONMENT, unless it is set."""
    missing = {name: value for name, value in PROCESS_ENVIRONMENT.items() if name not in os.environ}
    if missing:
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **missing})  # noqa: S606 - itself


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="manage.py services", description=__doc__)
    parser.add_argument(
        "--end-with-parent", action="store_true", help="stop when the starting process is gone"
    )
    options = parser.parse_args(arguments)
    set_process_environment()
    # Forks inherit where the title is stored; it is not found after changes of the environment.
    setproctitle.setproctitle("concord supervisor")
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
