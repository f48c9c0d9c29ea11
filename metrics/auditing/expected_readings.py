"""The readings that an audit expects, made anew from a recount, beside those that are stored."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from metrics import periods
from metrics.counting import store
from metrics.models import ALL_START, EVER, CountState, RaterReading, Reading
from metrics.readings import due, raters
from metrics.readings.first import Counted, First
from metrics.readings.groups import Patterns, by_row
from metrics.scale import QuestionScale
from ratings.recording.days import date_of

from .recount import PeerRows, Recount

Readings = dict[Any, Any]


# --- of periods


def readings_of_periods(
    state: CountState, recount: Recount, scale: QuestionScale
) -> tuple[Readings, Readings]:
    """Expected and stored: (span, first day) -> [reading of the period, reading of all until its
    end, what is read first, the people's reading of all until its end]."""
    expected = _expected_of_periods(state, recount, scale)
    stored = {}
    for row in Reading.objects.filter(question_id=state.question_id):
        parts = [row.coefficients, row.cumulative, row.headline, row.people_cumulative]
        stored[row.span, row.start.isoformat()] = parts
    if not recount.n_ratings:
        # what is left when everything was withdrawn: all undefined
        stored.pop(("all", ALL_START.isoformat()), None)
    return expected, stored


def _expected_of_periods(state: CountState, recount: Recount, scale: QuestionScale) -> Readings:
    days, counts, by_day = recount.patterns.by_day()
    if not len(days):
        return {}
    patterns = Patterns.of(counts, scale)
    ever = by_day.sum(axis=0)
    first = First(Counted.of(state, scale), patterns, ever, scale)
    keys = [("all", ALL_START.isoformat())]
    n_items = [ever, ever]  # of each key two: of the period, and of all until its end
    for span in periods.SPANS:
        begins, index = np.unique(periods.starts(days, span), return_inverse=True)
        of_period = np.zeros((len(begins), len(counts)), np.int64)
        np.add.at(of_period, index, by_day)
        until_end = of_period.cumsum(axis=0)
        for place, begin in enumerate(begins.tolist()):
            keys.append((span, date_of(begin).isoformat()))
            n_items += [of_period[place], until_end[place]]
    made = list(patterns.readings(np.stack(n_items), scale, first.over_time))
    expected = {}
    for place, key in enumerate(keys):
        own, until = made[2 * place], made[2 * place + 1]
        headline = first.period(own)
        sums = first.shown(until)
        expected[key] = [own.pooled, until.pooled, headline, sums]
    # Of the stored kappas and their sums, which are compared themselves.
    whole = made[0]
    means = due.mean_pairwise(state.question_id, state.pair_sums, whole.pooled["percent_agreement"])
    headline = first.whole(whole)
    pooled = whole.pooled | means
    expected[keys[0]] = [pooled, pooled, headline, {}]
    return expected


# --- of raters

# rater, span, first day
Key = tuple[int, str, datetime.date]


def readings_of_raters(
    question_id: int, recount: Recount, scale: QuestionScale
) -> tuple[Readings, Readings]:
    """Expected and stored: (rater, span, first day) -> [number of own ratings, readings]."""
    rows = PeerRows.of(recount, scale.width)
    groups = _groups(rows)
    expected = _peer_readings(rows, groups, recount, scale)
    ids = sorted({rater for rater, _span, _first in groups})
    means = raters.mean_pairwise_by_rater([question_id], ids)
    for (rater, span, _first), (_n_ratings, readings) in expected.items():
        if span == "all":
            readings.update(raters.means_beside(readings, means[rater]))
    stored = {}
    of_raters = recount.stored(RaterReading.objects.filter(question_id=question_id), "rater")
    for row in of_raters.iterator(chunk_size=store.ROWS_AT_ONCE):
        stored[row.rater_id, row.span, row.start] = [row.n_ratings, row.coefficients]
    return expected, stored


def _groups(rows: PeerRows) -> dict[Key, list[int]]:
    """The places of the rows that belong to each reading."""
    groups: dict[Key, list[int]] = {}
    for place, (rater, day) in enumerate(rows.keys):
        if day == EVER:
            groups[rater, "all", ALL_START] = [place]
            continue
        for span in raters.STORED:
            first = int(periods.starts(np.array([day]), span)[0])
            groups.setdefault((rater, span, date_of(first)), []).append(place)
    return groups


def _peer_readings(
    rows: PeerRows, groups: dict[Key, list[int]], recount: Recount, scale: QuestionScale
) -> Readings:
    if not groups:
        return {}
    places = list(groups.values())
    tables = scale.ordered(np.stack([rows.tables[of].sum(axis=0) for of in places]), axes=2)
    moments = None
    if rows.moments is not None:
        sums = np.stack([rows.moments[of].sum(axis=0) for of in places])
        moments = scale.ordered(sums, axes=3)
    each = np.array(rows.n_items, np.int64)
    n_items = np.array([each[of].sum() for of in places], np.int64)
    estimates = scale.peers(tables, moments, n_items)
    found = {}
    for (key, of), readings in zip(groups.items(), by_row(estimates), strict=True):
        n_ratings = sum(recount.own[rows.keys[place]] for place in of)
        found[key] = [n_ratings, readings]
    return found
