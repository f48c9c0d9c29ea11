"""The latest comparison of the people who rate a question, which a worker stores as one row.

Pages of thousands of raters read it at once (quality.rater_status.recomputation computes it).
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from django.db.models import F

from metrics.agreement.rater_quality import between_raters
from metrics.results.findings import RaterDifference, get_other_raters, get_outlying_raters
from projects.models import Question
from quality.models import RaterConfusion, StoredRaterComparison

BODY_FORMAT = 12  # version of the stored body; bodies of older releases are ignored
MIN_ITEMS = 30  # compared items below which a rater's result is not interpreted


class ComparedRater(NamedTuple):
    """Stored result of one rater.

    ``n_items``: items that others rated too; value, low, high, se: kappa with the others; ``bias``,
    ``bias_low``, ``bias_high``: mean difference from the others on the same items, None on nominal
    scales; ``is_biased``: it differs from that of the other raters
    (rater_quality.between_raters). ``category``: index of the rater's most frequent category;
    ``share``: its share in their answers; ``peers``: its share in the others' answers on the same
    items; ``contrast``: the same three of the category whose two shares differ most; ``level``:
    distance from the median level without the levels of the others, None where the bias is within
    chance; ``repeats_answer``: see between_raters.find_repeating_raters; ``has_one_answer``: the
    same, also where the others hardly give other answers; ``is_scattered``: a bias leaves most of
    the disagreement (between_raters.select_scattered_raters).
    """

    rater: int
    n_ratings: int
    n_items: int
    value: float | None
    low: float | None
    high: float | None
    se: float | None
    bias: float | None
    bias_low: float | None
    bias_high: float | None
    is_biased: bool
    seconds: float | None
    category: int
    share: float
    peers: float
    contrast: tuple[int, float, float]
    level: float | None = None
    repeats_answer: bool = False
    is_reversed: bool = False
    has_one_answer: bool = False
    is_scattered: bool = False

    @property
    def has_enough_items(self) -> bool:
        """Return whether the kappa is defined, and based on at least MIN_ITEMS items."""
        return self.value is not None and self.n_items >= MIN_ITEMS


class RaterComparison(NamedTuple):
    """Comparison of all raters of a question.

    ``middle``: median kappa of the raters with enough items, None with fewer than three;
    ``spread``: standard deviation of one item in the funnel; ``weights``: weighting of all kappas
    here, that of the headline; ``higher_is_harsher``: whether higher categories are those of harsh
    raters, None where no label says so; ``outlying``: the raters who agree less with the others
    than these do with each other, on the same items; ``not_outlying``: the other raters of whom
    this was tested; ``labels``: the active categories in declared order; ``impacts``: {rater id:
    impact}, read with the comparison.
    """

    computed_at: datetime.datetime | None
    weights: str
    middle: float | None
    spread: float | None
    raters: dict[int, ComparedRater]
    higher_is_harsher: bool | None = None
    outlying: Mapping[int, RaterDifference] = MappingProxyType({})
    not_outlying: Mapping[int, RaterDifference] = MappingProxyType({})
    labels: Sequence[str] = ()
    impacts: Mapping[int, float] = MappingProxyType({})

    @property
    def funnel(self) -> between_raters.Funnel | None:
        """Return the funnel of the raters, or None with too few of them."""
        if self.middle is None or self.spread is None:
            return None
        return between_raters.Funnel(self.middle, self.spread)

    def is_below_funnel(self, rater: int) -> bool:
        """Return whether the rater's kappa is lower than chance explains, with enough items."""
        result = self.raters.get(rater)
        if self.funnel is None or result is None or not result.has_enough_items:
            return False
        low, _high = self.funnel.compute_limits(np.array([result.n_items]))
        return result.value is not None and result.value < float(low[0])

    def get_main_answer(self, rater: int) -> str:
        """Return the label of the rater's most frequent answer; "" without a result."""
        result = self.raters.get(rater)
        if result is None or result.category >= len(self.labels):
            return ""
        return self.labels[result.category]

    def get_impact(self, rater: int) -> float | None:
        """Return the expected number of the rater's wrong ratings; near misses count in part.

        None while their items have no labels yet (quality.consensus).
        """
        return self.impacts.get(rater)


def get_comparison(question: Question) -> RaterComparison:
    """Return the latest comparison; an empty one before the first."""
    return get_comparisons([question])[question.pk]


def get_comparisons(questions: Collection[Question]) -> dict[int, RaterComparison]:
    """Return {question id: its latest comparison}, in two queries."""
    rows = StoredRaterComparison.objects.filter(question__in=questions)
    rows = rows.annotate(findings=F("question__diagnosis__findings"))
    stored = {row.question_id: row for row in rows}
    impacts: dict[int, dict[int, float]] = {}
    confusions = RaterConfusion.objects.filter(question__in=questions).order_by()
    for question_id, rater_id, impact in confusions.values_list(
        "question_id", "rater_id", "impact"
    ):
        impacts.setdefault(question_id, {})[rater_id] = impact
    return {
        question.pk: _parse_comparison(question, stored.get(question.pk))._replace(
            impacts=impacts.get(question.pk, {})
        )
        for question in questions
    }


def _parse_comparison(question: Question, row: Any) -> RaterComparison:
    """Return the comparison of a stored row; an empty one if it is None or of another format."""
    if row is None or row.body.get("format") != BODY_FORMAT:
        return RaterComparison(None, question.weights, None, None, {})
    raters = {values[0]: ComparedRater(*values) for values in row.body["raters"]}
    body = row.body
    return RaterComparison(
        row.computed_at,
        body["weights"],
        body["middle"],
        body["spread"],
        raters,
        body["higher_is_harsher"],
        get_outlying_raters(row.findings or []),
        get_other_raters(row.findings or []),
        body["labels"],
    )
