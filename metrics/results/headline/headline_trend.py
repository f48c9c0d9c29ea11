"""Trend of the headline by period, also of coefficients of two raters.

Patterns hold the coefficients of all raters together. The agreement of two raters is that of either
with the others, of whom there is one; so their trend is computed from the peer counts of the first
of the two, by the later of the days of both ratings (rater_periods). An intraclass correlation of
more raters needs the margins of each rater in every period, which no count holds: alpha is shown
instead, and pages say so.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from django.db.models import QuerySet

from metrics import periods
from metrics.agreement.coefficients.intraclass.icc import icc_of_two_raters
from metrics.agreement.headline import COHEN, ICCS, HeadlineFacts, choose_headline, get_weighting
from metrics.agreement.weights import get_weighted_name
from metrics.counting import store
from metrics.models import PairTally, PeerTally, PeriodUnit, Result
from metrics.question_scale import QuestionScale
from metrics.results import rater_periods
from metrics.results.values import build_icc_value
from projects.models import Question, Rater
from ratings.services.rating_times import date_from_day

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

    `displayed_coefficient`: the coefficient of its trend; `n_models`: number of models that
    are counted separately.
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
    """Return the name that Cohen's kappa with the same weights has among a rater's coefficients."""
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
