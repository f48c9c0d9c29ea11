"""Slices: asked for by a page, computed by a worker from the ratings, kept in a row (models.Slice).

The row says what is left to do: ``waiting`` is cleared in the statement that stores the body, and
the sweep computes what no hint reached. A slice is computed again when somebody asks for it and the
numbers moved, after a rest that grows with what computing it takes; the least recently asked ones
go.
"""

from __future__ import annotations

import datetime
import hashlib
import logging
import time
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError
from django.db.models import Q
from django.utils import timezone

from groundwork.work.starting import start_task
from metrics.counting.store import json_text
from metrics.filters import Filter
from metrics.models import CountState, Slice
from projects.models import Question

from . import slice_bodies

logger = logging.getLogger(__name__)

FORMAT = 1  # of the bodies: a page never reads one that an older release wrote
KEPT = 40  # slices of a question
REST = 10  # times as long as computing took; then it takes a tenth of a worker at most,
# within these bounds
SHORTEST, LONGEST = datetime.timedelta(seconds=2), datetime.timedelta(minutes=10)
CLAIM = datetime.timedelta(minutes=10)  # after this a worker that claimed a slice counts as dead
ASKED = datetime.timedelta(minutes=1)  # asked_at is written no more often
FORGOTTEN = datetime.timedelta(hours=1)  # what nobody has asked for since is not computed


@dataclass(frozen=True)
class Wanted:
    """What a slice is of: its kind, the filter, and one or two raters."""

    kind: str
    filter: Filter
    raters: tuple[int, ...] = ()

    @property
    def spec(self) -> dict[str, Any]:
        return self.filter.spec | ({"raters": list(self.raters)} if self.raters else {})

    @property
    def key(self) -> str:
        return hashlib.sha256(
            json_text([FORMAT, self.kind, sorted(self.spec.items())]).encode()
        ).hexdigest()


def ask(question: Question, wanted: Wanted, *, version: int) -> Slice:
    """The stored slice, or a new one that waits; an old one is computed anew. ``version``:
    CountState.version of now.

    Its body, which may be large, is read from the database when somebody looks at it; that of
    choices at once. A page must not fail because a full or busy database takes no question: then
    nothing is asked, until the page asks again.
    """
    now = timezone.now()
    rows = Slice.objects.filter(question=question, key=wanted.key)
    if wanted.kind != Slice.Kind.CHOICES:
        rows = rows.defer("body")
    row = rows.first() or Slice(
        question=question, key=wanted.key, kind=wanted.kind, spec=wanted.spec, asked_at=now
    )
    try:
        _ask(row, now, (version, question.project.catalogue_version))
    except OperationalError as error:
        logger.warning(
            "slice %s of question %s was not asked for (%s)", row.kind, question.pk, error
        )
    return row


def _ask(row: Slice, now: datetime.datetime, current: tuple[int, int]) -> None:
    """Make the row, or note that it is asked for and, when it is behind ``current`` and has rested,
    that it waits."""
    if row.pk is None:
        fields = {"kind": row.kind, "spec": row.spec, "asked_at": now}
        made, new = Slice.objects.get_or_create(question=row.question, key=row.key, defaults=fields)
        row.pk = made.pk
        if new:
            _forget_oldest(row.question)
            start_task("metrics.tasks.compute_slice", row.pk)
        return
    if now - row.asked_at > ASKED:
        Slice.objects.filter(pk=row.pk).update(asked_at=now)
    behind = (row.version, row.catalogue) != current
    if behind and not row.waiting and (row.rests_until is None or row.rests_until <= now):
        row.waiting = True
        if Slice.objects.filter(pk=row.pk, waiting=False).update(waiting=True, asked_at=now):
            start_task("metrics.tasks.compute_slice", row.pk)


def _forget_oldest(question: Question) -> None:
    others = Slice.objects.filter(question=question).exclude(kind=Slice.Kind.CHOICES)
    oldest = others.order_by("-asked_at", "-id").values_list("pk", flat=True)[KEPT : KEPT + 100]
    Slice.objects.filter(pk__in=list(oldest)).delete()


def compute(slice_id: int) -> bool:
    """Compute a waiting slice; False when none waits under this id, or another worker is at it."""
    now, started = timezone.now(), time.monotonic()
    waiting = Slice.objects.filter(pk=slice_id, waiting=True)
    if not waiting.filter(Q(claimed_at=None) | Q(claimed_at__lt=now - CLAIM)).update(
        claimed_at=now
    ):
        return False
    try:
        row = Slice.objects.select_related("question__project").defer("body").get(pk=slice_id)
        # Read first: a count that goes on meanwhile makes the body old, not wrong.
        version = 0 if row.kind == Slice.Kind.CHOICES else count_version(row.question_id)
        body = slice_bodies.made(row)
        rest = datetime.timedelta(seconds=REST * (time.monotonic() - started))
        done = timezone.now()
        Slice.objects.filter(pk=slice_id).update(
            body=body,
            version=version,
            catalogue=row.question.project.catalogue_version,
            computed_at=done,
            rests_until=done + min(max(rest, SHORTEST), LONGEST),
            waiting=False,
            claimed_at=None,
        )
    except Exception:
        Slice.objects.filter(pk=slice_id).update(claimed_at=None)
        raise
    return True


def count_version(question_id: int) -> int:
    return CountState.objects.filter(pk=question_id).values_list("version", flat=True).first() or 0


def sweep() -> None:
    """Compute the waiting slices that somebody asked for lately; a failure of one does not keep the
    others waiting."""
    now = timezone.now()
    waiting = Slice.objects.filter(waiting=True)
    forgotten = waiting.filter(asked_at__lt=now - FORGOTTEN)
    forgotten.filter(body__isnull=True).delete()
    forgotten.update(waiting=False)
    free = waiting.filter(Q(claimed_at=None) | Q(claimed_at__lt=now - CLAIM))
    for slice_id in list(free.order_by("asked_at").values_list("pk", flat=True)):
        try:
            compute(slice_id)
        except Exception:
            logger.exception("slice %s failed; the next sweep tries again", slice_id)
