"""Slices: what a page shows of some ratings alone, asked for by the page, computed by a worker from
the ratings and kept in a row (core.jobs.on_demand)."""

from __future__ import annotations

import datetime
import hashlib
import logging
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError
from django.utils import timezone

from core.jobs.on_demand import AskedWork, forget_oldest
from metrics.counting.store import json_text
from metrics.filters import Filter
from metrics.models import CountState, Slice
from projects.models import Question

from . import bodies

logger = logging.getLogger(__name__)

FORMAT = 4  # of the bodies: a page never reads one that an older release wrote
KEPT = 40  # slices of a question


@dataclass(frozen=True)
class Wanted:
    """What a slice is of: its kind, the filter, one or two raters, and scores."""

    kind: str
    filter: Filter
    raters: tuple[int, ...] = ()
    scores: str = ""  # what gives the categories numbers (metrics.results.scores)

    @property
    def spec(self) -> dict[str, Any]:
        found = self.filter.spec | ({"raters": list(self.raters)} if self.raters else {})
        return found | ({"scores": self.scores} if self.scores else {})

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
    rows = Slice.objects.filter(question=question, key=wanted.key)
    if wanted.kind != Slice.Kind.CHOICES:
        rows = rows.defer("body")
    row = rows.first()
    try:
        if row is None:
            return _ask_first(question, wanted)
        current = (version, question.project.catalogue_version)
        WORK.ask_again(row, behind=lambda: (row.version, row.catalogue) != current)
    except OperationalError as error:
        logger.warning(
            "slice %s of question %s was not asked for (%s)", wanted.kind, question.pk, error
        )
    return row or Slice(
        question=question,
        key=wanted.key,
        kind=wanted.kind,
        spec=wanted.spec,
        asked_at=timezone.now(),
    )


def _ask_first(question: Question, wanted: Wanted) -> Slice:
    row, new = WORK.ask(
        question=question,
        key=wanted.key,
        defaults={"kind": wanted.kind, "spec": wanted.spec},
    )
    if new:
        # What one can filter by stays: every filtered page asks for it.
        others = Slice.objects.filter(question=question).exclude(kind=Slice.Kind.CHOICES)
        forget_oldest(others, kept=KEPT)
    return row


def _made(row: Slice) -> dict[str, Any]:
    # Read first: a count that goes on meanwhile makes the body old, not wrong.
    version = 0 if row.kind == Slice.Kind.CHOICES else CountState.version_of(row.question_id)
    return {
        "body": bodies.made(row),
        "version": version,
        "catalogue": row.question.project.catalogue_version,
    }


WORK = AskedWork(
    rows=Slice.objects.select_related("question__project").defer("body"),
    result="body",
    task="metrics.tasks.compute_slice",
    make=_made,
    shortest_rest=datetime.timedelta(seconds=2),
    forgotten_after=datetime.timedelta(hours=1),
)
