"""Preview of the first items of a checked file, rendered like on the annotation page."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ratings.imports import media_references, shared_files, uploads
from ratings.imports.staging.queries import open_staged_rows
from ratings.imports.zip_archives import MediaArchive
from ratings.items import content
from ratings.models import ImportRun

MAX_ITEMS = 5


def build_item_previews(run: ImportRun, *, get_url: Callable[[int], str]) -> list[dict[str, Any]]:
    """Return key, blocks (ratings.items.content) and attributes of the first items with content.

    Returns an empty list if the staging database does not exist. ``get_url`` returns the URL of the
    file with an index in the archive.
    """
    if run.state != ImportRun.State.CHECKED:
        return []
    try:
        with open_staged_rows(
            shared_files.ensure_local_file(run, uploads.STAGING_SUFFIX, refresh=True), lambda: None
        ) as staged_rows:
            contents = staged_rows.list_first_content(MAX_ITEMS)
    except FileNotFoundError:
        return []
    bodies = {content_row.item: json.loads(content_row.body or "{}") for content_row in contents}
    _set_archive_urls(run, bodies, get_url)
    media_references.replace_names_by_urls(run.project, bodies)
    previews = []
    for content_row in contents:
        attributes = json.loads(content_row.attributes or "{}")
        blocks = content.build_blocks(bodies[content_row.item])
        previews.append({"key": content_row.item, "blocks": blocks, "attributes": attributes})
    return previews


def _set_archive_urls(
    run: ImportRun, bodies: dict[str, dict[str, Any]], get_url: Callable[[int], str]
) -> None:
    """Replace the names of files in the archive by the URLs of their preview."""
    archive = MediaArchive.for_manifest(uploads.get_absolute_path(run.path))
    for body in bodies.values() if archive else ():
        for kind, name in media_references.iter_file_references(body):
            file = archive.find_file(name, kind) if archive else None
            if archive and file:
                body[kind] = get_url(archive.get_index(file))
