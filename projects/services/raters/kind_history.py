"""History of raters' kinds, recorded by the code that changes them."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping

from django.db import transaction
from django.utils import timezone

from projects.models import Rater, RaterKindVersion


def record_previous_kinds(kinds: Mapping[int, str]) -> None:
    """Store the kinds (rater id -> kind) that end now, in the transaction that changes them.

    The time is set while the raters' rows are locked: readers of the kinds at a moment
    (``lock_raters_and_get_model_ids``) wait for the lock, and so never miss a change with an
    earlier time that is not committed yet.
    """
    if not kinds:
        return
    _lock_raters(kinds)
    now = timezone.now()
    RaterKindVersion.objects.bulk_create(
        RaterKindVersion(rater_id=rater_id, kind=kind, until=now)
        for rater_id, kind in kinds.items()
    )


def lock_raters_and_get_model_ids(
    raters: Collection[int], moment: datetime.datetime
) -> tuple[dict[int, Rater], set[int]]:
    """Return the raters by id, and the ids of those that were models at a moment.

    The moment must not be in the future.
    """
    with transaction.atomic():
        raters_by_id = _lock_raters(raters)
        return raters_by_id, RaterKindVersion.get_model_ids_at(raters_by_id.values(), moment)


def _lock_raters(raters: Collection[int]) -> dict[int, Rater]:
    """Return the raters by id, locked against changes until the transaction ends.

    The lock does not block those who rate.
    """
    rows = Rater.objects.select_for_update(no_key=True, of=("self",)).filter(pk__in=list(raters))
    return {row.pk: row for row in rows.order_by("pk")}
