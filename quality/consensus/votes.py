"""Input of consensus labels: ratings, and codes fixed by decisions and gold answers."""

from __future__ import annotations

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


def get_fixed_codes(question: Question) -> FixedCodes:
    """Return the codes fixed by decisions and gold answers."""
    return FixedCodes(decided=get_decided_codes(question.pk), gold=get_gold_codes(question.pk))


def get_gold_codes(question_id: int) -> dict[int, int]:
    """Return {item id: code} of current gold answers that allow exactly one category."""
    answers = GoldAnswer.objects.filter(question_id=question_id, retired_at=None)
    codes = {}
    for item_id, answer in answers.values_list("item_id", "answer"):
        if isinstance(answer, list) and len(answer) == 1:
            codes[item_id] = answer[0]
    return codes


def get_decided_codes(question_id: int) -> dict[int, int]:
    """Return {item id: code} of the current decisions, without withdrawn ones."""
    rows = Decision.objects.filter(question_id=question_id).order_by("number")
    newest: dict[int, int | None] = {}
    for item_id, code in rows.values_list("item_id", "code"):
        newest[item_id] = code
    return {item_id: code for item_id, code in newest.items() if code is not None}


def get_items_decided_since(question_id: int, decision_id: int) -> set[int]:
    """Return the ids of items with a decision newer than the one with this id."""
    newer = Decision.objects.filter(question_id=question_id, pk__gt=decision_id)
    return set(newer.values_list("item_id", flat=True))
