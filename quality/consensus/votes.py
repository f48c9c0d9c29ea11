"""Input of consensus labels: ratings, and codes fixed by decisions and gold answers."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import numpy as np

from projects.models import GoldAnswer, Question, Rater
from quality.models import Decision
from ratings.models import Rating

CHUNK_SIZE = 20_000

VOTE_DTYPE = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i8")])


@dataclass(frozen=True)
class FixedCodes:
    """Codes of items that a decision or gold answer fixes: {item id: code}."""

    decided: dict[int, int]
    gold: dict[int, int]

    @property
    def codes(self) -> dict[int, int]:
        """All fixed codes; a decision takes precedence over a gold answer."""
        return self.gold | self.decided


def load_votes(question: Question, *, with_models: bool) -> np.ndarray:
    """Return the current ratings of a question as an array of VOTE_DTYPE.

    By people only, or ``with_models``; ordered by item and rater.
    """
    ratings = Rating.objects.current().filter(question=question)
    if not with_models:
        ratings = ratings.filter(rater__kind=Rater.Kind.HUMAN)
    rows = ratings.order_by("item_id", "rater_id").values_list("item_id", "rater_id", "code")
    return np.fromiter(rows.iterator(chunk_size=CHUNK_SIZE), dtype=VOTE_DTYPE)


def get_fixed_codes(question: Question, *, moment: datetime.datetime | None = None) -> FixedCodes:
    """Return the codes fixed by decisions and gold answers, now or at a past moment."""
    return FixedCodes(
        decided=get_decided_codes(question.pk, moment), gold=get_gold_codes(question.pk, moment)
    )


def get_gold_codes(question_id: int, moment: datetime.datetime | None = None) -> dict[int, int]:
    """Return {item id: code} of gold answers that allow exactly one category."""
    gold = GoldAnswer.objects
    answers = gold.in_force() if moment is None else gold.in_force_at(moment)
    codes = {}
    rows = answers.filter(question_id=question_id).values_list("item_id", "answer")
    for item_id, answer in rows:
        if isinstance(answer, list) and len(answer) == 1:
            codes[item_id] = answer[0]
    return codes


def get_decided_codes(question_id: int, moment: datetime.datetime | None = None) -> dict[int, int]:
    """Return {item id: code} of each item's newest decision, of those up to ``moment``.

    Items whose newest decision was withdrawn are left out.
    """
    rows = Decision.objects.filter(question_id=question_id).order_by("number")
    if moment is not None:
        rows = rows.filter(created_at__lte=moment)
    newest: dict[int, int | None] = {}
    for item_id, code in rows.values_list("item_id", "code"):
        newest[item_id] = code
    return {item_id: code for item_id, code in newest.items() if code is not None}


def get_items_decided_since(question_id: int, decision_id: int) -> set[int]:
    """Return the ids of items with a decision newer than the one with this id."""
    newer = Decision.objects.filter(question_id=question_id, pk__gt=decision_id)
    return set(newer.values_list("item_id", flat=True))
