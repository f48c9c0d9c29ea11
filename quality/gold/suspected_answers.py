"""Gold answers that raters' answers make suspect, and the leads' reviews of them.

Suspicion is computed for gold of a single category from people's answers
(metrics.agreement.rater_quality.gold.find_suspect_gold). Answers of an exam count once it is
passed: a rater who fails it is no evidence against its gold. A suspected answer is excluded from
all scores until a lead decides. One that a lead has kept is not suspected again until another
answer replaces it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from itertools import accumulate
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from metrics.agreement.rater_quality import gold as formulas
from metrics.question_scale import QuestionScale
from projects.models import GoldAnswer
from projects.services import gold as gold_services
from quality.models import GoldItem, GoldReview
from quality.settings_changes import find_reason_error

from .answers import CurrentGold, GoldResponse

MAX_REASON_LENGTH = 4_000  # characters
# Prior accuracy of a rater without other gold: right 4 times in 5 (as in find_suspect_gold).
PRIOR_RIGHT, PRIOR = 4, 5


class InvalidGoldReview(Exception):
    """The review cannot be stored; the message says why."""


def _get_categories(gold_of_item: Mapping[int, CurrentGold]) -> dict[int, int]:
    """Return {item id: category index} of the gold answers that name a single category."""
    categories = ((item_id, gold.single_category) for item_id, gold in gold_of_item.items())
    return {item_id: category for item_id, category in categories if category is not None}


def _group_codes_of_people(
    responses: Sequence[GoldResponse],
    items: Container[int],
    passed_exam_answers: Container[tuple[int, int]],
) -> dict[int, dict[int, int]]:
    """Return {item id: {rater id: code}} of people's responses to the items.

    Of answers in exams, only those of passed exams count.
    """
    codes_of_people: dict[int, dict[int, int]] = {}
    for response in responses:
        is_evidence = not response.is_exam or (response.rater, response.item) in passed_exam_answers
        if response.is_human and response.item in items and is_evidence:
            codes_of_people.setdefault(response.item, {})[response.rater] = response.code
    return codes_of_people


def build_gold_items(
    gold_of_item: Mapping[int, CurrentGold],
    responses: Sequence[GoldResponse],
    scale: QuestionScale,
    *,
    question_id: int,
    pass_mark: float,
    passed_exam_answers: Container[tuple[int, int]],
) -> list[GoldItem]:
    """Return an unsaved GoldItem for each current gold answer, ordered by item.

    ``passed_exam_answers``: (rater id, item id) of the answers in passed exams.
    """
    category_of_item = _get_categories(gold_of_item)
    codes_of_people = _group_codes_of_people(responses, category_of_item, passed_exam_answers)
    suspects = {}
    if scale.k > 1:
        suspects = formulas.find_suspect_gold(codes_of_people, category_of_item, scale.k)
    tally = _count_right_answers(codes_of_people, category_of_item)
    answers = _RightAnswersInOrder(gold_of_item, responses)
    exposures = Counter(response.item for response in responses)
    rows = []
    for item_id, gold in sorted(gold_of_item.items()):
        is_right = answers.list_right_answers(item_id)
        n_others = answers.count_others(item_id)
        row = GoldItem(
            gold_id=gold.id,
            question_id=question_id,
            item_id=item_id,
            exposures=exposures[item_id],
            right=sum(is_right),
            leaked=bool(gold.right) and formulas.is_answer_known_among_raters(is_right, n_others),
        )
        if item_id in suspects:
            suspect, codes = suspects[item_id], codes_of_people.get(item_id, {})
            _set_suspicion(row, suspect, scale, is_confirmed=gold.is_confirmed)
            accuracies = _compute_other_accuracies(gold.single_category, codes, tally)
            _set_passing_rater_counts(
                row, codes, accuracies, pass_mark=pass_mark, likely_code=suspect.likely_code
            )
        rows.append(row)
    return rows


def _set_suspicion(
    row: GoldItem, suspect: formulas.SuspectGold, scale: QuestionScale, *, is_confirmed: bool
) -> None:
    """Set the probability that the gold answer is wrong, and the category that is likely right.

    ``is_confirmed``: a lead has kept the answer, which is then not suspected.
    """
    row.probability, row.n_people = suspect.probability, suspect.n_raters
    row.likely_code = int(scale.codes[suspect.likely_code])
    row.suspected = suspect.is_suspect and not is_confirmed


class _RightAnswersInOrder:
    """Right and wrong answers to scored gold, in the order in which answers were given."""

    def __init__(
        self, gold_of_item: Mapping[int, CurrentGold], responses: Sequence[GoldResponse]
    ) -> None:
        self.positions_of_item: dict[int, list[int]] = {}
        scored = [response for response in responses if gold_of_item[response.item].right]
        for position, response in enumerate(scored):
            self.positions_of_item.setdefault(response.item, []).append(position)
        self.is_right = [response.code in gold_of_item[response.item].right for response in scored]
        self.n_right = [0, *accumulate(self.is_right)]  # before each position

    def list_right_answers(self, item_id: int) -> list[bool]:
        """Return whether each answer to this item is right; empty without answers."""
        return [self.is_right[position] for position in self.positions_of_item.get(item_id, ())]

    def count_others(self, item_id: int) -> formulas.RightAnswers:
        """Return how many answers to other items are right, before and after a moment.

        The moment is the last answer of the first third of those to this item. All counts
        are zero if the item has fewer than three answers.
        """
        own = self.positions_of_item.get(item_id, [])
        first = len(own) // 3
        if not first:
            return formulas.RightAnswers()
        split = own[first - 1] + 1
        right = self.list_right_answers(item_id)
        return formulas.RightAnswers(
            n_before=split - first,
            right_before=self.n_right[split] - sum(right[:first]),
            n_after=len(self.is_right) - split - (len(own) - first),
            right_after=self.n_right[-1] - self.n_right[split] - sum(right[first:]),
        )


def _set_passing_rater_counts(
    row: GoldItem,
    codes: Mapping[int, int],
    accuracies: Mapping[int, float],
    *,
    pass_mark: float,
    likely_code: int,
) -> None:
    """Count the raters who reach the pass mark on other gold, and those of them with likely_code.

    ``codes``: {rater id: code of the answer}; ``accuracies``: {rater id: accuracy on other gold}.
    """
    for rater_id, code in codes.items():
        if accuracies[rater_id] >= pass_mark:
            row.n_passing += 1
            row.n_passing_likely += code == likely_code


def _compute_other_accuracies(
    item_gold: int | None, codes: Mapping[int, int], tally: Mapping[int, tuple[int, int]]
) -> dict[int, float]:
    """Return {rater id: accuracy on gold other than this item's}, shrunk toward a prior.

    ``item_gold``: category index of the item's gold; ``codes``: {rater id: answer to the item};
    ``tally``: {rater id: (right answers, answers)} on all gold. The prior is that of
    find_suspect_gold.
    """
    accuracies = {}
    for rater_id, code in codes.items():
        right, n = tally[rater_id]
        accuracies[rater_id] = (right - (code == item_gold) + PRIOR_RIGHT) / (n - 1 + PRIOR)
    return accuracies


def _count_right_answers(
    codes_of_people: Mapping[int, Mapping[int, int]], category_of_item: Mapping[int, int | None]
) -> dict[int, tuple[int, int]]:
    """Return {rater id: (right answers, answers)} on gold of a single category."""
    counts: dict[int, tuple[int, int]] = {}
    for item_id, codes in codes_of_people.items():
        for rater_id, code in codes.items():
            right, n = counts.get(rater_id, (0, 0))
            counts[rater_id] = (right + (code == category_of_item[item_id]), n + 1)
    return counts


@transaction.atomic
def create_review(*, gold: GoldAnswer, verdict: str, reason: str = "", by: Any) -> GoldReview:
    """Store a lead's verdict to keep or retire a current gold answer, and return the review.

    Raises InvalidGoldReview, without changes, for an unknown verdict, a reason that is too long,
    and a gold answer that is no longer current.
    """
    if verdict not in GoldReview.Verdict.values:
        raise InvalidGoldReview(_("Choose an action."))
    if problem := find_reason_error(reason, max_length=MAX_REASON_LENGTH):
        raise InvalidGoldReview(problem)
    gold_services.lock_gold_answers(gold.question)
    if not GoldAnswer.objects.in_force().filter(pk=gold.pk).exists():
        raise InvalidGoldReview(_("This gold answer isn’t active."))
    if verdict == GoldReview.Verdict.RETIRE:
        gold_services.retire_gold_answer(item=gold.item, question=gold.question, by=by)
    else:
        GoldItem.objects.filter(gold=gold).update(suspected=False)
    return GoldReview.objects.create(
        gold=gold,
        verdict=verdict,
        reason=reason,
        evidence=_get_evidence(gold),
        by=by,
        created_at=timezone.now(),
    )


def _get_evidence(gold: GoldAnswer) -> dict[str, object]:
    """Return {column: value} of the gold item's statistics, which the review stores."""
    columns = (
        "exposures",
        "right",
        "probability",
        "n_people",
        "likely_code",
        "n_passing",
        "n_passing_likely",
    )
    return GoldItem.objects.filter(gold=gold).values(*columns).first() or {}
