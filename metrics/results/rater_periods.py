"""Results of raters against their peers by day, week and month.

A rating counts in the period in which it can first be compared: that of the rating itself, or of
the first rating of a peer where that came later.

Computed from the counts of the days on request. There are many periods, and they are seldom viewed:
storing them for many raters with few shared items took most of the time of processing a rating. The
same formulas on the same counts as the stored result of all days, so the numbers agree. A period is
as new as the counts: between counting and refreshing (a moment; up to a minute while a backlog is
counted) it contains ratings that the result of all days does not contain yet, and that the page
still shows as not included. A rater without a result yet has no page that shows a period.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from django.db.models import Exists, Max, Q, QuerySet, Sum

from metrics import periods
from metrics.agreement.counts.tally import PeerTables
from metrics.models import ALL_DAYS, PeerTally
from metrics.question_scale import QuestionScale
from metrics.results.rater_results import (
    COLUMNS,
    WITHOUT_MOMENTS,
    decode_peer_tables,
    sum_by_period,
)
from projects.models import Question, Rater
from ratings.models import ImportRun
from ratings.services.rating_timestamps import EPOCH, date_from_day

# --- days of the periods

COMPARED_DAYS = Q(n_items__gt=0)  # on which ratings could first be compared
RATED_DAYS = Q(n_ratings__gt=0)  # on which ratings were given


def filter_days(
    question: Question, raters: Collection[int], days: Q = COMPARED_DAYS | RATED_DAYS
) -> QuerySet[PeerTally]:
    """Return the raters' peer counts of days when ratings were given or first comparable.

    ``raters``: ids; ``days``: COMPARED_DAYS, RATED_DAYS or both.
    """
    return PeerTally.objects.filter(days, question=question, rater__in=raters, day__gt=ALL_DAYS)


def filter_newest_days(
    question: Question,
    rater: Rater,
    span: str,
    number: int,
    *,
    days: Q = COMPARED_DAYS | RATED_DAYS,
) -> QuerySet[PeerTally]:
    """Return the rater's rows of the newest ``number`` periods, and perhaps some of older ones.

    ``days``: COMPARED_DAYS, RATED_DAYS or both.
    """
    rater_days = filter_days(question, [rater.pk], days)
    return rater_days.order_by("-day")[: number * periods.MAX_DAYS[span]]


def filter_days_after(
    question: Question,
    rater: Rater,
    span: str,
    *,
    start: datetime.date,
    number: int,
    days: Q = COMPARED_DAYS | RATED_DAYS,
) -> QuerySet[PeerTally]:
    """Return the days of the first ``number`` periods that begin after ``start``.

    The rows may include days of later periods, and the rest of the period that contains ``start``.
    """
    rater_days = filter_days(question, [rater.pk], days)
    later = rater_days.filter(day__gt=(start - EPOCH).days)
    return later.order_by("day")[: (number + 1) * periods.MAX_DAYS[span]]


def count_periods(
    question: Question,
    rater: Rater,
    span: str,
    *,
    most: int,
    days: Q = COMPARED_DAYS | RATED_DAYS,
) -> int:
    """Return how many periods of this span the rater has, at most ``most``.

    ``days``: COMPARED_DAYS, RATED_DAYS or both.
    """
    newest = filter_newest_days(question, rater, span, most, days=days)
    numbers = np.array(list(newest.values_list("day", flat=True)), np.int64)
    return min(len(np.unique(periods.compute_start_days(numbers, span))), most)


def get_newest_days(questions: Iterable[int]) -> dict[int, datetime.date]:
    """Return {question id: day of its newest counted rating}, without questions that have none.

    It takes one query.
    """
    days = PeerTally.objects.filter(
        question__in=list(questions), day__gt=ALL_DAYS, n_ratings__gt=0
    ).order_by()
    newest = days.values_list("question_id").annotate(Max("day"))
    return {question: date_from_day(day) for question, day in newest}


def count_ratings_since(question: Question, date: datetime.date) -> int:
    """Return the number of counted ratings that were given on this day or later.

    It is 0 if a file was imported since then whose ratings lack times: these have the day of their
    import.
    """
    untimed = ImportRun.filter_untimed(question.project_id).filter(created_at__date__gte=date)
    days = PeerTally.objects.filter(question=question, day__gte=(date - EPOCH).days)
    total: int | None = days.filter(~Exists(untimed)).aggregate(total=Sum("n_ratings"))["total"]
    return total or 0


def has_ratings_before(question: int, date: datetime.date) -> bool:
    """Return whether the question with this id has counted ratings of days before ``date``."""
    days = PeerTally.objects.filter(question=question, day__gt=ALL_DAYS, n_ratings__gt=0)
    return days.filter(day__lt=(date - EPOCH).days).exists()


# --- values of the periods


def list_newest_periods(
    question: Question,
    rater: Rater,
    span: str,
    names: Sequence[str],
    *,
    scale: QuestionScale,
    number: int,
    days: Q = COMPARED_DAYS | RATED_DAYS,
) -> list[tuple[Any, ...]]:
    """Return (first day, Value of each name) of the newest ``number`` periods; one query.

    The oldest comes first.
    """
    newest = filter_newest_days(question, rater, span, number, days=days)
    return _list_period_values(newest.values_list(*COLUMNS), scale, span, names)[-number:]


def list_periods_after(
    question: Question,
    rater: Rater,
    span: str,
    names: Sequence[str],
    *,
    scale: QuestionScale,
    after: datetime.date,
    number: int,
    days: Q = COMPARED_DAYS | RATED_DAYS,
) -> list[tuple[Any, ...]]:
    """Return (first day, Value of each name) of the first ``number`` periods after this day."""
    later = filter_days_after(question, rater, span, start=after, number=number, days=days)
    rows = _list_period_values(later.values_list(*COLUMNS), scale, span, names)
    return [row for row in rows if row[0] > after][:number]


def list_newest_periods_of_raters(
    question: Question,
    raters: Collection[int],
    span: str,
    name: str,
    *,
    scale: QuestionScale,
    number: int,
) -> list[tuple[Any, ...]]:
    """Return the newest ``number`` rows (rater, first day, Value) of all these raters; one query.

    A row is for one period of one rater. The oldest comes first.
    """
    # The oldest periods may belong to all raters; the limit ensures that none of them is cut.
    days = filter_days(question, raters).order_by("-day")
    most = (number + len(raters)) * periods.MAX_DAYS[span]
    peers = decode_peer_tables(days.values_list(*COLUMNS)[:most], scale)
    rows = list_period_values(peers, scale, span, [name])
    return sorted(rows, key=itemgetter(1, 0))[-number:]


def get_recent_values(
    question: Question,
    raters: Collection[int],
    span: str,
    name: str,
    *,
    scale: QuestionScale,
    back: datetime.timedelta,
) -> dict[int, list[tuple[Any, int]]]:
    """Return {rater: (value, number of items) of recent periods, oldest first}; two queries.

    Listed are the periods that begin less than ``back`` before the newest one of all raters.
    """
    days = filter_days(question, raters, COMPARED_DAYS)
    last_day = days.aggregate(last=Max("day"))["last"]
    if last_day is None:
        return {}
    newest_start = int(periods.compute_start_days(np.array([last_day]), span)[0])
    recent = days.filter(day__gt=newest_start - back.days).values_list(*WITHOUT_MOMENTS)
    peers = decode_peer_tables(recent, scale, intervals=False)
    values_by_rater: dict[int, list[tuple[Any, int]]] = {}
    for rater, start, value in list_period_values(peers, scale, span, [name]):
        if start > date_from_day(newest_start) - back:
            values_by_rater.setdefault(rater, []).append((value["value"], value["n_items"]))
    return values_by_rater


def get_trends_by_question(
    days: QuerySet[PeerTally],
    span: str,
    scales: Mapping[int, QuestionScale],
    names: Mapping[int, str],
) -> dict[int, list[tuple[datetime.date, Any]]]:
    """Return {question id: (first day, Value) of each period of these days}; one query.

    ``days``: the peer counts of one rater of each question; ``names``: coefficients by question id.
    """
    rows = sorted(days.values_list("question_id", *COLUMNS), key=itemgetter(0))
    return {
        question_id: _list_period_values(
            [row for _, *row in question_rows], scales[question_id], span, [names[question_id]]
        )
        for question_id, question_rows in groupby(rows, key=itemgetter(0))
    }


def _list_period_values(
    rows: Iterable[Any], scale: QuestionScale, span: str, names: Sequence[str]
) -> list[tuple[Any, ...]]:
    """Return (first day, a Value for each name) of each period; ``rows``: COLUMNS of one rater."""
    peers = decode_peer_tables(rows, scale)
    return [row[1:] for row in list_period_values(peers, scale, span, names)]


def list_period_values(
    peers: PeerTables, scale: QuestionScale, span: str, names: Sequence[str]
) -> list[tuple[Any, ...]]:
    """Return (rater, first day, a Value for each name) of each period, by rater and day.

    ``peers``: tables by rater and day; ``span``: the unit of the periods.
    """
    if peers.day is None or not len(peers):
        return []
    peers = sum_by_period(peers, span)
    estimates = scale.estimate_peers(peers, names=names)
    starts = map(date_from_day, np.asarray(peers.day).tolist())
    value_columns = (estimates[name].to_values() for name in names)
    return list(zip(peers.rater.tolist(), starts, *value_columns, strict=True))
