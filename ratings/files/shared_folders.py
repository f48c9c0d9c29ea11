"""Folders in DATA_DIR: the hosts that share `exports`, `imports` and `media`, and old files."""

from __future__ import annotations

import datetime
import logging
import os
import secrets
import socket
import time
from collections.abc import Iterable
from pathlib import Path, PurePath

from django.conf import settings
from django.db import DatabaseError
from django.db.models import QuerySet
from django.utils import timezone

from ratings.models import DataFolder

logger = logging.getLogger(__name__)

TOKEN_FILE = ".folder"  # noqa: S105 - a name
IN_USE = datetime.timedelta(days=2)  # a process records its folders at its start and every hour

EXPORTS, IMPORTS, MEDIA = DataFolder.Kind.EXPORTS, DataFolder.Kind.IMPORTS, DataFolder.Kind.MEDIA
WARNINGS = {
    EXPORTS: (
        "%s does not share DATA_DIR/exports with %s: a file is exported by a worker of the host "
        "that received the request, and only this host offers it."
    ),
    IMPORTS: (
        "%s does not share DATA_DIR/imports with %s: imports pass their file through the database. "
        "An archive with media is imported by a worker of the host that received it."
    ),
    MEDIA: (
        "%s does not share DATA_DIR/media with %s: images, audio and video that one host stores "
        "are missing on the other. Mount the same folder on both (docs/operations.md, Scaling out)."
    ),
}


def get_or_create_folder_token(kind: str) -> str:
    """Return the token of this host's folder of this kind; create folder and token if missing."""
    folder = Path(settings.DATA_DIR) / kind
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / TOKEN_FILE
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(16))
    except FileExistsError:
        pass
    return path.read_text()


def record_folders() -> None:
    """Record the folders of this host, and delete records that were not renewed for IN_USE."""
    now = timezone.now()
    for kind in DataFolder.Kind.values:
        DataFolder.objects.update_or_create(
            kind=kind,
            host=socket.gethostname(),
            token=get_or_create_folder_token(kind),
            defaults={"seen_at": now},
        )
    DataFolder.objects.filter(seen_at__lt=now - IN_USE).delete()


def get_separate_folders(kind: str) -> QuerySet[DataFolder]:
    """Return the recently used folders of this kind that other hosts do not share with this one."""
    recent = DataFolder.objects.filter(kind=kind, seen_at__gte=timezone.now() - IN_USE)
    return recent.exclude(token=get_or_create_folder_token(kind)).exclude(host=socket.gethostname())


def list_separate_hosts(kind: str) -> list[str]:
    """Return the hosts with another folder of this kind, sorted."""
    return sorted(set(get_separate_folders(kind).values_list("host", flat=True)))


def describe_separate_folders() -> list[str]:
    """Return a warning for each kind of folder that some other host does not share."""
    return [
        WARNINGS[kind] % (socket.gethostname(), ", ".join(hosts))
        for kind in DataFolder.Kind
        if (hosts := list_separate_hosts(kind))
    ]


def record_folders_at_start() -> None:
    """Record the folders of this host at the start of a program, and log what is not shared."""
    try:
        record_folders()
        for sentence in describe_separate_folders():
            logger.warning(sentence)
    except DatabaseError as error:  # the workers' housekeeping tries again
        logger.warning("the folders of this host were not recorded: %s", error)


ABANDONED_SECONDS = 3600.0  # age in seconds at which a file without a row is deleted


def delete_abandoned_files(folder_name: str, used_paths: Iterable[str]) -> None:
    """Delete the files of a folder that are old and whose path no row has.

    Files with the name of a used path and a further suffix are in use, too. Hidden files are left.
    """
    folder = Path(settings.DATA_DIR) / folder_name
    if not folder.is_dir():
        return
    names = {PurePath(path).name for path in used_paths}
    oldest = time.time() - ABANDONED_SECONDS
    for file in folder.iterdir():
        name = file.name.split(".")[0]
        if name and name not in names and file.stat().st_mtime < oldest:
            file.unlink(missing_ok=True)
