"""The feed: events in the order of their numbers, without gaps for its readers.

One publisher at a time gives numbers to events that are committed. A reader that has read up to a
number has therefore seen every event with a smaller one, whatever the order of the commits.
"""

from __future__ import annotations

import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from projects.models import Member, Project

from .kinds import KINDS, list_kinds
from .models import Event, EventBatch, FeedState
from .services import record_event
from .webhooks import outbox

PUBLISH_BATCH_SIZE = 500  # events in one transaction
BATCH_INTERVAL = datetime.timedelta(minutes=1)


def publish_events() -> int:
    """Give a number to each committed event without one; return how many were numbered."""
    _record_due_batches()
    n_published = 0
    while Event.objects.filter(number=None).exists():
        n_published += _publish_batch()
    return n_published


@transaction.atomic
def _publish_batch() -> int:
    """Number the oldest events without a number and create their deliveries; return how many."""
    FeedState.objects.get_or_create(pk=1)
    # Other publishers wait here until the numbers of this one are committed.
    state = FeedState.objects.select_for_update().get(pk=1)
    events = list(Event.objects.filter(number=None).order_by("id")[:PUBLISH_BATCH_SIZE])
    for event in events:
        state.last_number += 1
        event.number = state.last_number
    Event.objects.bulk_update(events, ["number"])
    state.save(update_fields=["last_number"])
    outbox.create_deliveries(events)
    return len(events)


@transaction.atomic
def _record_due_batches() -> None:
    """Record an event for each batch of changes that is due, and empty the batch."""
    due = EventBatch.objects.filter(changes__gt=0, next_at__lte=timezone.now()).order_by("pk")
    if not due.exists():
        return
    for batch in due.select_for_update():
        record_event(
            project_id=batch.project_id,
            kind=batch.kind,
            subject=batch.subject,
            data={"question": batch.question, "changes": batch.changes, "items": batch.items},
        )
        batch.changes, batch.items = 0, []
        batch.next_at = timezone.now() + BATCH_INTERVAL
        batch.save(update_fields=["changes", "items", "next_at"])


def get_project_feed(project: Project, role: str) -> QuerySet[Event]:
    """Return the published events of a project that members with this role may see, by number."""
    return _get_published_events().filter(project=project, kind__in=list_kinds(role))


def get_user_feed(user: Any, *, project_id: int | None = None) -> QuerySet[Event]:
    """Return the published events that the user may see, by number.

    ``project_id``: only those of this project; None: of all projects.
    """
    events = _get_published_events()
    if project_id is not None:
        events = events.filter(project=project_id)
    if user.is_superuser:
        return events.filter(kind__in=KINDS)
    visible = Q(pk=None)
    for role in Member.Role.values:
        projects = Member.objects.filter(user=user.pk, role=role).values("project")
        visible |= Q(project__in=projects, kind__in=list_kinds(role))
    return events.filter(visible)


def _get_published_events() -> QuerySet[Event]:
    return Event.objects.filter(number__isnull=False).order_by("number")
