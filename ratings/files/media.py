"""Pictures, sound and film that a lead uploads to be rated: what they may be, where they lie, and
their items.

A file lies in DATA_DIR/media/PROJECT/DIGEST.EXTENSION. The name comes from its content alone, the
extension from its first bytes: nothing that an upload says about itself reaches the disk or a
header. The same file again is the same one.
"""

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

from core.db import bulk
from projects import locks
from projects.models import Item, Project
from projects.services.items import upsert
from projects.services.project_validation import Refused
from projects.services.row_validation import key_problem

from .upload_names import shown_name

FOLDER = "media"  # below DATA_DIR
CHUNK = 1 << 18
HEAD = 64  # bytes that tell what a file is

# extension -> (kind, type of content). Nothing that a browser would run: no SVG, no HTML, no PDF.
TYPES = {
    "png": ("image", "image/png"),
    "jpg": ("image", "image/jpeg"),
    "gif": ("image", "image/gif"),
    "webp": ("image", "image/webp"),
    "avif": ("image", "image/avif"),
    "mp3": ("audio", "audio/mpeg"),
    "ogg": ("audio", "audio/ogg"),
    "wav": ("audio", "audio/wav"),
    "flac": ("audio", "audio/flac"),
    "m4a": ("audio", "audio/mp4"),
    "mp4": ("video", "video/mp4"),
    "webm": ("video", "video/webm"),
}
NAME = re.compile(rf"[0-9a-f]{{64}}\.({'|'.join(TYPES)})", re.ASCII)
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


def extension_of(head: bytes) -> str | None:
    """What the file is by its first bytes; None for everything that is not on the list."""
    return next(
        (kind for mark, kind in _SIGNATURES.items() if re.match(mark, head[:HEAD], re.DOTALL)), None
    )


@dataclass(frozen=True, slots=True)
class Upload:
    file: IO[bytes]
    key: str  # of the item that is to show it
    extension: str

    @property
    def kind(self) -> str:
        return TYPES[self.extension][0]


def put(*, project: Project, files: Sequence[Any], by: Any) -> dict[str, int]:
    """Each uploaded file becomes an item named like it, or is shown by the item that has this name
    already.

    All or nothing. Raises Refused, whose ``fields`` name each file that cannot be taken and why.
    """
    problems: dict[str, Any] = {}
    uploads = list(_looked_at(files, problems))
    if problems:
        raise Refused(problems)
    # On disk before the database is asked: nobody waits for a large file. One that is refused below
    # does no harm.
    stored = [(upload, store(upload, project)) for upload in uploads]
    return _show(stored, project, by)


@transaction.atomic
def _show(stored: Sequence[tuple[Upload, str]], project: Project, by: Any) -> dict[str, int]:
    bulk.several(locks.write_items(project.pk))  # two uploads at once take turns
    keys = {upload.key for upload, _name in stored}
    bodies = dict(Item.objects.filter(project=project, key__in=keys).values_list("key", "body"))
    problems: dict[str, Any] = {}
    for upload, name in stored:
        body = bodies.setdefault(upload.key, {})
        address = reverse("media", args=[project.pk, name])
        if body.get(upload.kind) not in (None, "", address):
            said = _("Item '%(key)s' shows another one already; rename the file.") % {
                "key": upload.key
            }
            problems[shown_name(upload.file.name or "")] = said
        body[upload.kind] = address
    if problems:
        raise Refused(problems)
    rows = [{"key": key, "body": body} for key, body in bodies.items()]
    return upsert.put_items(project=project, rows=rows, by=by)


def _looked_at(files: Sequence[Any], problems: dict[str, Any]) -> Iterator[Upload]:
    for file in files:
        file.seek(0)
        extension = extension_of(file.read(HEAD))
        key = PurePath(shown_name(file.name or "")).stem.strip()
        if extension is None:
            problems[shown_name(file.name or "")] = _(
                "This is no picture, sound or film of a kind that can be shown."
            )
        elif key_problem(key, longest=upsert.LONGEST_KEY):
            problems[shown_name(file.name or "")] = _("Its name cannot be the name of an item.")
        else:
            yield Upload(file, key, extension)


def store(upload: Upload, project: Project) -> str:
    """The file's own name, under which it lies on disk for good when this returns."""
    folder = Path(settings.DATA_DIR) / FOLDER / str(project.pk)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = folder / f"{secrets.token_hex(16)}.part"
    digest = hashlib.sha256()
    upload.file.seek(0)
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy:
            while chunk := upload.file.read(CHUNK):
                digest.update(chunk)
                copy.write(chunk)
            copy.flush()
            os.fsync(copy.fileno())
        name = f"{digest.hexdigest()}.{upload.extension}"
        part.replace(folder / name)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return name


def path_of(project_id: int, name: str) -> Path | None:
    """Where the file of this name lies; None for a name that was never made here and for a file
    that is not there."""
    if not NAME.fullmatch(name):
        return None
    path = Path(settings.DATA_DIR) / FOLDER / str(project_id) / name
    return path if path.is_file() else None
