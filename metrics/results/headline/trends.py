"""Trend of the headline by period, and the test of the change between the last two periods.

Patterns hold the coefficients of all raters together. The agreement of two raters is that of either
with the others, of whom there is one; so their trend is computed from the peer counts of the first
of the two, by the later of the days of both ratings (rater_periods). An intraclass correlation of
more raters needs the margins of each rater in every period, which no count holds: alpha is shown
instead, and pages say so.

The change is tested by permuting items: Fleiss' kappa of the items whose second rating came in the
last week with enough items is compared with that of the week before, or else of months. If no
item's pattern depends on its week, every assignment of the items to the two weeks is equally
likely; so each test finds a change with a probability of at most 5%, whatever the prevalence and
the number of items.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from statistics import NormalDist
from typing import Any

import numpy as np
from django.db.models import Q, QuerySet

from metrics import periods
from metrics.agreement.coefficients import fleiss
from metrics.agreement.coefficients.intraclass.icc import icc_of_two_raters
from metrics.agreement.comparison.before_after import permutation_p_value
from metrics.agreement.estimate import to_finite_float
from metrics.agreement.headline import COHEN, ICCS, HeadlineFacts, choose_headline, get_weighting
from metrics.agreement.weights import UNWEIGHTED, get_weighted_name
from metrics.counting import store
from metrics.models import PairTally, PatternTally, PeerTally, PeriodUnit, Population, Result
from metrics.question_scale import QuestionScale
from metrics.results import rater_periods
from metrics.results.patterns import AllTimePatterns, GroupedPatterns
from metrics.results.stored_values import build_icc_value
from projects.models import Question, Rater
from ratings.services.rating_timestamps import EPOCH, date_from_day

HEADLINE_KEYS = (
    "name",
    "why",
    "trend_coefficient",
    "weights",
    "population",
    "n_people",
    "n_models",
    "complete",
)


def get_headline(question: Question, scale: QuestionScale) -> Mapping[str, Any]:
    """Return the stored headline; before there are results, the choice by the rules.

    It has HEADLINE_KEYS and `displayed_coefficient`: the coefficient of its trend. `n_models` is
    the number of models that are counted separately.
    """
    rows = Result.objects.filter(question=question, period_unit=PeriodUnit.ALL)
    columns = [f"headline__{name}" for name in (*HEADLINE_KEYS, "value__reason")]
    stored = rows.values(*columns).first()
    if stored is not None and stored["headline__name"]:
        stored_headline = {name: stored[f"headline__{name}"] for name in HEADLINE_KEYS}
        two_raters = is_two_rater_headline(stored_headline, stored["headline__value__reason"])
        return stored_headline | {
            "displayed_coefficient": stored_headline["name"]
            if two_raters
            else stored_headline["trend_coefficient"]
        }
    facts = HeadlineFacts(scale.kind, 0, scale.weights)
    choice = choose_headline(facts, choice=scale.chosen_headline)
    return {
        "name": choice.name,
        "why": choice.reason,
        "trend_coefficient": choice.trend_name,
        "weights": facts.weighting,
        "population": "people",
        "n_people": 0,
        "n_models": 0,
        "complete": False,
        "displayed_coefficient": choice.trend_name,
    }


def is_two_rater_headline(stored_headline: Mapping[str, Any], reason: str | None) -> bool:
    """Return True if the headline is of two raters, so that one rater's peer counts give its trend.

    ``reason``: why the headline is undefined, or None.
    """
    if stored_headline["name"] in ICCS:
        people, models = stored_headline["n_people"], stored_headline["n_models"]
        n_raters = {"people": people, "models": models, "all": people + models}[
            stored_headline["population"]
        ]
        return bool(stored_headline["complete"] and n_raters == 2)
    return is_two_rater_coefficient(stored_headline["name"]) and reason != "needs_two_raters"


def is_two_rater_coefficient(name: str) -> bool:
    """Return True if the trend of the coefficient is computed from one rater's peer counts."""
    return name.startswith(COHEN) or name in ICCS


def get_peer_kappa_name(name: str) -> str:
    """Return the name of a rater's kappa with the peers, with the weights of this coefficient."""
    return get_weighted_name("vs_peers", get_weighting(name))


# (first day of the period, Value)
TrendPoints = list[tuple[datetime.date, Any]]


def get_icc_trend(
    question: Question,
    scale: QuestionScale,
    span: str,
    name: str,
    *,
    newest: int = 0,
    after: datetime.date = datetime.date.min,
    size: int = 0,
) -> TrendPoints:
    """Return the trend of an intraclass correlation of two raters, oldest first.

    It has the ``newest`` periods, or the first ``size`` periods after the day ``after``. One query
    reads the peer counts, of no more days than these periods can have.
    """
    rater = get_trend_rater(question)
    if rater is None:
        return []
    if newest:
        days = rater_periods.filter_newest_days(
            question, rater, span, newest, days=rater_periods.COMPARED_DAYS
        )
    else:
        days = rater_periods.filter_days_after(
            question,
            rater,
            span,
            start=after,
            number=size,
            days=rater_periods.COMPARED_DAYS,
        )
    rows = sorted(days.values_list("day", "width", "table"), key=itemgetter(0))
    points = _compute_icc_points(rows, scale, span, name)
    if newest:
        return points[-newest:]
    return [row for row in points if row[0] > after][:size]


def get_icc_trends(
    days: QuerySet[PeerTally],
    span: str,
    scales: Mapping[int, QuestionScale],
    names: Mapping[int, str],
) -> dict[int, TrendPoints]:
    """Return {question id: trend of an intraclass correlation of two raters}; one query.

    ``days``: the peer counts of one rater of each question; ``names``: coefficients by question id.
    """
    rows = sorted(days.values_list("question_id", "day", "width", "table"), key=itemgetter(0, 1))
    return {
        question_id: _compute_icc_points(
            [row for _, *row in question_rows], scales[question_id], span, names[question_id]
        )
        for question_id, question_rows in groupby(rows, key=itemgetter(0))
    }


def _compute_icc_points(
    rows: Collection[Sequence[Any]], scale: QuestionScale, span: str, name: str
) -> TrendPoints:
    """Return the trend points of a correlation of two raters; none where categories have no values.

    ``rows``: (day, width, table) of one of the two raters, oldest first.
    """
    if not rows or scale.values is None:
        return []
    days, widths, blobs = zip(*rows, strict=True)
    start_days, first_indices = np.unique(
        periods.compute_start_days(np.array(days), span), return_index=True
    )
    daily = store.decode_arrays(blobs, widths, scale.width, axes=2)
    tables = scale.reorder_to_declared(np.add.reduceat(daily, first_indices), axes=2)
    points = []
    for start_day, table in zip(start_days.tolist(), tables, strict=True):
        n_items = int(table.sum())
        icc = icc_of_two_raters(table, scale.values)[name]
        points.append(
            (date_from_day(start_day), build_icc_value(icc, n_items=n_items, n_ratings=2 * n_items))
        )
    return points


def get_trend_rater(question: Question) -> Rater | None:
    """Return that one of two raters whose peer counts give the trend; None without two raters.

    Of two people it is the first; of a person and a model it is the model, because every rater is
    compared with people.
    """
    return get_trend_raters([question.pk]).get(question.pk)


def get_trend_raters(questions: Collection[int]) -> dict[int, Rater]:
    """Return {question id: trend rater}, as `get_trend_rater` chooses it; one query."""
    pairs = PairTally.objects.filter(question__in=questions).order_by("rater_a", "rater_b")
    pairs = pairs.select_related("rater_a", "rater_b").defer("table")
    pair_by_question: dict[int, PairTally] = {}
    for pair in pairs:
        current = pair_by_question.setdefault(pair.question_id, pair)
        if _count_people(pair) == 2 > _count_people(current):
            pair_by_question[pair.question_id] = pair
    return {
        question_id: pair.rater_b
        if pair.rater_a.kind == Rater.Kind.HUMAN != pair.rater_b.kind
        else pair.rater_a
        for question_id, pair in pair_by_question.items()
    }


def _count_people(pair: PairTally) -> int:
    return [pair.rater_a.kind, pair.rater_b.kind].count(Rater.Kind.HUMAN)


def get_headline_weighting(question: Question, scale: QuestionScale) -> str:
    """Return the weighting of the stored headline; before there is one, the question's own."""
    results = Result.objects.filter(question=question, period_unit=PeriodUnit.ALL)
    weights: str | None = results.values_list("headline__weights", flat=True).first()
    return weights if weights in scale.list_weightings() else question.weights


SPANS = (PeriodUnit.WEEK.value, PeriodUnit.MONTH.value)
MAX_PERIODS = 24  # newest weeks and months, together, among which the last two are searched
ERROR_RATE = 0.05  # probability that one test finds a change that is due to chance
MIN_Z = 1.5  # standard errors; a smaller change is never clear, so that nothing is permuted

CLUSTER_Z = NormalDist().inv_cdf(1 - ERROR_RATE / 2)  # standard errors, of items in clusters

Patterns = tuple[np.ndarray, np.ndarray]


def find_recent_change(all_time: AllTimePatterns) -> list[Mapping[str, Any]]:
    """Return a list of one finding, the change between the last two periods, or an empty list.

    It is empty without two periods of enough items. The finding compares people only, unless models
    are pooled or are the only raters. Figures: span, first days, numbers of items, and weighting ->
    [value before, value after, whether the change is more than chance].
    """
    population = Population.PEOPLE if all_time.is_people_only else Population.ALL
    column = "headline__people" if all_time.is_people_only else "coefficients"
    rows = Result.objects.filter(question=all_time.question_id, period_unit__in=SPANS)
    sizes = rows.order_by("-start").values_list(
        "period_unit", "start", f"{column}__percent_agreement__n_items"
    )[:MAX_PERIODS]
    last_two = _choose_periods(list(sizes))
    if last_two is None:
        return []
    span, before_start, after_start = last_two
    before, after = (
        _load_period(all_time, population, span, start) for start in (before_start, after_start)
    )
    changes = {}
    for name, matrix in all_time.scale.build_weight_matrices().items():
        weights = None if name == UNWEIGHTED else matrix
        coefficient = get_weighted_name("fleiss_kappa", name)
        effect = all_time.clusters.get_effect(coefficient) if all_time.clusters else 1.0
        changes[coefficient] = compare_periods(before, after, weights, effect=effect)
    figures = {
        "span": span,
        "before": before_start.isoformat(),
        "after": after_start.isoformat(),
        "n_items": [int(n_items.sum()) for _counts, n_items in (before, after)],
        "changes": changes,
    }
    return [{"name": "recent_change", "figures": figures}]


def compare_periods(
    before: Patterns, after: Patterns, weights: np.ndarray | None, *, effect: float = 1.0
) -> list[float | bool | None]:
    """Return [Fleiss' kappa before, kappa after, whether the change is more than chance].

    A kappa is None where it is undefined. ``before``, ``after``: patterns (P, k) and their numbers
    of items (P,); ``weights`` (k, k) or None; ``effect``: the design effect of clusters. The change
    must exceed a multiple of its standard error and pass a permutation test. The multiple is larger
    with clusters, which that test ignores.
    """
    estimates = [fleiss.fleiss_kappa(*patterns, weights=weights) for patterns in (before, after)]
    values = [to_finite_float(estimate.value) for estimate in estimates]
    if values[0] is None or values[1] is None:
        return [*values, False]
    error = float(np.hypot(*(estimate.se for estimate in estimates)))
    critical_z = MIN_Z if effect == 1 else CLUSTER_Z * effect**0.5
    if not abs(values[1] - values[0]) > critical_z * error:
        return [*values, False]
    p = permutation_p_value(before, after, weights)
    return [*values, p is not None and p <= ERROR_RATE]


def _choose_periods(
    sizes: list[tuple[str, datetime.date, int | None]],
) -> tuple[str, datetime.date, datetime.date] | None:
    """Return the span and the first days of its last two periods with enough items, or None.

    ``sizes``: span, first day and number of items, newest first.
    """
    for span in SPANS:
        starts = [
            start
            for unit, start, n_items in sizes
            if unit == span and (n_items or 0) >= periods.MIN_ITEMS
        ]
        if len(starts) >= 2:
            return span, starts[1], starts[0]
    return None


def _load_period(
    all_time: AllTimePatterns, population: str, span: str, start: datetime.date
) -> Patterns:
    """Return the comparable patterns of one period, and their numbers of items."""
    first, end = ((day - EPOCH).days for day in (start, periods.get_end_date(start, span)))
    rows = PatternTally.objects.filter(
        Q(day__gte=first, day__lt=end), question_id=all_time.question_id, population=population
    )
    scale = all_time.scale
    parts = [
        store.decode_patterns(row, scale.width, separate_models=all_time.is_people_only)
        for row in rows
    ]
    patterns = GroupedPatterns.from_code_counts(
        np.concatenate([counts for counts, _n_items in parts]), scale
    )
    counts = patterns.people if all_time.is_people_only else patterns.pooled
    n_items = np.concatenate([n_items for _counts, n_items in parts])
    is_comparable = counts.sum(axis=1) >= 2
    return counts[is_comparable], n_items[is_comparable]
