"""The first items of a checked file, exactly as the annotator's desk would show them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ratings.imports import media_references, uploads
from ratings.imports.archives import Media
from ratings.imports.staging.queries import opened
from ratings.items import content
from ratings.models import ImportRun

ITEMS = 5


def items(run: ImportRun, *, address: Callable[[int], str]) -> list[dict[str, Any]]:
    """key, blocks (ratings.items.content) and attributes of the first items whose content the file
    brings; none where the scratch file is gone. ``address``: where the file of a number in the
    archive beside it is to be seen."""
    if run.state != ImportRun.State.CHECKED:
        return []
    try:
        with opened(uploads.absolute(f"{run.path}{uploads.SCRATCH}"), lambda: None) as staged:
            first = staged.first_described(ITEMS)
    except FileNotFoundError:
        return []
    bodies = {one.item: json.loads(one.body or "{}") for one in first}
    _show_from_archive(run, bodies, address)
    media_references.resolve(run.project, bodies)
    found = []
    for one in first:
        attributes = json.loads(one.attributes or "{}")
        blocks = content.blocks(bodies[one.item])
        found.append({"key": one.item, "blocks": blocks, "attributes": attributes})
    return found


def _show_from_archive(
    run: ImportRun, bodies: dict[str, dict[str, Any]], address: Callable[[int], str]
) -> None:
    archive = Media.beside(uploads.absolute(run.path))
    for body in bodies.values() if archive else ():
        for kind, name in media_references.named(body):
            file = archive.find(name, kind) if archive else None
            if archive and file:
                body[kind] = address(archive.place(file))
