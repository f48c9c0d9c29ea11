"""A lead asks for one rating more of some items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from core import security_log
from projects.models import Item, Project
from ratings.services import slots


@transaction.atomic
def ask_again(*, project: Project, item_ids: Sequence[int], by: Any) -> int:
    """Each of these items of the project is asked for once more than it has ratings or is asked for
    now; of how many that is true. Those that are withdrawn or show nothing are passed by."""
    known = Item.objects.filter(project=project, pk__in=item_ids)
    number = 0
    for item_id in sorted(known.values_list("pk", flat=True)):  # locks are taken in one order
        asked = slots.lock_and_look(item_id, overlap=project.overlap)
        if asked is None:
            continue
        wanted = max(asked.wanted, asked.taken) + 1
        slots.want(item_id, wanted, overlap=project.overlap)
        number += 1
    if number:
        security_log.event("items_asked_again", project_id=project.pk, by=by.pk, items=number)
    return number
