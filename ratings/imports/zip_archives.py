"""ZIP archives with a manifest (a table or the export of a tool) and the media files it refers to.

The manifest is extracted and imported like any file; the archive stays beside it during the import.
No name in the archive becomes a path: a media file is stored under the digest of its content
(ratings.files.media). Everything is validated before anything is used, and an entry that is not
allowed rejects the archive with the entry's name.

A file may refer to media by the names they have in the same archive, or had when they were uploaded
before. These names are replaced by URLs.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any

from django.conf import settings
from django.urls import reverse

from core.text import has_control_character
from projects.models import Item, Project
from ratings.files import media
from ratings.files.media_types import MEDIA_TYPES

from .mapping.layout_guess import MEDIA_ROLES
from .problems import UnreadableFileError, truncate_text

ARCHIVE_SUFFIX = ".media"  # the archive of the manifest "imports/abc" is "imports/abc.media"
MANIFEST_EXTENSIONS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".xlsx", ".parquet", ".xml")
MANIFEST_STEM = "manifest"  # the table with this stem is the one to keep, if there are several
# Entries that operating systems add by themselves.
IGNORED_ENTRIES = re.compile(r"(^|/)(__MACOSX/.*|\.[^./\\][^/]*|Thumbs\.db|desktop\.ini)$")
MAX_FILES = 20_000
MAX_DIRECTORY_BYTES = 8 << 20  # bytes of the central directory, which is held in memory
_END_RECORD = struct.Struct("<4s4H2LH")  # end of central directory record
_END64_LOCATOR_SIGNATURE = b"PK\x06\x07"
MAX_COMMENT_BYTES = 1 << 16
CHUNK_BYTES = 1 << 18


def validate_directory_size(path: Path) -> None:
    """Raise UnreadableFileError if the ZIP directory is missing or lists too many files."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - MAX_COMMENT_BYTES - _END_RECORD.size))
        end = file.read()
    position = end.rfind(b"PK\x05\x06")
    if position < 0 or len(end) - position < _END_RECORD.size:
        raise UnreadableFileError("zip_cut")
    entries, length = _END_RECORD.unpack_from(end, position)[4:6]
    is_zip64 = end[max(0, position - 20) : position].startswith(
        _END64_LOCATOR_SIGNATURE
    )  # for 65,535 files and more
    if is_zip64 or entries > MAX_FILES or length > MAX_DIRECTORY_BYTES:
        raise UnreadableFileError("zip_many", limit=MAX_FILES)


def has_media_archive(path: Path) -> bool:
    """Return whether an archive with media belongs to the stored file."""
    return path.with_name(path.name + ARCHIVE_SUFFIX).exists()


def open_manifest(path: Path) -> IO[bytes]:
    """Move an uploaded ZIP archive aside, and return its manifest opened for reading.

    Raises UnreadableFileError without having changed anything. If the manifest is damaged,
    `iter_chunks` raises it while the manifest is read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _validate_entries(archive)
    except UnreadableFileError:
        raise
    # Exceptions of zlib, zipfile and struct for a broken archive have no common base class.
    except Exception:
        raise UnreadableFileError("zip_cut") from None
    archive_path = path.with_name(path.name + ARCHIVE_SUFFIX)
    path.replace(archive_path)
    return zipfile.ZipFile(archive_path).open(manifest)


def iter_chunks(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the chunks of a file in an archive. Raises UnreadableFileError if it is damaged."""
    try:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
    except Exception:  # as in open_manifest
        raise UnreadableFileError("zip_broken", value=truncate_text(file.name)) from None


def _validate_entries(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Validate every entry of an archive and return its manifest.

    Raises UnreadableFileError for an entry that is not allowed, or if there is not one manifest.
    """
    files = _list_files(archive)
    names: set[str] = set()
    tables = []
    unpacked_bytes = 0
    for file in files:
        _validate_entry(file, names)
        unpacked_bytes += file.file_size
        if file.filename.lower().endswith(MANIFEST_EXTENSIONS):
            tables.append(file)
        elif _detect_extension(archive, file) is None:
            raise UnreadableFileError("zip_kind", value=truncate_text(file.filename))
        elif file.file_size > settings.MEDIA_MAX_BYTES:
            raise UnreadableFileError(
                "zip_large",
                value=truncate_text(file.filename),
                found=file.file_size,
                limit=settings.MEDIA_MAX_BYTES,
            )
        if unpacked_bytes > settings.IMPORT_MAX_BYTES:
            raise UnreadableFileError("too_large", limit=settings.IMPORT_MAX_BYTES)
    return _select_manifest(tables)


def _list_files(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    return [
        entry
        for entry in archive.infolist()
        if not entry.is_dir() and not IGNORED_ENTRIES.search(entry.filename)
    ]


def _validate_entry(file: zipfile.ZipInfo, names: set[str]) -> None:
    name = file.orig_filename
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if (
        ".." in parts
        or name.startswith("/")
        or "\\" in name
        or ":" in name
        or has_control_character(name)
    ):
        raise UnreadableFileError("zip_name", value=truncate_text(name))
    if file.filename in names:
        raise UnreadableFileError("zip_duplicate_name", value=truncate_text(name))
    if file.flag_bits & 1:
        raise UnreadableFileError("zip_locked", value=truncate_text(name))
    names.add(file.filename)


def _detect_extension(archive: zipfile.ZipFile, file: zipfile.ZipInfo) -> str | None:
    """Return the extension for the file's content, or None if its type is not accepted.

    Raises UnreadableFileError if the file is damaged.
    """
    try:
        with archive.open(file) as content:
            return media.detect_extension(content.read(media.HEAD_BYTES))
    except Exception:
        raise UnreadableFileError("zip_broken", value=truncate_text(file.filename)) from None


def _select_manifest(tables: list[zipfile.ZipInfo]) -> zipfile.ZipInfo:
    """Return the only table of the archive. Raises UnreadableFileError if there is not one."""
    if len(tables) > 1:
        named_manifest = [
            table for table in tables if PurePosixPath(table.filename).stem.lower() == MANIFEST_STEM
        ]
        extra_names = [table.filename for table in tables if table not in named_manifest[:1]]
        raise UnreadableFileError("zip_manifests", found=truncate_text(", ".join(extra_names[:5])))
    if not tables:
        raise UnreadableFileError("zip")
    return tables[0]


def delete_archive(path: Path) -> None:
    """Delete the archive beside a manifest, if there is one."""
    path.with_name(path.name + ARCHIVE_SUFFIX).unlink(missing_ok=True)


class MediaArchive:
    """The media files of an archive, by the names that the manifest may use for them."""

    def __init__(self, path: Path) -> None:
        """Open the archive at ``path``. Raises FileNotFoundError."""
        self.archive = zipfile.ZipFile(path)
        self.files: dict[str, zipfile.ZipInfo] = {}
        by_name: dict[str, list[zipfile.ZipInfo]] = {}
        folder = ""
        for file in _list_files(self.archive):
            if file.filename.lower().endswith(MANIFEST_EXTENSIONS):
                folder = file.filename.rpartition("/")[0]
                continue
            self.files[file.filename] = file
            by_name.setdefault(file.filename.rpartition("/")[2], []).append(file)
        for name, same_name_files in by_name.items():
            if len(same_name_files) == 1:
                self.files.setdefault(name, same_name_files[0])
        if folder:
            for name, file in list(self.files.items()):
                self.files.setdefault(name.removeprefix(f"{folder}/"), file)
        self.digests: dict[str, str] = {}  # name in the archive -> stored name
        self.stored_names: set[str] = set()

    @classmethod
    def for_manifest(cls, path: Path) -> MediaArchive | None:
        """Return the archive of this manifest, or None if the file came without one."""
        archive_path = path.with_name(path.name + ARCHIVE_SUFFIX)
        return cls(archive_path) if archive_path.is_file() else None

    def find_file(self, name: str, kind: str) -> zipfile.ZipInfo | None:
        """Return the archive's file for a name in the manifest if it is of this kind, else None."""
        file = self.files.get(name.replace("\\", "/").removeprefix("./"))
        if file is None:
            return None
        extension = _detect_extension(self.archive, file)
        return file if extension and MEDIA_TYPES[extension][0] == kind else None

    def get_index(self, file: zipfile.ZipInfo) -> int:
        """Return the index of the file in the archive."""
        return self.archive.infolist().index(file)

    def get_by_index(self, index: int) -> tuple[zipfile.ZipInfo, str] | None:
        """Return the file with this index and its content type, or None if it cannot be shown."""
        entries = self.archive.infolist()
        if index >= len(entries) or entries[index] not in self.files.values():
            return None
        extension = _detect_extension(self.archive, entries[index])
        return (entries[index], MEDIA_TYPES[extension][1]) if extension else None

    def get_stored_name(self, file: zipfile.ZipInfo) -> str:
        """Return the name under which the file is stored.

        Raises UnreadableFileError if it is damaged.
        """
        if file.filename not in self.digests:
            digest = hashlib.sha256()
            with self.archive.open(file) as content:
                for chunk in iter_chunks(content):
                    digest.update(chunk)
            extension = _detect_extension(self.archive, file)
            self.digests[file.filename] = f"{digest.hexdigest()}.{extension}"
        return self.digests[file.filename]

    def get_url(self, file: zipfile.ZipInfo, project: Project) -> str:
        """Return the URL of the stored file."""
        return reverse("media", args=[project.pk, self.get_stored_name(file)])

    def store_file(self, file: zipfile.ZipInfo, project: Project) -> None:
        """Store the file among the project's media, unless it is stored already."""
        name = self.get_stored_name(file)
        if name in self.stored_names or media.get_media_path(project.pk, name):
            return
        with self.archive.open(file) as content:
            extension = name.rpartition(".")[2]
            media.store_file(media.MediaUpload(content, "", extension), project)
        self.stored_names.add(name)


Body = dict[str, Any]


def iter_file_references(body: Body) -> Iterator[tuple[str, str]]:
    """Yield (kind, name) for each medium of a body that is a file's name, not a URL."""
    for kind in MEDIA_ROLES:
        value = body.get(kind)
        if isinstance(value, str) and value and "://" not in value and value[0] != "/":
            yield kind, value


def replace_names_by_urls(
    project: Project | None, bodies: dict[str, Body], archive: MediaArchive | None = None
) -> dict[str, str]:
    """Replace names of media files by URLs in the bodies (item key -> body of the item).

    Returns item key -> a name in its body for which there is no file; empty if all have one.
    While the import creates the project (None), media in the archive have no URL yet, and their
    names stay. Without an archive, only media that were uploaded before are found. Raises
    UnreadableFileError if the archive is damaged.
    """
    unresolved = []
    for key, body in bodies.items():
        for kind, name in iter_file_references(body):
            file = archive.find_file(name, kind) if archive else None
            if archive and file and project:
                body[kind] = archive.get_url(file, project)
            elif archive and file:
                archive.get_stored_name(file)  # raises if the file is damaged
            else:
                unresolved.append((key, body, kind, name))
    stems = {PurePath(name.replace("\\", "/")).stem for _key, _body, _kind, name in unresolved}
    uploaded: dict[str, Any] = {}
    if stems and project is not None:
        rows = Item.objects.filter(project=project, key__in=stems)
        uploaded = dict(rows.values_list("key", "body"))
    missing = {}
    for key, body, kind, name in unresolved:
        uploaded_url = uploaded.get(PurePath(name.replace("\\", "/")).stem, {}).get(kind)
        if isinstance(uploaded_url, str) and uploaded_url.startswith("/"):
            body[kind] = uploaded_url
        else:
            missing[key] = name
    return missing


def store_referenced_files(project: Project, bodies: Iterator[Body], archive: MediaArchive) -> None:
    """Store the files that the bodies refer to among the project's media."""
    for body in bodies:
        for kind, name in iter_file_references(body):
            if file := archive.find_file(name, kind):
                archive.store_file(file, project)
