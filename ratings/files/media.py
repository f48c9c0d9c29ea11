"""Images, audio and video that leads upload as items: accepted types, storage, new items."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, Any

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from core import security_log
from projects import locks
from projects.models import Item, Project
from projects.services import item_upsert
from projects.services.project_validation import InvalidProjectChange
from projects.services.row_validation import find_key_problem

from .media_types import MEDIA_TYPES
from .upload_limits import clean_upload_name

FOLDER = "media"  # below DATA_DIR
CHUNK_BYTES = 1 << 18
HEAD_BYTES = 64  # bytes that identify the type of a file

STORED_NAME_PATTERN = re.compile(rf"[0-9a-f]{{64}}\.({'|'.join(MEDIA_TYPES)})", re.ASCII)
_SIGNATURES = {
    rb"\x89PNG\r\n\x1a\n": "png",
    rb"\xff\xd8\xff": "jpg",
    rb"GIF8[79]a": "gif",
    rb"RIFF....WEBP": "webp",
    rb"RIFF....WAVE": "wav",
    rb"....ftypavi[fs]": "avif",
    rb"....ftypM4A ": "m4a",
    rb"....ftyp(isom|iso[2-6]|mp4[12]|avc1|M4V |dash|MSNV)": "mp4",
    rb"ID3[\x02-\x04]": "mp3",
    rb"\xff[\xfb\xf3\xf2\xfa]": "mp3",
    rb"OggS\x00": "ogg",
    rb"fLaC\x00": "flac",
    rb"\x1aE\xdf\xa3.{0,40}webm": "webm",
}


def detect_extension(head: bytes) -> str | None:
    """Return the file extension for a file's first bytes; None if its type is not accepted."""
    return next(
        (
            extension
            for signature, extension in _SIGNATURES.items()
            if re.match(signature, head[:HEAD_BYTES], re.DOTALL)
        ),
        None,
    )


@dataclass(frozen=True, slots=True)
class MediaUpload:
    """An uploaded media file, and the key of the item that shows it."""

    file: IO[bytes]
    key: str  # of the item that shows the file
    extension: str

    @property
    def kind(self) -> str:
        return MEDIA_TYPES[self.extension][0]


def add_media_items(*, project: Project, files: Sequence[Any], by: Any) -> dict[str, int]:
    """Create or change the item of each file; the file's name without extension is the key.

    All or nothing. Returns the counts of ``upsert_items``. Raises InvalidProjectChange, whose
    ``fields`` map the name of each rejected file to the reason.
    """
    errors: dict[str, str] = {}
    uploads = list(_iter_valid_uploads(files, errors))
    if errors:
        raise InvalidProjectChange(errors)
    # Files are stored before the transaction, so that no lock is held meanwhile. A stored file that
    # is rejected below does no harm.
    stored = [(upload, store_file(upload, project)) for upload in uploads]
    return _save_items(stored, project, by)


@transaction.atomic
def _save_items(
    stored: Sequence[tuple[MediaUpload, str]], project: Project, by: Any
) -> dict[str, int]:
    locks.lock_items(project.pk)  # two uploads at once take turns
    keys = {upload.key for upload, _name in stored}
    bodies = dict(Item.objects.filter(project=project, key__in=keys).values_list("key", "body"))
    errors: dict[str, str] = {}
    for upload, name in stored:
        body = bodies.setdefault(upload.key, {})
        address = reverse("media", args=[project.pk, name])
        if body.get(upload.kind) not in (None, "", address):
            message = _("Item “%(key)s” shows another file. Rename this file.") % {
                "key": upload.key
            }
            errors[clean_upload_name(upload.file.name or "")] = message
        body[upload.kind] = address
    if errors:
        raise InvalidProjectChange(errors)
    security_log.log_event(
        "media_uploaded",
        project_id=project.pk,
        by=getattr(by, "pk", None),
        files=len(stored),
        bytes=sum(upload.file.seek(0, os.SEEK_END) for upload, _name in stored),
    )
    rows = [{"key": key, "body": body} for key, body in bodies.items()]
    return item_upsert.upsert_items(project=project, rows=rows, by=by)


def _iter_valid_uploads(files: Sequence[Any], errors: dict[str, str]) -> Iterator[MediaUpload]:
    """Yield the accepted files; add a message to ``errors`` for each other one."""
    for file in files:
        file.seek(0)
        extension = detect_extension(file.read(HEAD_BYTES))
        key = PurePath(clean_upload_name(file.name or "")).stem.strip()
        if extension is None:
            errors[clean_upload_name(file.name or "")] = _(
                "Not a supported image, audio or video file."
            )
        elif find_key_problem(key, max_length=item_upsert.MAX_KEY_LENGTH):
            errors[clean_upload_name(file.name or "")] = _("This file name can't be an item ID.")
        else:
            yield MediaUpload(file, key, extension)


def store_file(upload: MediaUpload, project: Project) -> str:
    """Store the upload's file durably in the project's folder and return its stored name.

    The name is the digest of the content with the extension of its type.
    """
    folder = Path(settings.DATA_DIR) / FOLDER / str(project.pk)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial_path = folder / f"{secrets.token_hex(16)}.part"
    digest = hashlib.sha256()
    upload.file.seek(0)
    try:
        with os.fdopen(
            os.open(partial_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"
        ) as copy:
            while chunk := upload.file.read(CHUNK_BYTES):
                digest.update(chunk)
                copy.write(chunk)
            copy.flush()
            os.fsync(copy.fileno())
        name = f"{digest.hexdigest()}.{upload.extension}"
        partial_path.replace(folder / name)
    except BaseException:
        partial_path.unlink(missing_ok=True)
        raise
    return name


def get_media_path(project_id: int, name: str) -> Path | None:
    """Return the path of a stored file; None for an invalid name or a missing file."""
    if not STORED_NAME_PATTERN.fullmatch(name):
        return None
    path = Path(settings.DATA_DIR) / FOLDER / str(project_id) / name
    return path if path.is_file() else None
