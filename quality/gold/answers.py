"""The gold answers of a question and what raters said of their items."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Exists, OuterRef

from metrics.scale import QuestionScale
from projects.models import GoldAnswer, Question, Rater
from quality.models import GoldReview
from ratings.models import Apart, Assignment, Rating
from ratings.services.days import day_of

ROWS_AT_ONCE = 20_000


@dataclass(frozen=True)
class Gold:
    """A gold answer in force. ``right`` are the places, among the declared categories, of those
    that are right; empty of shares, and of categories that are retired: such gold is not scored."""

    id: int
    item: int
    right: frozenset[int]
    shares: bool
    kept: bool  # a lead looked at it and says that it is right

    @property
    def single(self) -> int | None:
        """The one category that is right."""
        return next(iter(self.right)) if len(self.right) == 1 else None


@dataclass(frozen=True)
class Said:
    """What a rater says of an item that has gold: a standing rating, or ``apart`` from these, when
    the desk asked it as hidden gold or in an exam. ``code`` is the place among the declared
    categories, ``day`` counts from 1970-01-01 in the project's time zone."""

    item: int
    rater: int
    human: bool
    code: int
    day: int
    at: datetime.datetime
    apart: bool = False
    exam: bool = False


def golds_of(question: Question, scale: QuestionScale) -> dict[int, Gold]:
    """Item id -> its gold answer in force."""
    places = {int(code): place for place, code in enumerate(scale.codes)}
    kept = GoldReview.objects.filter(gold=OuterRef("pk"), verdict=GoldReview.Verdict.KEEP)
    rows = GoldAnswer.objects.in_force().filter(question=question).annotate(kept=Exists(kept))
    found = {}
    for pk, item, answer, is_kept in rows.values_list("pk", "item_id", "answer", "kept"):
        codes = answer if isinstance(answer, list) else []
        right = frozenset(places[code] for code in codes if code in places)
        found[item] = Gold(pk, item, right, isinstance(answer, dict), is_kept)
    return found


def said_of(question: Question, scale: QuestionScale) -> list[Said]:
    """All that raters say of items with gold, in the order in which it was given. Who rated an item
    that was hidden gold for them too, by a file perhaps, says what they said there."""
    gold = GoldAnswer.objects.in_force().filter(question=question).values("item")
    apart = Apart.objects.filter(why__in=(Assignment.Why.GOLD, Assignment.Why.EXAM))
    found = [*_rows(apart, question, scale, gold), *_rows(Rating.objects, question, scale, gold)]
    first: dict[tuple[int, int], Said] = {}
    for one in found:
        first.setdefault((one.item, one.rater), one)
    return sorted(first.values(), key=lambda one: one.at)


def _rows(rows: Any, question: Question, scale: QuestionScale, items: Any) -> Iterator[Said]:
    places = {int(code): place for place, code in enumerate(scale.codes)}
    zone = ZoneInfo(question.project.time_zone)
    is_apart = rows.model is Apart
    chosen = rows.standing().filter(question=question, item__in=items).order_by("rated_at", "id")
    columns = ["item_id", "rater_id", "rater__kind", "code", "rated_at"]
    columns += ["why"] if is_apart else []
    listed = chosen.values_list(*columns).iterator(ROWS_AT_ONCE)
    for item, rater, kind, code, at, *why in listed:
        if code in places:
            human = kind == Rater.Kind.HUMAN
            exam = why == [Assignment.Why.EXAM]
            yield Said(item, rater, human, places[code], day_of(at, zone), at, is_apart, exam)
