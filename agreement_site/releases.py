"""Which release this is, and whether the tables belong to it.

Programs of one release must not write into the tables of another one: they do not know what those
ask of them. So each looks before it starts, and workers before each sweep.
"""

from __future__ import annotations

import functools
import sys
import tomllib

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

Migrations = frozenset[tuple[str, str]]  # app, name


@functools.cache
def release() -> str:
    """The version, and the commit where this is a checkout: "0.1.0+3f2a9c1"."""
    with (settings.BASE_DIR / "pyproject.toml").open("rb") as file:
        version: str = tomllib.load(file)["project"]["version"]
    commit = _commit()
    return f"{version}+{commit[:7]}" if commit else version


def _commit() -> str:
    """What git calls what is checked out; empty where that cannot be read."""
    folder = settings.BASE_DIR / ".git"
    try:
        head = (folder / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        if (folder / name).is_file():
            return (folder / name).read_text().strip()
        lines = (folder / "packed-refs").read_text().splitlines()
    except OSError:
        return ""
    return next((line.split()[0] for line in lines if line.endswith(f" {name}")), "")


@functools.cache
def _known() -> Migrations:
    """The migrations that this release brings."""
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    return frozenset((app, name) for app, name in loader.disk_migrations)


def trouble() -> str | None:
    """One sentence when the tables belong to another release, else None. Raises DatabaseError where
    the database cannot be asked."""
    applied = frozenset(MigrationRecorder(connection).applied_migrations())
    ours = {app for app, _name in _known()}
    if missing := sorted(_known() - applied):
        app, name = missing[0]
        return (
            f"The tables are of an older release than this one ({release()}): {app}.{name} is not"
            " applied. Run `manage.py migrate` with this release, or start the release that they"
            " belong to."
        )
    if unknown := sorted((app, name) for app, name in applied - _known() if app in ours):
        app, name = unknown[0]
        return (
            f"The tables are of a newer release than this one ({release()}), which does not know"
            f" {app}.{name}. Start the newer release, or restore a backup of this one's tables."
        )
    return None


def refuse_other_tables() -> None:
    """End the program with the sentence where the tables are another release's. Where the database
    does not answer, nobody knows: whoever asks it later says so."""
    try:
        said = trouble()
    except DatabaseError:
        return
    finally:
        connection.close()
    if said:
        sys.exit(said)
