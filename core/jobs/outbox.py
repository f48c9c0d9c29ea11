"""Times of the next attempts of failed deliveries and mails, and deletion of ended ones."""

from __future__ import annotations

import datetime
import random
from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

MAX_JITTER = 0.1  # share of a pause that is added at random, so that not all come back at once
KEEP_ENDED = datetime.timedelta(days=30)


def get_retry_time(
    delays: Sequence[datetime.timedelta], attempts: int, now: datetime.datetime
) -> datetime.datetime | None:
    """Return the time of the next attempt after a failed one; None if there is no further attempt.

    ``delays``: the pause after the first, second, ... failure; ``attempts``: the number of
    failures.
    """
    if attempts > len(delays):
        return None
    return now + delays[attempts - 1] * random.uniform(1, 1 + MAX_JITTER)  # noqa: S311


def delete_old_rows(ended: QuerySet[Any], *, column: str) -> int:
    """Delete the rows whose time ``column`` is older than KEEP_ENDED; return their number."""
    return ended.filter(**{f"{column}__lt": timezone.now() - KEEP_ENDED}).delete()[0]
