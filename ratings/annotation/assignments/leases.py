"""Lease time: how long an assigned item is reserved for its rater."""

from __future__ import annotations

import datetime

from django.conf import settings


def get_lease_time() -> datetime.timedelta:
    """Return the time for which an assigned item, or a check, is reserved for its rater."""
    return datetime.timedelta(seconds=settings.LEASE_SECONDS)
