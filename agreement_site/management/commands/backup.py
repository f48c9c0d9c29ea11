"""`manage.py backup FILE`: a copy of the SQLite database as it is at one moment, while the site
goes on."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection


class Command(BaseCommand):
    help = (
        "Copy the SQLite database into FILE, consistent and checked, while the site runs "
        "(docs/operations.md)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--replace", action="store_true", help="overwrite FILE when the copy is complete"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        target: Path = options["file"]
        if connection.vendor != "sqlite":
            raise CommandError(
                "This database is PostgreSQL: use pg_dump --format=custom (docs/operations.md)."
            )
        if target.exists() and not options["replace"]:
            raise CommandError(f"{target} exists; --replace overwrites it.")
        if not target.parent.is_dir():
            raise CommandError(f"There is no folder {target.parent}.")
        part = target.with_name(f"{target.name}.part")
        try:
            copy_database(Path(connection.settings_dict["NAME"]), part)
            part.replace(target)
        except (OSError, sqlite3.Error, Damaged) as error:
            part.unlink(missing_ok=True)
            raise CommandError(f"No backup was made: {error}") from error
        self.stdout.write(f"{target}: {target.stat().st_size:,} bytes, checked")


class Damaged(Exception):
    """The copy failed SQLite's own check."""


def copy_database(source: Path, target: Path) -> None:
    """Copy by SQLite's backup interface (never by copying the file: the newest ratings are in its
    log), then check.

    The copy is readable by its owner only: it holds password hashes and everything that was rated.
    """
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with (
        contextlib.closing(
            sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)
        ) as live,
        contextlib.closing(sqlite3.connect(target)) as copy,
    ):
        # In one step: a reader of the log keeps nobody from writing, while a copy in portions would
        # begin again with each rating that comes between two of them.
        live.backup(copy)
        # One file that can be moved: no log beside it.
        copy.execute("PRAGMA journal_mode = DELETE")
        said = copy.execute("PRAGMA integrity_check").fetchone()[0]
    if said != "ok":
        raise Damaged(said)
    with target.open("rb") as file:
        os.fsync(file.fileno())
