"""The release of this code, and whether the database schema belongs to it.

Processes of one release must not write to the tables of another one, whose rules they do not
know. So each process checks the schema before it starts, and workers before each sweep.
"""

from __future__ import annotations

import functools
import sys
import tomllib
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder

Migrations = frozenset[tuple[str, str]]  # app, name


@functools.cache
def get_release() -> str:
    """Return the version, with the commit where it is known: "0.1.0+3f2a9c1"."""
    with (settings.BASE_DIR / "pyproject.toml").open("rb") as file:
        version: str = tomllib.load(file)["project"]["version"]
    commit = _read_commit()
    return f"{version}+{commit[:7]}" if commit else version


def _read_commit() -> str:
    """Return the commit of a container image or a checkout; empty where there is neither."""
    folder = settings.BASE_DIR / ".git"
    try:
        if not folder.exists():
            return (settings.BASE_DIR / "build" / "commit").read_text().strip()
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
def _list_migrations() -> Migrations:
    """Return the migrations of this release by the names of their files, without loading them."""
    return frozenset(
        (app.label, path.stem)
        for app in apps.get_app_configs()
        for path in Path(app.path, "migrations").glob("[!_]*.py")
    )


def describe_schema_mismatch() -> str | None:
    """Return a sentence when the schema belongs to another release, else None.

    Raises DatabaseError when the database does not answer.
    """
    applied = frozenset(MigrationRecorder(connection).applied_migrations())
    own_apps = {app for app, _name in _list_migrations()}
    if missing := sorted(_list_migrations() - applied):
        app, name = missing[0]
        return (
            f"The tables are of an older release than this one ({get_release()}): {app}.{name} is"
            " not applied. Run `manage.py migrate` with this release, or start the release that"
            " they belong to."
        )
    if unknown := sorted(
        (app, name) for app, name in applied - _list_migrations() if app in own_apps
    ):
        app, name = unknown[0]
        return (
            f"The tables are of a newer release than this one ({get_release()}), which does not"
            f" know {app}.{name}. Start the newer release, or restore a backup of this one's"
            " tables."
        )
    return None


def exit_on_schema_mismatch() -> None:
    """Exit with a message when the schema belongs to another release.

    When the database does not answer this is unknown; a later query will report it.
    """
    try:
        mismatch = describe_schema_mismatch()
    except DatabaseError:
        return
    finally:
        connection.close()
    if mismatch:
        sys.exit(mismatch)
