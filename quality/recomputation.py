"""Recomputation: results of a question (labels, scores, alerts) that sweeps keep up to date.

Always from all ratings and from the same start, so that a result is a function of the ratings
alone, in whatever order they arrived. An *input version* identifies what a result is based on in
a few values. When it differs from the current one, the result is outdated. After a recomputation
the question pauses for a time proportional to what it took.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Count, Manager, Max, OuterRef, Subquery
from django.utils import timezone

from core.jobs.lease import LeaseLost, build_unclaimed_filter, claim_lease, release_lease
from metrics.models import CountState
from projects.models import GoldAnswer, Question
from quality.models import RecomputedResult
from ratings.models import CheckAnswer

logger = logging.getLogger(__name__)

ResultRow = TypeVar("ResultRow", bound=RecomputedResult)
InputVersions = dict[int, dict[str, Any]]  # by question; JSON


@dataclass(frozen=True)
class Recomputation:
    """One kind of result: finds outdated questions, claims their rows and recomputes them.

    ``compute``: computes the result of a row whose lease this worker holds; may raise LeaseLost.
    ``list_outdated``: returns the ids of outdated questions, in the order of their computation.
    """

    name: str  # for the log
    model: type[RecomputedResult]
    compute: Callable[[Any], None]
    list_outdated: Callable[[], list[int]]
    pause_factor: float  # pause after a computation, as a multiple of its duration
    max_pause: datetime.timedelta
    lease: datetime.timedelta  # upper limit of a computation; after it the worker counts as dead

    def sweep(self) -> int:
        """Recompute all outdated questions and return how many.

        A failure in one question does not keep the others from being recomputed.
        """
        n_recomputed = 0
        for question_id in self.list_outdated():
            try:
                n_recomputed += self.recompute(question_id)
            except Exception:
                logger.exception(
                    "%s of question %s failed; the next sweep tries again", self.name, question_id
                )
        return n_recomputed

    def recompute(self, question_id: int, *, at_once: bool = False) -> bool:
        """Recompute the result of a question, and return whether this was done.

        It is not while another worker recomputes it, nor during the pause after the last
        computation. ``at_once`` ignores the pause.
        """
        rows: Manager[Any] = self.model._default_manager
        row, _created = rows.get_or_create(question_id=question_id)
        if not at_once and self.is_pausing(row):
            return False
        leased_until = timezone.now() + self.lease
        if (
            claim_lease(
                rows.filter(build_unclaimed_filter(), pk=question_id), leased_until=leased_until
            )
            is None
        ):
            return False
        row.refresh_from_db()
        try:
            self.compute(row)
        except LeaseLost:
            logger.info("Another worker has claimed %s of question %s", self.name, question_id)
            return False
        finally:
            release_lease(row)
        return True

    def is_pausing(self, row: RecomputedResult) -> bool:
        """Return whether the last computation is too recent to compute again.

        The pause lets changes collect; it grows with the duration of the computation, up to
        max_pause.
        """
        if row.computed_at is None:
            return False
        pause = min(
            self.max_pause, datetime.timedelta(seconds=self.pause_factor * row.duration_seconds)
        )
        return timezone.now() < row.computed_at + pause


def list_outdated(model: type[RecomputedResult], versions: InputVersions) -> list[int]:
    """Return ids of questions without a result or with another input version, oldest result first.

    ``versions``: {question id: present input version}.
    """
    row_of_question = {
        row.pk: row for row in model._default_manager.only("input_version", "computed_at")
    }
    outdated = []
    for question_id, version in versions.items():
        row = row_of_question.get(question_id)
        if row is None or row.input_version != version:
            since = row.computed_at.timestamp() if row is not None and row.computed_at else 0.0
            outdated.append((since, question_id))
    return [question_id for _since, question_id in sorted(outdated)]


def get_count_versions(only: int | None = None, **extra_columns: str) -> InputVersions:
    """Return {question id: version of its counts, scale, items and raters}.

    ``only``: the id of one question; None: all questions that were ever counted. ``counted_at``
    changes with the ratings, ``items_and_raters`` with items and the kinds of raters.
    ``extra_columns``: further entries, as name -> lookup path from the question.
    """
    columns = {
        "counted_at": "counted_at",
        "scale": "question__scale_version",
        "items_and_raters": "question__project__items_and_raters_version",
    }
    columns |= {name: f"question__{column}" for name, column in extra_columns.items()}
    states = CountState.objects.filter(**build_question_filter(only))
    versions = {}
    for question_id, *values in states.values_list("question_id", *columns.values()):
        version = dict(zip(columns, values, strict=True))
        counted_at = version["counted_at"]
        version["counted_at"] = counted_at.isoformat() if counted_at else None
        versions[question_id] = version
    return versions


def get_gold_versions(only: int | None = None) -> dict[int, list[int]]:
    """Return {question id: [id of its newest gold answer, number of retired ones]}.

    ``only``: the id of one question; None: all. Questions that never had gold are left out.
    """
    rows = (
        GoldAnswer.objects.filter(**build_question_filter(only))
        .values_list("question_id")
        .order_by()
    )
    versions = {}
    for question_id, newest, retired in rows.annotate(Max("pk"), Count("retired_at")):
        versions[question_id] = [newest, retired]
    return versions


def get_check_answer_versions(question_ids: Iterable[int], kind: str) -> dict[int, int]:
    """Return {question id: id of its newest check answer of this kind}, where there is one."""
    check_answers = (
        CheckAnswer.objects.filter(question=OuterRef("pk"), kind=kind).order_by("-pk").values("pk")
    )
    rows = Question.objects.filter(pk__in=list(question_ids)).annotate(
        newest=Subquery(check_answers[:1])
    )
    return dict(rows.order_by().exclude(newest=None).values_list("pk", "newest"))


def build_question_filter(only: int | None) -> dict[str, int]:
    """Return the keyword arguments that filter a query by one question; for None, {}."""
    return {} if only is None else {"question": only}
