"""Writing down what happened, in the transaction that makes it happen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection
from django.utils import timezone

from .models import Event


def record(
    *, project_id: int, kind: str, subject: str = "", data: Mapping[str, Any], by: Any = None
) -> Event:
    """Write an event in the caller's transaction: it stands if, and only if, what it tells stands.

    ``data``: names and figures that JSON can hold. RuntimeError outside a transaction.
    """
    if not connection.in_atomic_block:
        raise RuntimeError(f"{kind}: an event is recorded in the transaction that it tells of")
    return Event.objects.create(
        project_id=project_id,
        kind=kind,
        subject=subject,
        data=dict(data),
        by=by,
        at=timezone.now(),
    )
