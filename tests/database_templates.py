"""A database with every migration applied, made once for all test processes.

Django renders the state of all models at each of some hundred operations: twenty seconds of a
processor for each new database. Copying one costs nothing. Who copies it migrates once more, which
adds what depends on the models alone: content types and permissions.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests.tools import with_services

BASE_DIR = Path(__file__).resolve().parent.parent
BUILD = BASE_DIR / "build"


def copy_to(target: Path) -> None:
    """On SQLite: a file in `build/`, of the migrations as they stand."""
    BUILD.mkdir(exist_ok=True)
    kept = BUILD / f"migrated-{_digest()}.sqlite3"
    with (BUILD / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            for old in BUILD.glob("migrated-*.sqlite3"):
                old.unlink()
            with tempfile.TemporaryDirectory(dir=BUILD) as folder:
                _migrate(DATA_DIR=folder)
                (Path(folder) / "concord.sqlite3").rename(kept)
        shutil.copyfile(kept, target)


def template(url: str) -> str:
    """On PostgreSQL: the name of a database, beside the one at `url`, to make others from. What was
    migrated once is kept in `build/` as pg_dump writes it: a server of the tests lives as long as
    they do."""
    name = f"concord_migrated_{_digest()}"
    with psycopg.connect(url, autocommit=True) as connection:
        # The others wait here; the connection's end lets them on.
        connection.execute("SELECT pg_advisory_lock(hashtext('concord_migrated'))")
        made = "SELECT 1 FROM pg_database WHERE datname = %s"
        if connection.execute(made, [name]).fetchone() is None:
            unfinished = f"{name}_unfinished"
            kept = BUILD / f"migrated-{_digest()}.{connection.info.server_version // 10000}.dump"
            _empty(connection, unfinished)
            if not _restored(kept, _beside(url, unfinished)):
                _empty(connection, unfinished)
                _migrate(DATABASE_URL=_beside(url, unfinished))
                _keep(kept, _beside(url, unfinished))
            connection.execute(f"ALTER DATABASE {unfinished} RENAME TO {name}")
    return name


def database(url: str, name: str) -> str:
    """On PostgreSQL: a new database of this name beside the one at `url`; its URL."""
    source = template(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {source}")
    return _beside(url, name)


def _empty(connection: psycopg.Connection, name: str) -> None:
    connection.execute(f"DROP DATABASE IF EXISTS {name}")
    connection.execute(f"CREATE DATABASE {name}")


def _restored(kept: Path, url: str) -> bool:
    return kept.exists() and _ran("pg_restore", "--exit-on-error", "--dbname", url, str(kept))


def _keep(kept: Path, url: str) -> None:
    """Where pg_dump is missing or older than the server, the next server is migrated, too."""
    BUILD.mkdir(exist_ok=True)
    for old in BUILD.glob("migrated-*.dump"):
        old.unlink()
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        dump = Path(folder) / "dump"
        if _ran("pg_dump", "--format", "custom", "--file", str(dump), url):
            dump.rename(kept)


def _ran(program: str, *arguments: str) -> bool:
    """Whether a program of PostgreSQL did what it was told."""
    folder = with_services.postgres_programs()
    if folder is None or not (folder / program).exists():
        return False
    done = subprocess.run([folder / program, *arguments], capture_output=True, check=False)
    return done.returncode == 0


def _beside(url: str, name: str) -> str:
    """Not by `urlunsplit`, which drops the empty host of a socket's URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/{name}?{parts.query}"


def _digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(BASE_DIR.glob("[a-z]*/migrations/*.py")):
        digest.update(path.read_bytes())
    digest.update((BASE_DIR / "requirements.txt").read_bytes())
    return digest.hexdigest()[:16]


def _migrate(**settings: str) -> None:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DATABASE_URL", "DJANGO_SETTINGS_MODULE"}
    }
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        env={**kept, **settings},
        cwd=BASE_DIR,
        check=True,
    )
