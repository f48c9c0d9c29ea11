"""The readings that an audit expects, made anew from a recount, beside those that are stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from metrics import periods
from metrics.counting import store
from metrics.models import ALL_START, EVER, CountState, RaterReading, Reading
from metrics.results import question_results
from metrics.results.grouped_patterns import Patterns, by_row
from metrics.results.headline.headline_computation import Counted, First
from metrics.results.raters import rater_results
from metrics.scale import QuestionScale
from ratings.services.days import date_of

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
    means = question_results.mean_pairwise(
        state.question_id, state.pair_sums, whole.pooled["percent_agreement"]
    )
    headline = first.whole(whole)
    pooled = whole.pooled | means
    expected[keys[0]] = [pooled, pooled, headline, {}]
    return expected


# --- of raters


def readings_of_raters(
    question_id: int, recount: Recount, scale: QuestionScale
) -> tuple[Readings, Readings]:
    """Expected and stored: rater -> [number of own ratings, readings]. Of days, weeks and months
    none are stored: what they are read off are counts, which are compared themselves."""
    expected = _peer_readings(PeerRows.of(recount, scale.width), recount, scale)
    means = rater_results.mean_pairwise_by_rater([question_id], sorted(expected))
    for rater, (_n_ratings, readings) in expected.items():
        readings.update(rater_results.means_beside(readings, means[rater]))
    stored = {}
    of_raters = recount.stored(RaterReading.objects.filter(question_id=question_id), "rater")
    for row in of_raters.iterator(chunk_size=store.ROWS_AT_ONCE):
        stored[row.rater_id] = [row.n_ratings, row.coefficients]
    return expected, stored


def _peer_readings(rows: PeerRows, recount: Recount, scale: QuestionScale) -> Readings:
    places = [place for place, (_rater, day) in enumerate(rows.keys) if day == EVER]
    if not places:
        return {}
    tables = scale.ordered(rows.tables[places], axes=2)
    moments = None
    if rows.moments is not None:
        moments = scale.ordered(rows.moments[places], axes=3)
    n_items = np.array(rows.n_items, np.int64)[places]
    each = by_row(scale.peers(tables, moments, n_items))
    keys = [rows.keys[place] for place in places]
    return {key[0]: [recount.own[key], readings] for key, readings in zip(keys, each, strict=True)}
