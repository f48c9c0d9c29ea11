"""Files of imports in the database, for hosts that do not share DATA_DIR/imports.

The run says which folder has its files, and whether they are in the database, too. A host without
the file gets its copy from there.
"""

from __future__ import annotations

import secrets
import zlib
from pathlib import Path

from django.db import transaction

from ratings.files import shared_folders
from ratings.models import ImportFilePart, ImportRun

from . import uploads, zip_archives

PART_BYTES = 1 << 20


def needs_database_copy(path: str) -> bool:
    """Return True if other hosts need the file of this path from the database.

    False for a file with an archive of media: the archive is not copied, and only the host that has
    it can import the file.
    """
    if zip_archives.has_media_archive(uploads.get_absolute_path(path)):
        return False
    return bool(shared_folders.list_separate_hosts(shared_folders.IMPORTS))


@transaction.atomic
def store_in_database(run: ImportRun, suffix: str = "") -> None:
    """Store a file of the run in the database, in place of an earlier one."""
    run.file_parts.filter(suffix=suffix).delete()
    with uploads.get_absolute_path(f"{run.path}{suffix}").open("rb") as file:
        number = 0
        while chunk := file.read(PART_BYTES):
            ImportFilePart.objects.create(
                run=run, suffix=suffix, number=number, data=zlib.compress(chunk, 1)
            )
            number += 1


def ensure_local_file(run: ImportRun, suffix: str = "", *, refresh: bool = False) -> Path:
    """Return the path of a file of the run, after fetching it from the database if it is missing.

    With ``refresh`` it is fetched anyway: another host may have a newer one.
    """
    path = uploads.get_absolute_path(f"{run.path}{suffix}")
    if run.in_database and (refresh or not path.exists()):
        _fetch_file(run, suffix, path)
    return path


def _fetch_file(run: ImportRun, suffix: str, path: Path) -> None:
    parts = run.file_parts.filter(suffix=suffix).order_by("number").values_list("data", flat=True)
    partial_path = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    path.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        with partial_path.open("xb") as file:
            for data in parts.iterator(chunk_size=1):
                file.write(zlib.decompress(data))
            is_missing = file.tell() == 0
        if not is_missing:
            partial_path.replace(path)
    finally:
        partial_path.unlink(missing_ok=True)
