"""A database with every migration applied, created once for all test processes.

Django renders the state of all models at each of some hundred operations: twenty seconds of a
processor for each new database. Copying one costs nothing. The process that copies it runs
`migrate` once more, which adds content types and permissions: they depend on the models alone.
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


def copy_sqlite_template(target: Path) -> None:
    """Copy the migrated SQLite database from `build/`; create it when the migrations change."""
    BUILD.mkdir(exist_ok=True)
    template = BUILD / f"migrated-{_hash_migrations()}.sqlite3"
    with (BUILD / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not template.exists():
            for outdated in BUILD.glob("migrated-*.sqlite3"):
                outdated.unlink()
            with tempfile.TemporaryDirectory(dir=BUILD) as folder:
                _run_migrate(DATA_DIR=folder)
                (Path(folder) / "concord.sqlite3").rename(template)
        shutil.copyfile(template, target)


def get_postgres_template(url: str) -> str:
    """Return the name of a migrated PostgreSQL database beside the one at `url`, to clone others from.

    A migrated database is saved in `build/` as a pg_dump file, because a PostgreSQL server of the
    tests lives only as long as they do.
    """
    name = f"concord_migrated_{_hash_migrations()}"
    with psycopg.connect(url, autocommit=True) as connection:
        # Other processes wait here until this connection ends.
        connection.execute("SELECT pg_advisory_lock(hashtext('concord_migrated'))")
        exists_sql = "SELECT 1 FROM pg_database WHERE datname = %s"
        if connection.execute(exists_sql, [name]).fetchone() is None:
            unfinished = f"{name}_unfinished"
            dump = (
                BUILD
                / f"migrated-{_hash_migrations()}.{connection.info.server_version // 10000}.dump"
            )
            _recreate_database(connection, unfinished)
            if not _restore_dump(dump, replace_database_name(url, unfinished)):
                _recreate_database(connection, unfinished)
                _run_migrate(DATABASE_URL=replace_database_name(url, unfinished))
                _save_dump(dump, replace_database_name(url, unfinished))
            connection.execute(f"ALTER DATABASE {unfinished} RENAME TO {name}")
    return name


def create_database(url: str, name: str) -> str:
    """Create a migrated PostgreSQL database beside the one at `url`; return its URL."""
    source = get_postgres_template(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {source}")
    return replace_database_name(url, name)


def _recreate_database(connection: psycopg.Connection, name: str) -> None:
    """Create an empty database, replacing one of the same name."""
    connection.execute(f"DROP DATABASE IF EXISTS {name}")
    connection.execute(f"CREATE DATABASE {name}")


def _restore_dump(dump: Path, url: str) -> bool:
    """Restore the saved dump; return whether that succeeded."""
    return dump.exists() and _run_postgres_program(
        "pg_restore", "--exit-on-error", "--dbname", url, str(dump)
    )


def _save_dump(target: Path, url: str) -> None:
    """Save a dump of the database.

    Where pg_dump is missing or older than the server, nothing is saved, and the next server is
    migrated again.
    """
    BUILD.mkdir(exist_ok=True)
    for outdated in BUILD.glob("migrated-*.dump"):
        outdated.unlink()
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        dump = Path(folder) / "dump"
        if _run_postgres_program("pg_dump", "--format", "custom", "--file", str(dump), url):
            dump.rename(target)


def _run_postgres_program(program: str, *arguments: str) -> bool:
    """Run a program of PostgreSQL; return whether it exists and succeeded."""
    folder = with_services.find_postgres_programs()
    if folder is None or not (folder / program).exists():
        return False
    process = subprocess.run([folder / program, *arguments], capture_output=True, check=False)
    return process.returncode == 0


def replace_database_name(url: str, name: str) -> str:
    """Return the URL with another database name.

    Not by `urlunsplit`, which drops the empty host of a socket's URL.
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/{name}?{parts.query}"


def _hash_migrations() -> str:
    """Return a hash of all migrations and the requirements."""
    digest = hashlib.sha256()
    for path in sorted(BASE_DIR.glob("[a-z]*/migrations/*.py")):
        digest.update(path.read_bytes())
    digest.update((BASE_DIR / "requirements.txt").read_bytes())
    return digest.hexdigest()[:16]


def _run_migrate(**settings: str) -> None:
    """Run `manage.py migrate` with these settings."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DATABASE_URL", "DJANGO_SETTINGS_MODULE"}
    }
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        env={**inherited, **settings},
        cwd=BASE_DIR,
        check=True,
    )
