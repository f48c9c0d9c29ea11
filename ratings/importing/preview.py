"""The first items of a checked file, exactly as the annotator's desk would show them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ratings.desk import content
from ratings.models import ImportRun

from . import files, media_names
from .archives import Media
from .staged import opened

ITEMS = 5


def items(run: ImportRun, *, address: Callable[[int], str]) -> list[dict[str, Any]]:
    """key, blocks (ratings.desk.content) and attributes of the first items whose content the file
    brings; none where the scratch file is gone. ``address``: where the file of a number in the
    archive beside it is to be seen."""
    if run.state != ImportRun.State.CHECKED:
        return []
    try:
        with opened(files.absolute(f"{run.path}{files.SCRATCH}"), lambda: None) as staged:
            first = staged.first_described(ITEMS)
    except FileNotFoundError:
        return []
    bodies = {one.item: json.loads(one.body or "{}") for one in first}
    _show_from_archive(run, bodies, address)
    media_names.resolve(run.project, bodies)
    found = []
    for one in first:
        attributes = json.loads(one.attributes or "{}")
        blocks = content.blocks(bodies[one.item])
        found.append({"key": one.item, "blocks": blocks, "attributes": attributes})
    return found


def _show_from_archive(
    run: ImportRun, bodies: dict[str, dict[str, Any]], address: Callable[[int], str]
) -> None:
    archive = Media.beside(files.absolute(run.path))
    for body in bodies.values() if archive else ():
        for kind, name in media_names.named(body):
            file = archive.find(name, kind) if archive else None
            if archive and file:
                body[kind] = address(archive.place(file))
