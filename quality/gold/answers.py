"""The gold answers of a question and what raters said of their items."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from metrics.scale import QuestionScale
from projects.models import GoldAnswer, Question, Rater
from quality.models import GoldReview
from ratings.models import Rating

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
    """A standing rating of an item that has gold. ``code`` is the place among the declared
    categories, ``day`` counts from 1970-01-01 in the project's time zone."""

    item: int
    rater: int
    human: bool
    code: int
    day: int
    at: datetime.datetime


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
    """All standing ratings of items with gold, in the order in which they were given."""
    places = {int(code): place for place, code in enumerate(scale.codes)}
    gold = GoldAnswer.objects.in_force().filter(question=question)
    rows = Rating.objects.standing().filter(question=question, item__in=gold.values("item"))
    columns = ("item_id", "rater_id", "rater__kind", "code", "day", "rated_at")
    found = []
    ordered = rows.order_by("rated_at", "id").values_list(*columns)
    for item, rater, kind, code, day, at in ordered.iterator(chunk_size=ROWS_AT_ONCE):
        if code in places:
            human = kind == Rater.Kind.HUMAN
            found.append(Said(item, rater, human, places[code], day, at))
    return found
