"""Time for which an assigned item is reserved for its rater."""

from __future__ import annotations

import datetime

from django.conf import settings


def get_lease_time() -> datetime.timedelta:
    """Return the time that an assigned item is reserved for the rater, check or not."""
    return datetime.timedelta(seconds=settings.LEASE_SECONDS)
