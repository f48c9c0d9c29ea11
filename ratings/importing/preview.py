"""The first items of a checked file, exactly as the annotator's desk would show them."""

from __future__ import annotations

import json
from typing import Any

from ratings.desk import content
from ratings.models import ImportRun

from . import files, media_names
from .staged import opened

ITEMS = 5


def items(run: ImportRun) -> list[dict[str, Any]]:
    """key, blocks (ratings.desk.content) and attributes of the first items whose content the file
    brings; none where the scratch file is gone."""
    if run.state != ImportRun.State.CHECKED:
        return []
    try:
        with opened(files.absolute(f"{run.path}{files.SCRATCH}"), lambda: None) as staged:
            first = staged.first_described(ITEMS)
    except FileNotFoundError:
        return []
    bodies = {one.item: json.loads(one.body or "{}") for one in first}
    media_names.resolve(run.project, bodies)
    found = []
    for one in first:
        attributes = json.loads(one.attributes or "{}")
        blocks = content.blocks(bodies[one.item])
        found.append({"key": one.item, "blocks": blocks, "attributes": attributes})
    return found
