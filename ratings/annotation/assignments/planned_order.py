"""The planned order of a project's queue: which items come first. Who plans it stands above
(quality.planning)."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from projects.models import Item

MOST = 500  # items planned at a time; more would be in the way of who has rated them already


@transaction.atomic
def arrange(project_id: int, item_ids: Sequence[int]) -> int:
    """These items come first, in this order, and no others; how many rows that changed. ValueError
    for more than MOST."""
    if len(item_ids) > MOST:
        raise ValueError(f"{MOST} items can be planned at a time, not {len(item_ids)}")
    turns = {item_id: turn for turn, item_id in enumerate(item_ids)}
    planned = Item.objects.filter(project=project_id, turn__isnull=False)
    stood = dict(planned.values_list("pk", "turn"))
    moved = [pk for pk in stood.keys() | turns.keys() if stood.get(pk) != turns.get(pk)]
    # Locked in one order, as whoever rates does. Who rates holds one of them at a time.
    rows = Item.objects.filter(project=project_id, pk__in=moved).order_by("pk")
    found = list(rows.select_for_update(no_key=True).only("pk"))
    for item in found:
        item.turn = turns.get(item.pk)
    Item.objects.bulk_update(found, ["turn"], batch_size=100)
    return len(found)
