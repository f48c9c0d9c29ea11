"""The ratings that a consensus is made of, and what is fixed about an item beforehand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from projects.models import GoldAnswer, Question, Rater
from quality.models import Decision
from ratings.models import Rating

ROWS_AT_ONCE = 20_000

VOTE = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i8")])


@dataclass(frozen=True)
class Fixed:
    """Items whose category is known, whatever their raters say: id -> code."""

    decided: dict[int, int]
    gold: dict[int, int]

    @property
    def codes(self) -> dict[int, int]:
        """A decision stands above a gold answer."""
        return self.gold | self.decided


def of_question(question: Question, *, with_models: bool) -> np.ndarray:
    """All standing ratings of a question by people, or by models too, ordered by item and rater.
    Array of VOTE."""
    standing = Rating.objects.standing().filter(question=question)
    if not with_models:
        standing = standing.filter(rater__kind=Rater.Kind.HUMAN)
    columns = standing.order_by("item_id", "rater_id").values_list("item_id", "rater_id", "code")
    return np.fromiter(columns.iterator(chunk_size=ROWS_AT_ONCE), dtype=VOTE)


def fixed_of(question: Question) -> Fixed:
    """What decisions and gold answers say of the items of a question."""
    return Fixed(decided=decided_codes(question.pk), gold=gold_codes(question.pk))


def gold_codes(question_id: int) -> dict[int, int]:
    """item id -> code of the gold answers in force that allow one category alone."""
    answers = GoldAnswer.objects.filter(question_id=question_id, retired_at=None)
    found = {}
    for item, answer in answers.values_list("item_id", "answer"):
        if isinstance(answer, list) and len(answer) == 1:
            found[item] = answer[0]
    return found


def decided_codes(question_id: int) -> dict[int, int]:
    """item id -> code of the decisions that stand. One that was taken back is left out."""
    rows = Decision.objects.filter(question_id=question_id).order_by("number")
    newest: dict[int, int | None] = {}
    for item, code in rows.values_list("item_id", "code"):
        newest[item] = code
    return {item: code for item, code in newest.items() if code is not None}


def decided_since(question_id: int, decision_id: int) -> set[int]:
    """The items of which something was decided after the decision of this id."""
    later = Decision.objects.filter(question_id=question_id, pk__gt=decision_id)
    return set(later.values_list("item_id", flat=True))
