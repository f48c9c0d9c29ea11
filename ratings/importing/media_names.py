"""Files may name pictures, sound and film by the names under which they were uploaded: here the
names become addresses."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from projects.models import Item, Project

from .columns import MEDIA


def resolve(project: Project | None, bodies: dict[str, dict[str, Any]]) -> int:
    """Put the address of the uploaded file into the place of its name, in each body; how many
    names stay names, since nothing was uploaded under them."""
    named = []
    for body in bodies.values():
        for kind in MEDIA:
            value = body.get(kind)
            if isinstance(value, str) and value and "://" not in value and value[0] != "/":
                named.append((body, kind, PurePath(value.replace("\\", "/")).stem))
    if not named or project is None:
        return len(named)
    stems = {stem for _body, _kind, stem in named}
    uploaded = dict(Item.objects.filter(project=project, key__in=stems).values_list("key", "body"))
    missing = 0
    for body, kind, stem in named:
        shows = uploaded.get(stem, {}).get(kind)
        if isinstance(shows, str) and shows.startswith("/"):
            body[kind] = shows
        else:
            missing += 1
    return missing
