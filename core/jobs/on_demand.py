"""Work that a page asks a worker for: what takes too long for a request. A row says what is asked
for and keeps the result.

The row also says what is left to do. ``waiting`` is cleared in the statement that stores the
result, a task is started for it, and the sweep finds what no task reached. Of several workers one
claims the row. A result is made anew when somebody asks for it and it is behind, after a rest that
grows with what making it takes. Of what is asked for, the least recent goes.
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
from django.db.models import Manager, QuerySet
from django.utils import timezone

from .dispatch import start_task
from .lease import Leased, free, give_back, held, take_lease

logger = logging.getLogger(__name__)

# After this a worker that claimed a row counts as dead. Long: it may have died of the row's size.
PATIENCE = datetime.timedelta(minutes=10)
NOTED_EVERY = datetime.timedelta(minutes=1)  # asked_at is written no more often
# A row rests so many times as long as making its result took: that takes a tenth of a worker then.
REST_FACTOR = 10
LONGEST_REST = datetime.timedelta(minutes=10)
DELETED_AT_ONCE = 100


class Asked(Leased):
    """The columns of a row that pages ask for. A model adds what is asked for, and the result."""

    waiting = models.BooleanField(default=True)
    asked_at = models.DateTimeField()
    computed_at = models.DateTimeField(null=True, blank=True)
    rests_until = models.DateTimeField(null=True, blank=True)  # not computed again before

    class Meta:
        abstract = True


Row = TypeVar("Row", bound=Asked)


@dataclass(frozen=True)
class AskedWork(Generic[Row]):
    """One kind of work that pages ask for."""

    rows: QuerySet[Row]  # as ``make`` wants to read them
    result: str  # the column of the result
    task: str  # the name of the task that calls ``compute`` with a row's number
    # The columns to be stored, the result among them; None when the row is of no use any more.
    make: Callable[[Row], dict[str, Any] | None]
    shortest_rest: datetime.timedelta
    # What nobody has asked for since so long is not computed. None: it is computed all the same.
    forgotten_after: datetime.timedelta | None = None

    def ask(self, **which: Any) -> tuple[Row, bool]:
        """The row of ``which`` (its key, and ``defaults``), and whether it was made just now: then
        it waits, and a task is started."""
        which["defaults"] = {"asked_at": timezone.now(), **which.get("defaults", {})}
        row, new = self._all().get_or_create(**which)
        if new:
            start_task(self.task, row.pk)
        return row, new

    def ask_again(self, row: Row, *, behind: Callable[[], bool]) -> None:
        """Note that somebody asks for a stored row. When it has rested and is ``behind``, it waits
        from now on, and a task is started."""
        now = timezone.now()
        if now - row.asked_at > NOTED_EVERY:
            self._all().filter(pk=row.pk).update(asked_at=now)
        rests = row.rests_until is not None and row.rests_until > now
        if row.waiting or rests or not behind():
            return
        row.waiting = True
        if self._all().filter(pk=row.pk, waiting=False).update(waiting=True, asked_at=now):
            start_task(self.task, row.pk)

    def compute(self, number: int) -> bool:
        """Compute a waiting row; False when none waits under this number, or another worker has it.
        Raises what ``make`` raises; another worker may take the row at once then."""
        row = self.claim(number)
        if row is None:
            return False
        try:
            return self._compute(row)
        except BaseException:
            with suppress(DatabaseError):  # else its time runs out
                give_back(row)
            raise

    def claim(self, number: int) -> Row | None:
        """The waiting row of this number, in our hands; None when there is none, or another worker
        has it."""
        waiting = self._all().filter(free(), pk=number, waiting=True)
        lease = take_lease(waiting, leased_until=timezone.now() + PATIENCE)
        if lease is None:
            return None
        return self.rows.filter(pk=number, lease=lease).first()

    def _compute(self, row: Row) -> bool:
        started = time.monotonic()
        made = self.make(row)
        if made is None:
            held(row).delete()
            return True
        took = datetime.timedelta(seconds=time.monotonic() - started)
        now = timezone.now()
        stored = held(row).update(
            **made,
            computed_at=now,
            rests_until=now + self._rest(took),
            waiting=False,
            lease="",
            leased_until=None,
        )
        if not stored:
            logger.info("%s %s is in other hands now, or gone", row._meta.verbose_name, row.pk)
        return bool(stored)

    def _rest(self, took: datetime.timedelta) -> datetime.timedelta:
        return min(max(REST_FACTOR * took, self.shortest_rest), LONGEST_REST)

    def sweep(self) -> None:
        """Compute all waiting rows that no worker has; a failure of one does not keep the others
        waiting."""
        self._forget()
        waiting = self._all().filter(free(), waiting=True).order_by("asked_at")
        for number in list(waiting.values_list("pk", flat=True)):
            try:
                self.compute(number)
            except Exception:
                name = self.rows.model._meta.verbose_name
                logger.exception("%s %s failed; the next sweep tries again", name, number)

    def _forget(self) -> None:
        """What nobody has asked for since long does not wait any more; without a result it goes."""
        if self.forgotten_after is None:
            return
        before = timezone.now() - self.forgotten_after
        forgotten = self._all().filter(waiting=True, asked_at__lt=before)
        forgotten.filter(**{f"{self.result}__isnull": True}).delete()
        forgotten.update(waiting=False)

    def _all(self) -> Manager[Row]:
        return self.rows.model._default_manager


def forget_oldest(rows: QuerySet[Any], *, kept: int) -> None:
    """Delete all of ``rows`` but the ``kept`` that were asked for last."""
    numbers = rows.order_by("-asked_at", "-id").values_list("pk", flat=True)
    oldest = list(numbers[kept : kept + DELETED_AT_ONCE])
    rows.model._default_manager.filter(pk__in=oldest).delete()
