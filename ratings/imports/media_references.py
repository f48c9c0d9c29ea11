"""References of items to media files by name.

A file may refer to media by the names they have in the same archive, or had when they were uploaded
before. Here these names are replaced by URLs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from projects.models import Item, Project

from .mapping.layout_guess import MEDIA_ROLES
from .zip_archives import MediaArchive

Body = dict[str, Any]


def iter_file_references(body: Body) -> Iterator[tuple[str, str]]:
    """Yield (kind, name) of the media of a body that are names, not URLs."""
    for kind in MEDIA_ROLES:
        value = body.get(kind)
        if isinstance(value, str) and value and "://" not in value and value[0] != "/":
            yield kind, value


def replace_names_by_urls(
    project: Project | None, bodies: dict[str, Body], archive: MediaArchive | None = None
) -> dict[str, str]:
    """Replace names of media files by URLs in the bodies; return the names without a file.

    Returns item -> name. Media in the archive of a file that
    creates a project have no URL yet. Raises UnreadableFileError if the archive is damaged.
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
