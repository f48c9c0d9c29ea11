"""Record events in the caller's transaction, also for the hooks of ``projects``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection
from django.utils import timezone

from core.hooks import CommitListeners
from core.jobs.dispatch import start_task
from projects.models import Project, Rater

from .kinds import KINDS
from .models import Event, EventBatch

MAX_ITEMS = 100  # keys in one event
RATER_SUBJECT = re.compile(r"rater/[0-9]+")


def _request_publishing(project_id: int) -> None:
    start_task("events.tasks.publish_events", project_id)


_commit_listeners = CommitListeners("events_recorded")
_commit_listeners.register(_request_publishing)


def record_event(
    *, project_id: int, kind: str, subject: str = "", data: Mapping[str, Any], by: Any = None
) -> Event:
    """Record an event in the caller's transaction, and return it.

    It is committed or rolled back with the change, and gets its place in the feed afterwards.
    ``data`` holds names and numbers that JSON can represent; ``by``: the acting user, None for the
    site. Raises ValueError for a kind that is not declared, or a mail to a rater whom ``subject``
    does not name, and RuntimeError outside a transaction.
    """
    if kind not in KINDS:
        raise ValueError(f"{kind}: declare this kind of event in events/kinds.py")
    if KINDS[kind].is_mailed_to_rater and not RATER_SUBJECT.fullmatch(subject):
        raise ValueError(f"{kind}: the subject must be rater/ID, because the rater gets a mail")
    if not connection.in_atomic_block:
        raise RuntimeError(f"{kind}: an event must be recorded in the transaction of its change")
    event = Event.objects.create(
        project_id=project_id,
        kind=kind,
        subject=subject,
        data=dict(data),
        by=by,
        at=timezone.now(),
    )
    _commit_listeners.notify_on_commit(project_id)
    return event


def add_to_batch(
    *, project_id: int, kind: str, subject: str, question: str, items: Sequence[str], changes: int
) -> None:
    """Add changed items to the batch of this kind and subject, which later becomes one event.

    ``question``: its key; ``items``: keys of some of the changed items, of which the event names
    the first MAX_ITEMS; ``changes``: the number of all changed items. Call it in the transaction of
    the change.
    """
    batch, _created = EventBatch.objects.get_or_create(
        project_id=project_id,
        kind=kind,
        subject=subject,
        defaults={"question": question, "next_at": timezone.now()},
    )
    batch = EventBatch.objects.select_for_update().get(pk=batch.pk)
    batch.changes += changes
    batch.items = list(dict.fromkeys([*batch.items, *items]))[:MAX_ITEMS]
    batch.question = question
    batch.save(update_fields=["changes", "items", "question"])
    _commit_listeners.notify_on_commit(project_id)


def record_guidelines_change(project: Project, by: Any) -> None:
    """Record that a project's guidelines have a new version."""
    record_event(
        project_id=project.pk,
        kind="guidelines.changed",
        subject=f"guidelines/{project.guidelines_version}",
        data={"version": project.guidelines_version, "characters": len(project.guidelines)},
        by=by,
    )


def record_pause_or_resume(rater: Rater, by: Any) -> None:
    """Record that a rater was paused or resumed."""
    data: dict[str, Any] = {"rater": rater.key}
    if rater.paused:
        data["reason"] = "gold" if rater.gold_notice == Rater.GoldNotice.PAUSED else "lead"
    record_event(
        project_id=rater.project_id,
        kind="rater.paused" if rater.paused else "rater.resumed",
        subject=f"rater/{rater.pk}",
        data=data,
        by=by,
    )
