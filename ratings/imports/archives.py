"""A ZIP archive: a manifest (one table, or the export of a tool) and the pictures, sound and film
that it names.

The manifest is taken out and imported like any file; the archive lies beside it as long as the
import lasts. No name of the archive becomes a path: a file is kept under the digest of its content
(ratings.files.media). Everything is looked at before anything is believed, and what cannot be
taken refuses the archive with the name that it has there.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from django.conf import settings
from django.urls import reverse

from core.text import has_control
from projects.models import Project
from ratings.files import media

from .problems import Unreadable, shown

BESIDE = ".media"  # where the archive of the manifest "imports/abc" lies
TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".xlsx", ".parquet", ".xml")
MANIFEST = "manifest"  # the name of the manifest where there are several tables
# What computers put in by themselves.
PASSED_OVER = re.compile(r"(^|/)(__MACOSX/.*|\.[^./\\][^/]*|Thumbs\.db|desktop\.ini)$")
MOST_FILES = 20_000
MOST_DIRECTORY = 8 << 20  # bytes of the archive's table of contents, which is held in memory
_END = struct.Struct("<4s4H2LH")  # of the central directory
_END64 = b"PK\x06\x07"
LONGEST_COMMENT = 1 << 16
CHUNK = 1 << 18


def guard(path: Path) -> None:
    """Raises Unreadable for an archive whose table of contents alone would fill the memory."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - LONGEST_COMMENT - _END.size))
        end = file.read()
    place = end.rfind(b"PK\x05\x06")
    if place < 0 or len(end) - place < _END.size:
        raise Unreadable("zip_cut")
    entries, length = _END.unpack_from(end, place)[4:6]
    wide = end[max(0, place - 20) : place].startswith(_END64)  # made for 65,535 files and more
    if wide or entries > MOST_FILES or length > MOST_DIRECTORY:
        raise Unreadable("zip_many", limit=MOST_FILES)


def open_up(path: Path) -> IO[bytes]:
    """Put the archive beside ``path`` and give its manifest to be read. Raises Unreadable, and then
    has changed nothing; Bad is raised by reading on."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _looked_at(archive)
    except Unreadable:
        raise
    # zlib, zipfile and struct have no common base for what a broken archive raises
    except Exception:
        raise Unreadable("zip_cut") from None
    beside = path.with_name(path.name + BESIDE)
    path.replace(beside)
    return zipfile.ZipFile(beside).open(manifest)


def read(file: IO[bytes]) -> Iterator[bytes]:
    """The pieces of a file of an archive. Raises Unreadable where it is damaged."""
    try:
        while chunk := file.read(CHUNK):
            yield chunk
    except Exception:  # as above
        raise Unreadable("zip_broken", value=shown(file.name)) from None


def _looked_at(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """The manifest of an archive without anything that cannot be taken."""
    files = _files(archive)
    names: set[str] = set()
    tables = []
    unpacked = 0
    for file in files:
        _check_name(file, names)
        unpacked += file.file_size
        if file.filename.lower().endswith(TABLES):
            tables.append(file)
        elif _extension(archive, file) is None:
            raise Unreadable("zip_kind", value=shown(file.filename))
        elif file.file_size > settings.MEDIA_MAX_BYTES:
            raise Unreadable(
                "zip_large",
                value=shown(file.filename),
                found=file.file_size,
                limit=settings.MEDIA_MAX_BYTES,
            )
        if unpacked > settings.IMPORT_MAX_BYTES:
            raise Unreadable("too_large", limit=settings.IMPORT_MAX_BYTES)
    return _manifest(tables)


def _files(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    return [
        entry
        for entry in archive.infolist()
        if not entry.is_dir() and not PASSED_OVER.search(entry.filename)
    ]


def _check_name(file: zipfile.ZipInfo, names: set[str]) -> None:
    name = file.orig_filename
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if ".." in parts or name.startswith("/") or "\\" in name or ":" in name or has_control(name):
        raise Unreadable("zip_name", value=shown(name))
    if file.filename in names:
        raise Unreadable("zip_doubled", value=shown(name))
    if file.flag_bits & 1:
        raise Unreadable("zip_locked", value=shown(name))
    names.add(file.filename)


def _extension(archive: zipfile.ZipFile, file: zipfile.ZipInfo) -> str | None:
    try:
        with archive.open(file) as content:
            return media.extension_of(content.read(media.HEAD))
    except Exception:
        raise Unreadable("zip_broken", value=shown(file.filename)) from None


def _manifest(tables: list[zipfile.ZipInfo]) -> zipfile.ZipInfo:
    if len(tables) > 1:
        named = [one for one in tables if PurePosixPath(one.filename).stem.lower() == MANIFEST]
        others = [one.filename for one in tables if one not in named[:1]]
        raise Unreadable("zip_manifests", found=shown(", ".join(others[:5])))
    if not tables:
        raise Unreadable("zip")
    return tables[0]


def remove(path: Path) -> None:
    path.with_name(path.name + BESIDE).unlink(missing_ok=True)


class Media:
    """The pictures, sound and film beside a manifest, by the names that it may call them."""

    def __init__(self, path: Path) -> None:
        """``path`` is the archive. Raises FileNotFoundError."""
        self.archive = zipfile.ZipFile(path)
        self.files: dict[str, zipfile.ZipInfo] = {}
        by_name: dict[str, list[zipfile.ZipInfo]] = {}
        folder = ""
        for file in _files(self.archive):
            if file.filename.lower().endswith(TABLES):
                folder = file.filename.rpartition("/")[0]
                continue
            self.files[file.filename] = file
            by_name.setdefault(file.filename.rpartition("/")[2], []).append(file)
        for name, found in by_name.items():
            if len(found) == 1:
                self.files.setdefault(name, found[0])
        if folder:
            for name, file in list(self.files.items()):
                self.files.setdefault(name.removeprefix(f"{folder}/"), file)
        self.digests: dict[str, str] = {}  # name in the archive -> the file's own name
        self.kept: set[str] = set()

    @classmethod
    def beside(cls, path: Path) -> Media | None:
        """The archive of this manifest; None where the file came alone."""
        beside = path.with_name(path.name + BESIDE)
        return cls(beside) if beside.is_file() else None

    def find(self, name: str, kind: str) -> zipfile.ZipInfo | None:
        """The file of this kind (image, audio or video) that the manifest calls so."""
        file = self.files.get(name.replace("\\", "/").removeprefix("./"))
        if file is None:
            return None
        extension = _extension(self.archive, file)
        return file if extension and media.TYPES[extension][0] == kind else None

    def place(self, file: zipfile.ZipInfo) -> int:
        """Its number in the archive."""
        return self.archive.infolist().index(file)

    def at(self, place: int) -> tuple[zipfile.ZipInfo, str] | None:
        """The file of this number and its type of content; None where there is none to be shown."""
        entries = self.archive.infolist()
        if place >= len(entries) or entries[place] not in self.files.values():
            return None
        extension = _extension(self.archive, entries[place])
        return (entries[place], media.TYPES[extension][1]) if extension else None

    def own_name(self, file: zipfile.ZipInfo) -> str:
        """The name under which its content is kept. Raises Unreadable where it is damaged."""
        if file.filename not in self.digests:
            digest = hashlib.sha256()
            with self.archive.open(file) as content:
                for chunk in read(content):
                    digest.update(chunk)
            extension = _extension(self.archive, file)
            self.digests[file.filename] = f"{digest.hexdigest()}.{extension}"
        return self.digests[file.filename]

    def address(self, file: zipfile.ZipInfo, project: Project) -> str:
        return reverse("media", args=[project.pk, self.own_name(file)])

    def keep(self, file: zipfile.ZipInfo, project: Project) -> None:
        """Put the file where the project's files lie, unless it lies there already."""
        name = self.own_name(file)
        if name in self.kept or media.path_of(project.pk, name):
            return
        with self.archive.open(file) as content:
            extension = name.rpartition(".")[2]
            media.store(media.Upload(content, "", extension), project)
        self.kept.add(name)
