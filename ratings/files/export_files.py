"""Files of exports: stored under generated paths, and deleted with what they show."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from ratings.models import ExportRun

from .shared_folders import delete_abandoned_files

FOLDER = "exports"  # below DATA_DIR


def generate_path() -> str:
    """Return a new path below DATA_DIR, and create its folder."""
    (Path(settings.DATA_DIR) / FOLDER).mkdir(mode=0o700, exist_ok=True)
    return f"{FOLDER}/{secrets.token_hex(16)}"


def get_absolute_path(path: str) -> Path:
    return Path(settings.DATA_DIR) / path


def delete_files(paths: Iterable[str]) -> None:
    """Delete stored files; missing ones are ignored."""
    for path in paths:
        if path:
            get_absolute_path(path).unlink(missing_ok=True)


def delete_exports(runs: QuerySet[ExportRun]) -> int:
    """Delete exports, and after the commit their files; return their number."""
    paths = list(runs.values_list("path", flat=True))
    runs.delete()
    transaction.on_commit(lambda: delete_files(paths))
    return len(paths)


def discard_project_exports(project_id: int, *_changes: object) -> None:
    """Delete the exports of a project, unfinished ones too, and after the commit their files.

    Called when data are deleted for good, and when raters get other keys: a file must not show
    what the project no longer shows.
    """
    delete_exports(ExportRun.objects.filter(project=project_id))


def delete_abandoned_exports() -> None:
    """Delete old files without a run, as after a killed worker."""
    delete_abandoned_files(
        FOLDER, ExportRun.objects.exclude(path="").values_list("path", flat=True)
    )
