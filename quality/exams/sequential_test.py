"""What the answers of an exam tell: Wald's sequential test. The desk asks (ratings.annotation.assignments.exams)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metrics.agreement.rater_quality import gold
from quality.models import GoldItem
from ratings.annotation.assignments.exams import Holder, Verdict


def judge(answers: Sequence[bool], test: Mapping[str, Any]) -> Verdict | None:
    """None while the answers tell too little. ``chance`` is that of the error that the outcome may
    be: where the test reached a limit the one that it promises, where it came to its end undecided
    the exact one of the whole exam."""
    found = gold.exam(answers, **test)
    if found.outcome == "undecided":
        return None
    by_limit = gold.exam(answers, **{**test, "most": len(answers) + 1}).outcome != "undecided"
    if found.outcome == "passed":
        exact = gold.exam_passes(test["p_fail"], **test)
        return Verdict("passed", test["alpha"] if by_limit else exact)
    exact = 1 - gold.exam_passes(test["p_pass"], **test)
    return Verdict("failed", test["beta"] if by_limit else exact)


def doubted(question_id: int) -> set[int]:
    """The items whose gold answer is suspected: whoever misses those may be right."""
    rows = GoldItem.objects.filter(question=question_id, suspected=True)
    return set(rows.values_list("item_id", flat=True))


HOLDER = Holder(judge, doubted)
