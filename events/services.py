"""Record events in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection
from django.utils import timezone

from .models import Event


def record_event(
    *, project_id: int, kind: str, subject: str = "", data: Mapping[str, Any], by: Any = None
) -> Event:
    """Record an event in the caller's transaction.

    It is committed or rolled back with the change.

    ``data`` holds names and numbers that JSON can represent. Raises RuntimeError outside a
    transaction.
    """
    if not connection.in_atomic_block:
        raise RuntimeError(f"{kind}: an event must be recorded in the transaction of its change")
    return Event.objects.create(
        project_id=project_id,
        kind=kind,
        subject=subject,
        data=dict(data),
        by=by,
        at=timezone.now(),
    )
