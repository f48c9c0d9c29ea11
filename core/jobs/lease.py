"""A lease says who works on a row. Two workers may both believe that a row is theirs; only one of
them can write, because every write names the lease: who lost it writes nothing.

The lease is a random text in the row's column ``lease``, and a column of time tells until when the
worker counts as alive.
"""

from __future__ import annotations

import secrets
from typing import Any, TypeVar

from django.db import models
from django.db.models import Q, QuerySet
from django.utils import timezone

Row = TypeVar("Row", bound=models.Model)


class Lost(Exception):
    """The row is in other hands now, or it is gone."""


class Leased(models.Model):
    """The columns of a row that one worker at a time has in its hands."""

    lease = models.CharField(max_length=32, blank=True)
    # After this time the worker counts as gone, and another one may take the row with a lease of
    # its own. Null: nobody has it.
    leased_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


def free() -> Q:
    """Rows of a Leased model that nobody has, or whose worker counts as gone."""
    return Q(leased_until=None) | Q(leased_until__lte=timezone.now())


def new_lease() -> str:
    return secrets.token_hex(16)


def take_lease(free_row: QuerySet[Row], **columns: Any) -> str | None:
    """Put a lease of our own, and these columns, on the one row of ``free_row``; the lease.

    None when there is no such row any more. Of several workers that try, one gets it.
    """
    lease = new_lease()
    if free_row.update(lease=lease, **columns):
        return lease
    return None


def held(row: Row) -> QuerySet[Row]:
    """The row, as long as it stands with the lease with which we took it; else nothing."""
    return type(row)._default_manager.filter(pk=row.pk, lease=row.lease)  # type: ignore[attr-defined]


def keep_lease(row: Row, mine: QuerySet[Row], **changes: Any) -> None:
    """Write the changes into ``mine`` (``held(row)``, or less of it) and into ``row``.

    Raises Lost, having written nothing, when ``mine`` is empty.
    """
    if not mine.update(**changes):
        raise Lost
    for name, value in changes.items():
        setattr(row, name, value)


def give_back(row: Leased) -> None:
    """Let another worker take the row at once; nothing when it has been taken already."""
    held(row).update(leased_until=timezone.now())
