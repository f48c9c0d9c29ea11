"""Requests by leads for one more rating of selected items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from core import security_log
from projects.models import Item, Project
from ratings.services import slots


@transaction.atomic
def request_ratings(*, project: Project, item_ids: Sequence[int], by: Any) -> int:
    """Request one more rating of each item than it has or will get; return the number of items.

    Withdrawn items and items without content are left out.
    """
    items = Item.objects.filter(project=project, pk__in=item_ids)
    n_requested = 0
    for item_id in sorted(items.values_list("pk", flat=True)):  # locks are taken in one order
        demand = slots.lock_and_get_demand(item_id, overlap=project.overlap)
        if demand is None:
            continue
        n_slots = max(demand.requested, demand.taken) + 1
        slots.set_requested_slots(item_id, n_slots, overlap=project.overlap)
        n_requested += 1
    if n_requested:
        security_log.log_event(
            "ratings_requested", project_id=project.pk, by=by.pk, items=n_requested
        )
    return n_requested
