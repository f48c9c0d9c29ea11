"""What is read first, over time: the coefficient itself, where what is stored holds it period by
period.

Patterns hold the coefficients of all raters together. What two raters say to each other is what
either of them says against the others, of whom there is one; so the counts of the first of the two
are its course, by the days on which that one rated (rater_periods). Of more raters an intraclass
correlation needs the margins of each in every period, which no count holds: alpha stands for it,
and pages say so.
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
from metrics.agreement.coefficients.intraclass.icc import icc_of_table
from metrics.agreement.headline import COHEN, ICCS, Facts, headline, weighting_of
from metrics.agreement.weights import weighted
from metrics.counting import store
from metrics.models import PairTally, PeerTally, Reading, Span
from metrics.results.raters import rater_periods
from metrics.results.values import value_of_icc
from metrics.scale import QuestionScale
from projects.models import Question, Rater
from ratings.services.days import date_of

COLUMNS = "name", "why", "over_time", "weights", "of", "n_people", "n_models", "complete"


def first_of(question: Question, scale: QuestionScale) -> Mapping[str, Any]:
    """What is read first: as stored with the readings, or before there are any what the table gives
    for no raters. `shown`: the coefficient of its trend; `n_models`: of those kept apart."""
    rows = Reading.objects.filter(question=question, span=Span.ALL)
    columns = [f"headline__{name}" for name in (*COLUMNS, "value__reason")]
    found = rows.values(*columns).first()
    if found is not None and found["headline__name"]:
        first = {name: found[f"headline__{name}"] for name in COLUMNS}
        of_two = reads_two(first, found["headline__value__reason"])
        return first | {"shown": first["name"] if of_two else first["over_time"]}
    nobody = Facts(scale.kind, 0, scale.weights)
    chosen = headline(nobody, chosen=scale.chosen)
    return {
        "name": chosen.name,
        "why": chosen.why,
        "over_time": chosen.over_time,
        "weights": nobody.weighting,
        "of": "people",
        "n_people": 0,
        "n_models": 0,
        "complete": False,
        "shown": chosen.over_time,
    }


def reads_two(first: Mapping[str, Any], reason: str | None) -> bool:
    """Whether a headline (Reading.headline) is of two raters, so that one of them has its course;
    `reason`: why it has no value."""
    if first["name"] in ICCS:
        people, models = first["n_people"], first["n_models"]
        rated = {"people": people, "models": models, "all": people + models}[first["of"]]
        return bool(first["complete"] and rated == 2)
    return is_of_two(first["name"]) and reason != "needs_two_raters"


def is_of_two(name: str) -> bool:
    """Whether the trend of this coefficient is read off one of two raters."""
    return name.startswith(COHEN) or name in ICCS


def against_peers(name: str) -> str:
    """What Cohen's kappa is called among the readings of one of the two."""
    return weighted("vs_peers", weighting_of(name))


# (first day of the period, READING)
Course = list[tuple[datetime.date, Any]]


def icc_course(
    question: Question,
    scale: QuestionScale,
    span: str,
    name: str,
    *,
    newest: int = 0,
    after: datetime.date = datetime.date.min,
    size: int = 0,
) -> Course:
    """An intraclass correlation of two raters, oldest first: of the ``newest`` periods, or of
    ``size`` after that day. One query, of no more days than these can have."""
    rater = first_of_two(question)
    if rater is None:
        return []
    if newest:
        days = rater_periods.newest_days(question, rater, span, newest)
    else:
        days = rater_periods.days_after(question, rater, span, start=after, number=size)
    rows = sorted(days.values_list("day", "width", "table"), key=itemgetter(0))
    found = _course(rows, scale, span, name)
    if newest:
        return found[-newest:]
    return [row for row in found if row[0] > after][:size]


def icc_of_each(
    days: QuerySet[PeerTally],
    span: str,
    scales: Mapping[int, QuestionScale],
    names: Mapping[int, str],
) -> dict[int, Course]:
    """The same of the periods of these days, of several questions by their ids, a rater and a name
    each; one query."""
    rows = sorted(days.values_list("question_id", "day", "width", "table"), key=itemgetter(0, 1))
    return {
        question: _course([row for _, *row in found], scales[question], span, names[question])
        for question, found in groupby(rows, key=itemgetter(0))
    }


def _course(rows: Collection[Sequence[Any]], scale: QuestionScale, span: str, name: str) -> Course:
    """Of (day, width, table) of the counts of one of two raters, oldest first."""
    if not rows or scale.values is None:
        return []
    days, widths, blobs = zip(*rows, strict=True)
    begins, first = np.unique(periods.starts(np.array(days), span), return_index=True)
    daily = store.stacked(blobs, widths, scale.width, axes=2)
    tables = scale.ordered(np.add.reduceat(daily, first), axes=2)
    course = []
    for begin, table in zip(begins.tolist(), tables, strict=True):
        n = int(table.sum())
        found = icc_of_table(table, scale.values)[name]
        course.append((date_of(begin), value_of_icc(found, n_items=n, n_ratings=2 * n)))
    return course


def first_of_two(question: Question) -> Rater | None:
    """The rater whose readings are the course of Cohen's kappa: of two people the first, and beside
    a person the model, for whoever rates is compared with people. None before they share an
    item."""
    return first_of_each_two([question.pk]).get(question.pk)


def first_of_each_two(questions: Collection[int]) -> dict[int, Rater]:
    """The same of several questions by their ids; one query."""
    pairs = PairTally.objects.filter(question__in=questions).order_by("rater_a", "rater_b")
    pairs = pairs.select_related("rater_a", "rater_b").defer("table")
    found: dict[int, PairTally] = {}
    for pair in pairs:
        stood = found.setdefault(pair.question_id, pair)
        if _n_people(pair) == 2 > _n_people(stood):
            found[pair.question_id] = pair
    return {
        question: pair.rater_b
        if pair.rater_a.kind == Rater.Kind.HUMAN != pair.rater_b.kind
        else pair.rater_a
        for question, pair in found.items()
    }


def _n_people(pair: PairTally) -> int:
    return [pair.rater_a.kind, pair.rater_b.kind].count(Rater.Kind.HUMAN)
