"""Removal of items and raters: deletion without ratings, else withdrawal or pause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from core import security_log
from projects import legal_hold
from projects.models import Item, Project, Rater
from projects.services.raters import updates
from ratings.models import Assignment, CheckAnswer, Rating

ANSWER_MANAGERS = (Rating.objects, CheckAnswer.objects)


@transaction.atomic
def delete_or_withdraw_item(*, item: Item, by: Any) -> bool:
    """Delete an item without ratings and open assignments, or withdraw it; return True if deleted.

    Withdrawn ratings count as ratings.
    """
    # Lock against concurrent ratings, whose rows refer to this one.
    Item.objects.select_for_update().get(pk=item.pk)
    is_open = Assignment.objects.filter(item=item, state=Assignment.State.OPEN).exists()
    if is_open or any(rows.filter(item=item).exists() for rows in ANSWER_MANAGERS):
        withdraw_items(project=item.project, item_ids=[item.pk], withdrawn=True, by=by)
        return False
    legal_hold.raise_if_held(item.project_id)
    Item.objects.filter(pk=item.pk).delete()
    Project.objects.filter(pk=item.project_id).increment_items_and_raters_version()
    security_log.log_event(
        "item_deleted", project_id=item.project_id, by=by.pk, before={"key": item.key}
    )
    return True


@transaction.atomic
def withdraw_items(*, project: Project, item_ids: Sequence[int], withdrawn: bool, by: Any) -> int:
    """Withdraw items of the project, or restore them; return the number. Ratings are kept."""
    now = timezone.now()
    items = Item.objects.filter(project=project, pk__in=item_ids, withdrawn_at__isnull=withdrawn)
    number = items.update(withdrawn_at=now if withdrawn else None, changed_at=now)
    if number:
        Project.objects.filter(pk=project.pk).increment_items_and_raters_version()
        action = "withdrawn" if withdrawn else "restored"
        security_log.log_event(f"items_{action}", project_id=project.pk, by=by.pk, items=number)
    return number


@transaction.atomic
def delete_or_pause_rater(*, rater: Rater, by: Any) -> bool:
    """Delete a rater without ratings and open assignments, or pause them; True if deleted."""
    Rater.objects.select_for_update().get(pk=rater.pk)
    is_open = Assignment.objects.filter(rater=rater, state=Assignment.State.OPEN).exists()
    if is_open or any(rows.filter(rater=rater).exists() for rows in ANSWER_MANAGERS):
        updates.set_rater_paused(rater=rater, paused=True, by=by)
        return False
    legal_hold.raise_if_held(rater.project_id)
    Rater.objects.filter(pk=rater.pk).delete()
    Project.objects.filter(pk=rater.project_id).increment_items_and_raters_version()
    security_log.log_event(
        "rater_deleted", project_id=rater.project_id, by=by.pk, before={"key": rater.key}
    )
    return True
