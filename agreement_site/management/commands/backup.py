"""`manage.py backup FILE`: copy the SQLite database in a consistent state while the site runs."""

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
        partial_file = target.with_name(f"{target.name}.part")
        try:
            copy_database(Path(connection.settings_dict["NAME"]), partial_file)
            partial_file.replace(target)
        except (OSError, sqlite3.Error, BackupDamaged) as error:
            partial_file.unlink(missing_ok=True)
            raise CommandError(f"No backup was made: {error}") from error
        self.stdout.write(f"{target}: {target.stat().st_size:,} bytes, checked")


class BackupDamaged(Exception):
    """The copy failed SQLite's integrity check."""


def copy_database(source: Path, target: Path) -> None:
    """Copy the database with SQLite's backup interface, then check the copy.

    Copying the file would miss the newest ratings, which are in the write-ahead log. Only the owner
    can read the copy: it contains password hashes and all ratings. Raises BackupDamaged if the copy
    fails the check.
    """
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with (
        contextlib.closing(
            sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)
        ) as live,
        contextlib.closing(sqlite3.connect(target)) as copy,
    ):
        # In one step: a reader of the log blocks no writer, while a copy in portions would start
        # over with each rating written between two of them.
        live.backup(copy)
        # A single file that can be moved, without a log file.
        copy.execute("PRAGMA journal_mode = DELETE")
        check_result = copy.execute("PRAGMA integrity_check").fetchone()[0]
    if check_result != "ok":
        raise BackupDamaged(check_result)
    with target.open("rb") as file:
        os.fsync(file.fileno())
