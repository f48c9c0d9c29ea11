"""Leases of database rows: one worker at a time owns a row, for a limited time.

Two workers may both believe that they own a row, but only one of them can write, because every
write names the lease: a worker that lost it writes nothing.

The lease is a random text in the row's column ``lease``, and a time column says until when the
worker counts as alive.
"""

from __future__ import annotations

import secrets
from typing import Any, TypeVar

from django.db import models
from django.db.models import Q, QuerySet
from django.utils import timezone

LeasedRow = TypeVar("LeasedRow", bound=models.Model)


class LeaseLost(Exception):
    """Another worker owns the row now, or the row is deleted."""


class Leased(models.Model):
    """Abstract model of a row that one worker at a time can own."""

    lease = models.CharField(max_length=32, blank=True)
    # After this time the worker counts as dead, and another one may claim the row with its own
    # lease. Null: the row is not claimed.
    leased_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


def build_unclaimed_filter() -> Q:
    """Build the filter for rows of a Leased model that no living worker has claimed."""
    return Q(leased_until=None) | Q(leased_until__lte=timezone.now())


def generate_lease() -> str:
    return secrets.token_hex(16)


def claim_lease(unclaimed: QuerySet[LeasedRow], **columns: Any) -> str | None:
    """Set a new lease and ``columns`` on the only row of ``unclaimed``; return the lease.

    Return None if the queryset is empty by then: only one of several workers gets the row.
    """
    lease = generate_lease()
    if unclaimed.update(lease=lease, **columns):
        return lease
    return None


def claim_row(rows: QuerySet[LeasedRow], pk: int, condition: Q, **columns: Any) -> LeasedRow | None:
    """Claim the row of ``rows`` with this primary key if it fulfils ``condition``; return it.

    ``columns`` are set by the claim. Return None if the row does not fulfil the condition, is
    claimed by another worker, or does not exist any more.
    """
    lease = claim_lease(rows.filter(build_unclaimed_filter(), condition, pk=pk), **columns)
    if lease is None:
        return None
    return rows.filter(pk=pk, lease=lease).first()


def get_leased_rows(row: LeasedRow) -> QuerySet[LeasedRow]:
    """Return a queryset of this row, which is empty once another worker has claimed the row."""
    return type(row)._default_manager.filter(pk=row.pk, lease=row.lease)  # type: ignore[attr-defined]


def update_leased_row(row: LeasedRow, leased: QuerySet[LeasedRow], **changes: Any) -> None:
    """Update a leased row in the database and in memory.

    ``leased`` is ``get_leased_rows(row)``, possibly filtered further. Raises LeaseLost, having
    written nothing, when it is empty.
    """
    if not leased.update(**changes):
        raise LeaseLost
    for name, value in changes.items():
        setattr(row, name, value)


def release_lease(row: Leased) -> None:
    """Release the lease of a row, so that another worker can claim it at once."""
    get_leased_rows(row).update(leased_until=timezone.now())
