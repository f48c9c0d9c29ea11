"""Planned order of a queue: items that are assigned first (set by quality.planning)."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from projects.models import Item

MAX_PLANNED_ITEMS = (
    500  # items planned at a time; more would slow down raters who have already rated them
)


@transaction.atomic
def set_planned_order(project_id: int, item_ids: Sequence[int]) -> int:
    """Store these items as the planned ones, in this order; return the number of changed rows.

    Raises ValueError for more than MAX_PLANNED_ITEMS.
    """
    if len(item_ids) > MAX_PLANNED_ITEMS:
        raise ValueError(f"{MAX_PLANNED_ITEMS} items can be planned at a time, not {len(item_ids)}")
    positions = {item_id: position for position, item_id in enumerate(item_ids)}
    planned = Item.objects.filter(project=project_id, planned_position__isnull=False)
    current_positions = dict(planned.values_list("pk", "planned_position"))
    changed_ids = [
        pk
        for pk in current_positions.keys() | positions.keys()
        if current_positions.get(pk) != positions.get(pk)
    ]
    # Locked in ascending order, like all writers of ratings, which hold one item at a time.
    rows = Item.objects.filter(project=project_id, pk__in=changed_ids).order_by("pk")
    items = list(rows.select_for_update(no_key=True).only("pk"))
    for item in items:
        item.planned_position = positions.get(item.pk)
    Item.objects.bulk_update(items, ["planned_position"], batch_size=100)
    return len(items)
