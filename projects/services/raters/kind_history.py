"""What raters' kinds were: written down by whoever changes them."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping

from django.db import transaction
from django.utils import timezone

from projects.models import KindVersion, Rater


def keep(kinds: Mapping[int, str]) -> None:
    """Write down the kinds (rater id -> kind) that raters have had until now, in the transaction
    that changes them.

    The time is set with the raters' rows in hand: who reads what stood at a moment (`at`) waits for
    them, and so never misses a change that has an earlier time and is still on its way.
    """
    if not kinds:
        return
    _hold(kinds)
    now = timezone.now()
    KindVersion.objects.bulk_create(
        KindVersion(rater_id=rater, kind=kind, until=now) for rater, kind in kinds.items()
    )


def at(raters: Collection[int], moment: datetime.datetime) -> tuple[dict[int, Rater], set[int]]:
    """The raters by id, and the ids of those that were models at a moment, which must not lie
    ahead."""
    with transaction.atomic():
        found = _hold(raters)
        return found, KindVersion.models_at(found.values(), moment)


def _hold(raters: Collection[int]) -> dict[int, Rater]:
    """The raters, whom nobody changes until the transaction ends; who rates is not kept waiting."""
    rows = Rater.objects.select_for_update(no_key=True, of=("self",)).filter(pk__in=list(raters))
    return {row.pk: row for row in rows.order_by("pk")}
