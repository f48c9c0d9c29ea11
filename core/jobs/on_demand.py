"""On-demand jobs: results that pages request and workers compute.

They take too long for a request. A database row holds the request and its result.

The row also says what is left to do. ``pending`` is cleared in the statement that stores the
result; a task is started for it, and the sweep finds rows that no task reached. One worker at a
time claims a row. A result is recomputed when somebody requests it while it is out of date,
after a cooldown that grows with the computing time. When there are too many rows, the least
recently requested are deleted.
"""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db import DatabaseError, models
from django.db.models import Manager, Q, QuerySet
from django.utils import timezone

from .dispatch import start_task
from .lease import Leased, build_unclaimed_filter, claim_row, get_leased_rows, release_lease

logger = logging.getLogger(__name__)

# A worker that claimed a row counts as dead after this. It is long because a large row may be what
# killed the worker.
CLAIM_TIMEOUT = datetime.timedelta(minutes=10)
# requested_at is updated at most this often.
REQUEST_TIME_RESOLUTION = datetime.timedelta(minutes=1)
# The cooldown is this many times the computing time, so a row takes at most a tenth of a worker.
COOLDOWN_FACTOR = 10
MAX_COOLDOWN = datetime.timedelta(minutes=10)
DELETE_BATCH_SIZE = 100


class OnDemandResult(Leased):
    """Abstract model of an on-demand job.

    Subclasses add the parameters of the request, and the result.
    """

    pending = models.BooleanField(default=True)
    requested_at = models.DateTimeField()
    computed_at = models.DateTimeField(null=True, blank=True)
    paused_until = models.DateTimeField(null=True, blank=True)  # end of the cooldown

    class Meta:
        abstract = True


JobRow = TypeVar("JobRow", bound=OnDemandResult)


@dataclass(frozen=True)
class OnDemandJob(Generic[JobRow]):
    """A kind of on-demand job: finds or creates its rows, starts tasks and computes results."""

    rows: QuerySet[JobRow]  # with the related rows that ``compute_result`` needs
    result_field: str
    task_name: str  # Celery task that calls ``compute`` with a row's id
    # Returns the columns to store, including the result; None when the row is obsolete.
    compute_result: Callable[[JobRow], dict[str, object] | None]
    min_cooldown: datetime.timedelta
    # A request that is older than this is not computed. None: requests do not expire.
    expires_after: datetime.timedelta | None = None

    def get_or_start(self, **lookup: Any) -> tuple[JobRow, bool]:
        """Return the row and whether it was created; start a task for a new row.

        ``lookup`` holds the row's key and optional ``defaults``, as for get_or_create.
        """
        lookup["defaults"] = {"requested_at": timezone.now(), **lookup.get("defaults", {})}
        row, created = self._get_manager().get_or_create(**lookup)
        if created:
            start_task(self.task_name, row.pk)
        return row, created

    def request_refresh(self, row: JobRow, *, is_stale: Callable[[], bool]) -> None:
        """Record a request for a stored result; start a task if the result is stale.

        No task is started during the cooldown of the row, or while one is pending.
        """
        now = timezone.now()
        if now - row.requested_at > REQUEST_TIME_RESOLUTION:
            self._get_manager().filter(pk=row.pk).update(requested_at=now)
        is_cooling_down = row.paused_until is not None and row.paused_until > now
        if row.pending or is_cooling_down or not is_stale():
            return
        row.pending = True
        if (
            self._get_manager()
            .filter(pk=row.pk, pending=False)
            .update(pending=True, requested_at=now)
        ):
            start_task(self.task_name, row.pk)

    def compute(self, row_id: int) -> bool:
        """Claim and compute a pending row; return True if it was computed.

        Returns False when no row has this id or another worker has claimed it.

        Raises what ``compute_result`` raises; another worker may then claim the row at once.
        """
        row = self.claim(row_id)
        if row is None:
            return False
        try:
            return self._compute_claimed(row)
        except BaseException:
            with suppress(DatabaseError):  # if this fails, the lease expires
                release_lease(row)
            raise

    def claim(self, row_id: int) -> JobRow | None:
        """Claim the pending row with this id.

        Returns None if there is no such row or another worker has claimed it.
        """
        return claim_row(
            self.rows, row_id, Q(pending=True), leased_until=timezone.now() + CLAIM_TIMEOUT
        )

    def _compute_claimed(self, row: JobRow) -> bool:
        start_time = time.monotonic()
        columns = self.compute_result(row)
        if columns is None:
            get_leased_rows(row).delete()
            return True
        duration = datetime.timedelta(seconds=time.monotonic() - start_time)
        now = timezone.now()
        n_updated = get_leased_rows(row).update(
            **columns,
            computed_at=now,
            paused_until=now + self._get_cooldown(duration),
            pending=False,
            lease="",
            leased_until=None,
        )
        if not n_updated:
            logger.info("%s %s is in other hands now, or gone", row._meta.verbose_name, row.pk)
        return bool(n_updated)

    def _get_cooldown(self, duration: datetime.timedelta) -> datetime.timedelta:
        return min(max(COOLDOWN_FACTOR * duration, self.min_cooldown), MAX_COOLDOWN)

    def sweep(self) -> None:
        """Compute all pending rows that no worker has claimed.

        The failure of one row is logged and does not stop the others.
        """
        pending = (
            self._get_manager()
            .filter(build_unclaimed_filter(), pending=True)
            .order_by("requested_at")
        )
        if not pending.exists():
            return
        self._expire_requests()
        for row_id in list(pending.values_list("pk", flat=True)):
            try:
                self.compute(row_id)
            except Exception:
                name = self.rows.model._meta.verbose_name
                logger.exception("%s %s failed; the next sweep tries again", name, row_id)

    def _expire_requests(self) -> None:
        """Cancel requests that have expired, and delete those without a result."""
        if self.expires_after is None:
            return
        cutoff = timezone.now() - self.expires_after
        expired = self._get_manager().filter(pending=True, requested_at__lt=cutoff)
        expired.filter(**{f"{self.result_field}__isnull": True}).delete()
        expired.update(pending=False)

    def _get_manager(self) -> Manager[JobRow]:
        return self.rows.model._default_manager


def delete_least_recently_requested(rows: QuerySet[Any], *, keep: int) -> None:
    """Delete ``rows`` beyond the ``keep`` most recently requested, at most DELETE_BATCH_SIZE."""
    ids = rows.order_by("-requested_at", "-id").values_list("pk", flat=True)
    ids_to_delete = list(ids[keep : keep + DELETE_BATCH_SIZE])
    rows.model._default_manager.filter(pk__in=ids_to_delete).delete()
