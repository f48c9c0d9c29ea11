"""Files may name pictures, sound and film by the names under which they lie in the same archive, or
were uploaded before: here the names become addresses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from projects.models import Item, Project

from .archives import Media
from .mapping.columns import MEDIA

Body = dict[str, Any]


def named(body: Body) -> Iterator[tuple[str, str]]:
    """(kind, name) of what a body names and what is no address."""
    for kind in MEDIA:
        value = body.get(kind)
        if isinstance(value, str) and value and "://" not in value and value[0] != "/":
            yield kind, value


def resolve(
    project: Project | None, bodies: dict[str, Body], archive: Media | None = None
) -> dict[str, tuple[str, str]]:
    """Put the address of the file into the place of its name, in each body; item -> (kind, name)
    of names that stay names, since there is no such file. What lies in the archive of a file that
    becomes a project has no address yet. Raises Unreadable where the archive is damaged."""
    found = []
    for key, body in bodies.items():
        for kind, name in named(body):
            file = archive.find(name, kind) if archive else None
            if archive and file and project:
                body[kind] = archive.address(file, project)
            elif archive and file:
                archive.own_name(file)  # whether it is whole
            else:
                found.append((key, body, kind, name))
    stems = {PurePath(name.replace("\\", "/")).stem for _key, _body, _kind, name in found}
    uploaded: dict[str, Any] = {}
    if stems and project is not None:
        rows = Item.objects.filter(project=project, key__in=stems)
        uploaded = dict(rows.values_list("key", "body"))
    missing = {}
    for key, body, kind, name in found:
        shows = uploaded.get(PurePath(name.replace("\\", "/")).stem, {}).get(kind)
        if isinstance(shows, str) and shows.startswith("/"):
            body[kind] = shows
        else:
            missing[key] = (kind, name)
    return missing


def keep(project: Project, bodies: Iterator[Body], archive: Media) -> None:
    """Put the files that the bodies name where the project's files lie."""
    for body in bodies:
        for kind, name in named(body):
            if file := archive.find(name, kind):
                archive.keep(file, project)
