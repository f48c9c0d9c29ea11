"""Peer counts -> each rater's agreement with peers: ever, and per day, week and month of the
rater's own ratings.

Ever, weeks and months are stored; single days, which are many and seldom looked at, are read off
the counts (of_days).
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from operator import itemgetter
from statistics import median
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from groundwork.database import bulk
from metrics import periods
from metrics.agreement.counts.additive import MOMENTS_UP_TO
from metrics.agreement.estimate import Estimate
from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.agreement.weights import CUSTOM, WEIGHTINGS, weighted
from metrics.counting import store
from metrics.counting.store import Whose
from metrics.models import ALL_START, EVER, PeerTally, RaterReading, Span
from metrics.scale import QuestionScale
from projects.models import Question, Rater
from ratings.models import NOTHING, Rating
from ratings.recording.days import date_of

from .value import mean_of_pairs, resting_on

STORED = (Span.WEEK.value, Span.MONTH.value)  # beside Span.ALL
ROWS_AT_ONCE = 4_000
# newest ratings of a rater of which the median seconds are taken: so many say how long it takes now
TIMED = 500
RATERS_AT_ONCE = 5  # where workers share the raters of a question
MANY_DAYS = 500  # from here on a range of days is asked for, not each by name
_COLUMNS = ("rater_id", "day", "n_items", "n_ratings", "width", "table", "moments")


def refresh_some(question_id: int, scale: QuestionScale) -> bool | None:
    """Make the readings of raters whose peer counts moved, of about ROWS_AT_ONCE days. None: there
    are none; else whether there are more.

    Under the question's lock, in its transaction.
    """
    stale = PeerTally.objects.filter(question_id=question_id, stale=True)
    rows = list(stale.order_by("rater_id", "day").values_list("rater_id", "day")[:ROWS_AT_ONCE])
    if not rows:
        return None
    moved: dict[int, list[int]] = {}
    for rater, day in rows:
        moved.setdefault(rater, []).extend([day] if day != EVER else [])
    make(Whose.one(question_id), moved, scale)
    if len(rows) < ROWS_AT_ONCE:  # all of them: nobody else marks any while the lock is held
        stale.update(stale=False)
        return False
    *whole, last = moved
    stale.filter(rater__in=whole).update(stale=False)
    stale.filter(rater=last, day__lte=rows[-1][1]).update(stale=False)
    return stale.exists()


def refresh_whole(question_id: int, scale: QuestionScale) -> bool:
    """Make the stale readings of a few raters whom no other worker has in hand; False when there
    are none.

    To be called by several workers at once, each in a transaction that keeps the counts from
    moving. A rater's row of all days together is the lock.
    """
    stale = PeerTally.objects.filter(question_id=question_id, stale=True)
    free = (
        stale.filter(day=EVER)
        .select_for_update(skip_locked=True, of=("self",))
        .order_by("rater_id")
    )
    raters = list(free.values_list("rater_id", flat=True)[:RATERS_AT_ONCE])
    if not raters:
        return False
    moved: dict[int, list[int]] = {rater: [] for rater in raters}
    for rater, day in (
        stale.filter(rater__in=raters).exclude(day=EVER).values_list("rater_id", "day")
    ):
        moved[rater].append(day)
    make(Whose.one(question_id), moved, scale)
    stale.filter(rater__in=raters).update(stale=False)
    return True


def make(whose: Whose, moved: Mapping[int, Collection[int]], scale: QuestionScale) -> None:
    """``moved``: rater -> the days that moved. Only the periods that contain one of them are made
    anew."""
    if not moved:
        return
    whole = periods.whole(sorted({day for days in moved.values() for day in days}))
    wanted = Q(day__in=[EVER, *whole])
    if len(whole) >= MANY_DAYS:
        wanted = Q(day=EVER) | Q(day__gte=whole[0], day__lte=whole[-1])
    tallies = PeerTally.objects.filter(wanted, question__in=whose.questions, rater__in=list(moved))
    sums = _Sums.of(tallies.values_list(*_COLUMNS), scale)
    ever = sums.keys[:, 1] == EVER
    parts: list[tuple[str, _Sums]] = [(Span.ALL, sums.at(ever))]
    daily = sums.at(~ever)
    for span in STORED:
        keys = [(rater, start) for rater, own in moved.items() for start in _starts(own, span)]
        parts.append((span, daily.by(span).only(keys)))
    pairwise = mean_pairwise_by_rater(whose.questions, list(moved))
    _save(whose, parts, scale=scale, pairwise=pairwise)
    _save_seconds(whose, list(moved))


def _save_seconds(whose: Whose, raters: list[int]) -> None:
    """The median seconds of those whose newest rating was timed; two queries more for each of these
    alone."""
    # A sum, so that SQLite takes the index of the rater's own ratings: by that of the question it
    # would walk through all ratings for each rater.
    own = Rating.objects.alias(asked=F("question") + 0)
    own = own.filter(asked__in=whose.questions, code__gt=NOTHING).order_by("-changed_at", "-id")
    newest = Subquery(own.filter(rater=OuterRef("pk")).values("seconds")[:1])
    timed = Rater.objects.filter(pk__in=raters).annotate(newest=newest).filter(newest__isnull=False)
    for rater in timed.values_list("pk", flat=True):
        seconds = [
            one
            for one in own.filter(rater=rater).values_list("seconds", flat=True)[:TIMED]
            if one is not None
        ]
        row = RaterReading.objects.filter(
            question=whose.question(rater), rater=rater, span=Span.ALL
        )
        row.update(seconds=median(seconds))


def _starts(days: Collection[int], span: str) -> list[int]:
    return np.unique(periods.starts(np.array(list(days), np.int64), span)).tolist()


@dataclass(frozen=True)
class _Sums:
    """Peer counts by (rater, first day of a period): keys (G, 2), ascending, and the arrays of
    agreement.peers."""

    keys: np.ndarray
    tables: np.ndarray
    moments: np.ndarray | None
    n_items: np.ndarray
    n_ratings: np.ndarray

    @classmethod
    def of(cls, tallies: Iterable[tuple[Any, ...]], scale: QuestionScale) -> _Sums:
        """Rows of _COLUMNS of one question, each a (rater, day) of its own."""
        rows = sorted(tallies, key=itemgetter(0, 1))
        width = scale.width
        widths, keep = [row[4] for row in rows], width <= MOMENTS_UP_TO
        tables = store.stacked([row[5] for row in rows], widths, width, axes=2)
        moments = store.stacked([row[6] for row in rows], widths, width, axes=3) if keep else None
        numbers = np.array([row[:4] for row in rows], np.int64).reshape(-1, 4)
        return cls(numbers[:, :2], tables, moments, numbers[:, 2], numbers[:, 3])

    @classmethod
    def joined(cls, parts: list[_Sums]) -> _Sums:
        """One after the other."""
        each: list[Any] = [[getattr(part, field.name) for part in parts] for field in fields(cls)]
        joined: list[Any] = [
            None if arrays[0] is None else np.concatenate(arrays) for arrays in each
        ]
        return cls(*joined)

    def by(self, span: str) -> _Sums:
        """Summed over the days of each period."""
        starts = np.stack([self.keys[:, 0], periods.starts(self.keys[:, 1], span)], axis=1)
        keys, first = np.unique(starts, axis=0, return_index=True)
        if not len(keys):
            return self
        moments = None if self.moments is None else np.add.reduceat(self.moments, first)
        sums = (
            np.add.reduceat(part, first) for part in (self.tables, self.n_items, self.n_ratings)
        )
        tables, n_items, n_ratings = sums
        return _Sums(keys, tables, moments, n_items, n_ratings)

    def only(self, keys: list[tuple[int, int]]) -> _Sums:
        """The sums of these (rater, start) alone."""
        wanted = set(keys)
        return self.at(np.array([key in wanted for key in map(tuple, self.keys.tolist())], bool))

    def at(self, rows: np.ndarray) -> _Sums:
        """The rows that are True."""
        moments = None if self.moments is None else self.moments[rows]
        return _Sums(
            self.keys[rows], self.tables[rows], moments, self.n_items[rows], self.n_ratings[rows]
        )

    def estimates(
        self, scale: QuestionScale, names: Collection[str] | None = None
    ) -> dict[str, Estimate]:
        """Name -> Estimate (G,), of all coefficients or of those named."""
        tables = scale.ordered(self.tables, axes=2)
        moments = None if self.moments is None else scale.ordered(self.moments, axes=3)
        return scale.peers(tables, moments, self.n_items, names=names)


def _save(
    whose: Whose,
    parts: list[tuple[str, _Sums]],
    *,
    scale: QuestionScale,
    pairwise: dict[int, dict[str, Any]],
) -> None:
    """The readings of all spans in one go: the formulas are vectorised, a call costs as much as a
    thousand rows."""
    spans = [str(span) for span, sums in parts for _ in sums.keys]
    sums = _Sums.joined([sums for _, sums in parts])
    estimates = sums.estimates(scale)
    moment = connection.ops.adapt_datetimefield_value(timezone.now())
    rows, gone = [], []
    each = zip(*(estimate.readings() for estimate in estimates.values()), strict=True)
    for index, (span, (rater, start), found) in enumerate(
        zip(spans, sums.keys.tolist(), each, strict=True)
    ):
        date = ALL_START if span == Span.ALL else date_of(start)
        if not sums.n_ratings[index]:
            gone.append((rater, span, date))
            continue
        readings, details = dict(zip(estimates, found, strict=True)), {}
        if span == Span.ALL:
            readings |= means_beside(readings, pairwise[rater])
            details = {"table": scale.ordered(sums.tables[index], axes=2).tolist()}
        rows.append(
            _row(
                whose.question(rater),
                rater,
                span,
                date,
                int(sums.n_ratings[index]),
                readings,
                details,
                moment,
            )
        )
    key = ("question_id", "span", "rater_id", "start")
    columns = (*key, "n_ratings", "coefficients", "details", "computed_at")
    bulk.upsert("metrics_raterreading", columns, rows, key=key)
    for rater, span, date in gone:
        RaterReading.objects.filter(
            question=whose.question(rater), rater_id=rater, span=span, start=date
        ).delete()


def days_of(question: Question, rater: Rater) -> QuerySet[PeerTally]:
    """The counts of the rater's single days on which a rating of theirs stands."""
    return PeerTally.objects.filter(question=question, rater=rater, day__gt=EVER, n_ratings__gt=0)


def of_days(
    days: QuerySet[PeerTally], scale: QuestionScale, names: Sequence[str]
) -> list[tuple[Any, ...]]:
    """(date, READING of each name) of days of one rater (``days_of``, a bounded part of it), oldest
    first; one query.

    The same formulas on the same counts as the stored readings of weeks and months, so the same
    numbers. A day is as new as the counts: between counting and refreshing (a moment; up to a
    minute while a backlog is counted) it holds ratings that its week does not hold yet and that the
    page still tells as not in the numbers. A rater of whom nothing was read yet has no page to show
    a day on.
    """
    return _of_days(days.values_list(*_COLUMNS), scale, names)


def of_days_each(
    days: QuerySet[PeerTally], scales: Mapping[int, QuestionScale], names: Mapping[int, str]
) -> dict[int, list[tuple[datetime.date, Any]]]:
    """The same of several questions by their ids, a rater and a name each; one query."""
    rows = sorted(days.values_list("question_id", *_COLUMNS), key=itemgetter(0))
    return {
        question: _of_days([row for _, *row in found], scales[question], [names[question]])
        for question, found in groupby(rows, key=itemgetter(0))
    }


def _of_days(
    rows: Iterable[Any], scale: QuestionScale, names: Sequence[str]
) -> list[tuple[Any, ...]]:
    sums = _Sums.of(rows, scale)
    if not len(sums.keys):
        return []
    estimates = sums.estimates(scale, names)
    dates = map(date_of, sums.keys[:, 1].tolist())
    return list(zip(dates, *(estimates[name].readings() for name in names), strict=True))


def _row(
    question_id: int, rater: int, span: str, date: datetime.date, *rest: Any
) -> tuple[Any, ...]:
    n_ratings, readings, details, moment = rest
    start = connection.ops.adapt_datefield_value(date)
    values = (n_ratings, store.json_text(readings), store.json_text(details), moment)
    return (question_id, span, rater, start, *values)


def means_beside(readings: dict[str, Any], means: dict[str, Any]) -> dict[str, Any]:
    """A rater's means over pairs, which rest on what the readings against the peers rest on."""
    return resting_on(means, readings["vs_peers"])


def mean_pairwise_by_rater(
    questions: Sequence[int], raters: list[int]
) -> dict[int, dict[str, Any]]:
    """Rater -> {"mean_pairwise_kappa": READING, ...}: the mean of the rater's defined kappas with
    each other rater."""
    if not raters:
        return {}
    kappas = [f"kappa_{name}" for name in WEIGHTINGS]
    columns, sums = (
        ", ".join(kappas),
        ", ".join(f"SUM({kappa}), COUNT({kappa})" for kappa in kappas),
    )
    # By hand, for it is asked after every change: the ORM needs two queries, and longer to build
    # them than they take.
    sides, values = [], []
    of_questions, ids = bulk.among("question_id", questions)
    for side in ("rater_a_id", "rater_b_id"):
        condition, wanted = bulk.among(side, raters)
        sides.append(
            f"SELECT {side} AS rater, {columns} FROM metrics_pairtally WHERE {of_questions} AND "
            f"{condition}"
        )
        values += [*ids, *wanted]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT rater, {sums} FROM ({' UNION ALL '.join(sides)}) AS met GROUP BY rater", values
        )
        found = {
            rater: list(zip(row[::2], row[1::2], strict=True)) for rater, *row in cursor.fetchall()
        }
    alone = [(None, 0)] * len(kappas)
    return {rater: _mean_readings(found.get(rater, alone)) for rater in raters}


def _mean_readings(sums: list[tuple[float | None, int]]) -> dict[str, Any]:
    """Of the sum and the number of the defined kappas, for each of WEIGHTINGS."""
    readings: dict[str, Any] = {}
    for name, (total, pairs) in zip(WEIGHTINGS, sums, strict=True):
        if name == CUSTOM and not pairs:
            continue
        mean = (total or 0.0) / pairs if pairs else None
        readings[weighted(MEAN_PAIRWISE, name)] = mean_of_pairs(mean, pairs)
    return readings
