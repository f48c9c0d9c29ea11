"""Hiding who the raters of a project are from those who lead it, and looking who they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Q

from core import security_log
from events.models import Event
from projects import hooks
from projects.models import Project
from projects.services.raters import pseudonyms

NAMING = ("rater", "other_rater")  # what the data of an event calls a rater's key
ROWS = 500


@transaction.atomic
def hide(*, project: Project, by: Any) -> None:
    """Put all people who rate under pseudonyms, and all who are to come."""
    # Waits for whoever makes a rater, and whoever makes one later sees that it is on.
    stood = Project.objects.select_for_update().get(pk=project.pk)
    if stood.raters_hidden:
        return
    _set(stood, hidden=True)
    renamed = pseudonyms.settle(project.pk)
    _follow(stood, renamed)
    security_log.event("raters_hidden", project_id=project.pk, by=by.pk, raters=len(renamed))


@transaction.atomic
def show(*, project: Project, by: Any) -> None:
    """Give everybody the key and the name again that they had."""
    stood = Project.objects.select_for_update().get(pk=project.pk)
    if not stood.raters_hidden:
        return
    renamed = pseudonyms.restore(project.pk)
    _set(stood, hidden=False)
    _follow(stood, renamed)
    security_log.event("raters_shown", project_id=project.pk, by=by.pk, raters=len(renamed))


@transaction.atomic
def look(*, project: Project, reason: str, by: Any) -> list[dict[str, Any]]:
    """Who is who. That it was asked, and why, is written down with the answer."""
    found = pseudonyms.table(project)
    security_log.event(
        "raters_looked_at", project_id=project.pk, by=by.pk, reason=reason, raters=len(found)
    )
    return found


def _set(project: Project, *, hidden: bool) -> None:
    project.raters_hidden = hidden
    project.save(update_fields=["raters_hidden"])
    Project.objects.filter(pk=project.pk).catalogue_changed()


def _follow(project: Project, renamed: Mapping[str, str]) -> None:
    """What was stored under the old keys."""
    named = Q(data__has_key=NAMING[0]) | Q(data__has_key=NAMING[1])
    moved = []
    for event in Event.objects.filter(named, project=project).iterator(chunk_size=ROWS):
        told = {name: renamed[key] for name in NAMING if (key := event.data.get(name)) in renamed}
        if told:
            event.data |= told
            moved.append(event)
    Event.objects.bulk_update(moved, ["data"], batch_size=ROWS)
    hooks.raters_renamed(project.pk, renamed)
