"""Gold answers of a question and raters' answers to their items."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Exists, OuterRef

from metrics.question_scale import QuestionScale
from projects.models import GoldAnswer, Question, Rater
from projects.services.gold import get_right_codes
from quality.models import GoldReview
from ratings.models import Assignment, CheckAnswer, Exam, Rating
from ratings.services.rating_timestamps import day_number

CHUNK_SIZE = 20_000


@dataclass(frozen=True)
class CurrentGold:
    """A current gold answer.

    ``stated``: indexes of the categories that it names; ``right``: those and the ones within the
    tolerance, which count as right. Both are empty for shares and for retired categories: such gold
    is not scored.
    """

    id: int
    item: int
    stated: frozenset[int]
    right: frozenset[int]
    shares: bool
    is_confirmed: bool  # a lead has confirmed it

    @property
    def single_category(self) -> int | None:
        """Return the index of the only category that the answer names; None unless it is one."""
        return next(iter(self.stated)) if len(self.stated) == 1 else None


@dataclass(frozen=True)
class GoldResponse:
    """A rater's answer to an item that has gold.

    A current rating, or a check answer (``is_check``) to hidden gold or in an exam. ``code`` is
    the index of the declared category, ``day`` counts from 1970-01-01 in the project's time zone.
    """

    item: int
    rater: int
    is_human: bool
    code: int
    day: int
    at: datetime.datetime
    is_check: bool = False
    is_exam: bool = False


def get_current_gold(
    question: Question, scale: QuestionScale, *, moment: datetime.datetime | None = None
) -> dict[int, CurrentGold]:
    """Return {item id: gold answer}, as of now (None) or as of a past ``moment``.

    The tolerance is today's even for a past moment: it has no history.
    """
    index_of_code = {int(code): index for index, code in enumerate(scale.codes)}
    confirmations = GoldReview.objects.filter(gold=OuterRef("pk"), verdict=GoldReview.Verdict.KEEP)
    if moment is None:
        rows = GoldAnswer.objects.in_force()
    else:
        rows = GoldAnswer.objects.in_force_at(moment)
        confirmations = confirmations.filter(created_at__lte=moment)
    rows = rows.filter(question=question).annotate(kept=Exists(confirmations))
    positions = dict(enumerate(range(scale.k) if scale.values is None else scale.values.tolist()))
    tolerance = question.effective_gold_tolerance
    gold_of_item = {}
    for pk, item_id, answer, is_kept in rows.values_list("pk", "item_id", "answer", "kept"):
        codes = answer if isinstance(answer, list) else []
        stated = frozenset(index_of_code[code] for code in codes if code in index_of_code)
        right = get_right_codes(stated, positions, tolerance)
        gold_of_item[item_id] = CurrentGold(
            pk, item_id, stated, right, isinstance(answer, dict), is_kept
        )
    return gold_of_item


def list_gold_responses(question: Question, scale: QuestionScale) -> list[GoldResponse]:
    """Return all raters' answers to items with gold, in the order in which they were given.

    Without answers of undeclared categories.
    Where a rater both rated an item and gave a check answer to it, only the check answer counts.
    """
    gold = GoldAnswer.objects.in_force().filter(question=question).values("item")
    check_answers = CheckAnswer.objects.filter(
        kind__in=(Assignment.Kind.GOLD, Assignment.Kind.EXAM)
    )
    responses = [
        *_iter_responses(check_answers, question, scale, gold),
        *_iter_responses(Rating.objects, question, scale, gold),
    ]
    response_of: dict[tuple[int, int], GoldResponse] = {}
    for response in responses:
        response_of.setdefault((response.item, response.rater), response)
    return sorted(response_of.values(), key=lambda response: response.at)


def get_passed_exam_answers(
    question: Question, *, moment: datetime.datetime | None = None
) -> set[tuple[int, int]]:
    """Return (rater id, item id) of the answers in passed exams, now (None) or at ``moment``."""
    exams = Exam.objects.filter(question=question, state=Exam.State.PASSED)
    if moment is not None:
        exams = exams.filter(ended_at__lte=moment)
    rows = exams.values_list("rater_id", "answers")
    return {(rater_id, item_id) for rater_id, answers in rows for item_id, *_rest in answers}


def _iter_responses(
    rows: Any, question: Question, scale: QuestionScale, items: Any
) -> Iterator[GoldResponse]:
    index_of_code = {int(code): place for place, code in enumerate(scale.codes)}
    zone = ZoneInfo(question.project.time_zone)
    is_check = rows.model is CheckAnswer
    selected = rows.current().filter(question=question, item__in=items).order_by("rated_at", "id")
    columns = ["item_id", "rater_id", "rater__kind", "code", "rated_at"]
    columns += ["kind"] if is_check else []
    values = selected.values_list(*columns).iterator(CHUNK_SIZE)
    for item_id, rater_id, rater_kind, code, at, *check_kinds in values:
        if code in index_of_code:
            is_human = rater_kind == Rater.Kind.HUMAN
            is_exam = check_kinds == [Assignment.Kind.EXAM]
            yield GoldResponse(
                item_id,
                rater_id,
                is_human,
                index_of_code[code],
                day_number(at, zone),
                at,
                is_check,
                is_exam,
            )
