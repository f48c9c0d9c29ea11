"""Are the stored counts and readings what the ratings say? Everything is made again in memory and
compared.

Counts are compared integer for integer with a tally of what the ratings' ``counted`` says they
hold; ratings that are not counted yet are therefore no difference. Readings are compared with the
library's values on those counts.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from metrics import periods
from metrics.agreement import pattern_coefficients
from metrics.agreement.coefficients import peers as peer_agreement
from metrics.counting import store
from metrics.models import (
    ALL_START,
    EVER,
    CountState,
    PairTally,
    PatternTally,
    PeerTally,
    RaterReading,
    Reading,
)
from metrics.readings import project, raters
from metrics.scale import QuestionScale
from projects.models import Question
from ratings.models import Rating
from ratings.recording import waiting
from ratings.recording.days import date_of

from .recount import PeerRows, Recount, snapshot

# of readings: the same formula over arrays of another shape may round its sums differently
TOLERANCE = 1e-9

Counts = dict[tuple[int, ...], int]


@dataclass
class Findings:
    ratings: int = 0
    uncounted: int = 0
    settled: bool = True  # False: readings wait for a worker, so that they were not compared
    differences: list[str] = field(default_factory=list)

    def compare(self, what: str, stored: dict[Any, Any], expected: dict[Any, Any]) -> None:
        for key in sorted(stored.keys() | expected.keys(), key=str):
            have, want = stored.get(key), expected.get(key)
            if not _equal(have, want):
                self.differences.append(
                    f"{what} {key}: stored {_shown(have)}, recounted {_shown(want)}"
                )


def audit(question_id: int, *, rater: int | None = None) -> Findings:
    """Compare everything stored of a question, or only what is stored of one rater; nothing is
    changed."""
    with snapshot():
        question = Question.objects.get(pk=question_id)
        state = CountState.objects.filter(pk=question_id).first() or CountState(question=question)
        scale = QuestionScale.of(question)
        found = Findings(uncounted=waiting.ratings([question_id]).count())
        recount = Recount.of(question_id, scale.width, rater)
        found.ratings = recount.n_ratings
        if rater is None:
            uncounted = Rating.objects.filter(question=question).uncounted().count()
            found.compare(
                "number of uncounted ratings that a worker finds",
                {"": found.uncounted},
                {"": uncounted},
            )
            found.compare("number of counted ratings", {"": state.ratings}, {"": recount.n_ratings})
            _compare_patterns(found, question_id, recount, scale)
        current = state.scale_version == question.scale_version
        _compare_pairs(found, state, recount, scale if current else None)
        _compare_peers(found, question_id, recount, scale)
        stale = (
            model.objects.filter(question_id=question_id, stale=True)
            for model in (PatternTally, PeerTally)
        )
        found.settled = (
            current and state.cumulative_from is None and not any(rows.exists() for rows in stale)
        )
        if found.settled and rater is None:
            _compare_readings(found, state, recount, scale)
        if found.settled:
            _compare_rater_readings(found, question_id, recount, scale)
        return found


# --- counts


def _compare_patterns(
    found: Findings, question_id: int, recount: Recount, scale: QuestionScale
) -> None:
    stored: Counts = {}
    for row in PatternTally.objects.filter(question_id=question_id):
        counts, n_items = store.decode_patterns(row, scale.width)
        stored |= {
            (row.day, *pattern): n
            for pattern, n in zip(counts.tolist(), n_items.tolist(), strict=True)
        }
    expected: Counts = {}
    days = recount.patterns.day
    for patterns, on in ((recount.patterns, days), (recount.patterns.without_day(), None)):
        each = zip(patterns.counts.tolist(), patterns.n_items.tolist(), strict=True)
        for index, (pattern, n) in enumerate(each):
            expected[EVER if on is None else int(on[index]), *pattern] = n
    found.compare("items by day and pattern", stored, expected)


def _compare_pairs(
    found: Findings, state: CountState, recount: Recount, scale: QuestionScale | None
) -> None:
    """``scale`` is None while the kappas are those of an older scale."""
    pairs = recount.pairs
    unknown = np.full(len(pairs.tables), np.nan)
    expected = {}
    for part in store.chunks(len(pairs.tables)):
        tables = pairs.tables[part]
        kappas = scale.pair_kappas(tables) if scale else dict.fromkeys(store.KAPPAS, unknown[part])
        columns = [_numbers(kappas[name]) for name in store.KAPPAS]
        keys = zip(pairs.rater_a[part].tolist(), pairs.rater_b[part].tolist(), strict=True)
        for key, table, *values in zip(keys, tables, *columns, strict=True):
            expected[key] = [int(table.sum()), _cells(table), *values]
    stored = {}
    names = (
        "rater_a_id",
        "rater_b_id",
        "width",
        "table",
        "n_items",
        *(f"kappa_{name}" for name in store.KAPPAS),
    )
    rows = recount.stored(
        PairTally.objects.filter(question_id=state.question_id), "rater_a", "rater_b"
    )
    for a, b, width, data, n_items, *values in rows.values_list(*names).iterator(
        chunk_size=store.ROWS_AT_ONCE
    ):
        stored[a, b] = [
            n_items,
            _cells(store.array(data, width, width)),
            *(values if scale else [None] * len(values)),
        ]
    found.compare("table and kappas of the pair of raters", stored, expected)
    if scale and recount.rater is None:
        # Of the stored kappas: a kappa made in another batch may differ in its last bit.
        values = np.array([row[2:] for row in stored.values()], float).reshape(
            -1, len(store.KAPPAS)
        )
        sums = store.no_sums()
        store.add_sums(sums, dict(zip(store.KAPPAS, values.T, strict=True)))
        found.compare("sum of the stored kappas", store.no_sums() | state.pair_sums, sums)


def _compare_peers(
    found: Findings, question_id: int, recount: Recount, scale: QuestionScale
) -> None:
    tables = PeerRows.of(recount, scale.width)
    expected = {
        (rater, day): [
            tables.n_items[index],
            recount.own.get((rater, day), 0),
            _cells(tables.tables[index]),
            None if tables.moments is None else _cells(tables.moments[index]),
        ]
        for index, (rater, day) in enumerate(tables.keys)
    }
    stored = {}
    rows = recount.stored(PeerTally.objects.filter(question_id=question_id), "rater")
    for row in rows.iterator(chunk_size=store.ROWS_AT_ONCE):
        moments = (
            None if tables.moments is None else _cells(store.array(row.moments, *[row.width] * 3))
        )
        one = [
            row.n_items,
            row.n_ratings,
            _cells(store.array(row.table, row.width, row.width)),
            moments,
        ]
        if any(one):
            stored[row.rater_id, row.day] = one
    found.compare("rater and day against the others", stored, expected)


# --- readings


def _compare_readings(
    found: Findings, state: CountState, recount: Recount, scale: QuestionScale
) -> None:
    question_id = state.question_id
    days, counts, by_day = recount.patterns.by_day()
    spans = [("all", ALL_START, by_day.sum(axis=0), by_day.sum(axis=0))] if len(days) else []
    for span in periods.SPANS:
        begins, index = np.unique(periods.starts(days, span), return_inverse=True)
        n_items = np.zeros((len(begins), len(counts)), np.int64)
        np.add.at(n_items, index, by_day)
        total = n_items.cumsum(axis=0)
        spans += [
            (span, date_of(begin), n_items[i], total[i]) for i, begin in enumerate(begins.tolist())
        ]
    expected = {}
    if spans:
        rows = np.stack([part for _span, _start, one, total in spans for part in (one, total)])
        estimates = pattern_coefficients(
            scale.ordered(counts),
            rows,
            scale=scale.kind,
            values=scale.values,
            weight_matrix=scale.matrix,
        )
        made = [
            dict(zip(estimates, row, strict=True))
            for row in zip(*(e.readings() for e in estimates.values()), strict=True)
        ]
        for place, (span, start, _one, _total) in enumerate(spans):
            expected[span, start.isoformat()] = [made[2 * place], made[2 * place + 1]]
        # Of the stored kappas and their sums, which are compared themselves.
        ever = made[0] | project.mean_pairwise(
            question_id, state.pair_sums, made[0]["percent_agreement"]
        )
        expected["all", ALL_START.isoformat()] = [ever, ever]
    stored = {}
    rows_of = Reading.objects.filter(question_id=question_id)
    for span, start, coefficients, cumulative in rows_of.values_list(
        "span", "start", "coefficients", "cumulative"
    ):
        stored[span, start.isoformat()] = [coefficients, cumulative]
    if not recount.n_ratings:
        # what is left when everything was withdrawn: all undefined
        stored.pop(("all", ALL_START.isoformat()), None)
    found.compare("reading of the period", stored, expected)


def _compare_rater_readings(
    found: Findings, question_id: int, recount: Recount, scale: QuestionScale
) -> None:
    rows = PeerRows.of(recount, scale.width)
    groups: dict[tuple[int, str, datetime.date], list[int]] = {}
    for index, (rater, day) in enumerate(rows.keys):
        if day == EVER:
            groups.setdefault((rater, "all", ALL_START), []).append(index)
            continue
        for span in raters.STORED:
            first = int(periods.starts(np.array([day]), span)[0])
            groups.setdefault((rater, span, date_of(first)), []).append(index)
    expected = _peer_readings(rows, groups, recount, scale)
    means = raters.mean_pairwise_by_rater(question_id, sorted({rater for rater, *_ in groups}))
    for (rater, span, _first), (_n, of_rater) in expected.items():
        if span == "all":
            of_rater.update(raters.means_beside(of_rater, means[rater]))
    stored = {}
    stored_rows = recount.stored(RaterReading.objects.filter(question_id=question_id), "rater")
    for rater, span, start, n_ratings, coefficients in stored_rows.values_list(
        "rater_id", "span", "start", "n_ratings", "coefficients"
    ).iterator(chunk_size=store.ROWS_AT_ONCE):
        stored[rater, span, start] = [n_ratings, coefficients]
    found.compare("reading of the rater", stored, expected)


def _peer_readings(
    rows: PeerRows,
    groups: dict[tuple[int, str, datetime.date], list[int]],
    recount: Recount,
    scale: QuestionScale,
) -> dict[Any, Any]:
    if not groups:
        return {}
    tables = scale.ordered(
        np.stack([rows.tables[index].sum(axis=0) for index in groups.values()]), axes=2
    )
    moments = None
    if rows.moments is not None:
        cubes = rows.moments
        moments = scale.ordered(
            np.stack([cubes[index].sum(axis=0) for index in groups.values()]), axes=3
        )
    n_items = np.array([sum(rows.n_items[i] for i in index) for index in groups.values()], np.int64)
    estimates = {}
    for name, matrix in scale.weightings().items():
        key = "vs_peers" if name == "none" else f"vs_peers_{name}"
        estimates[key] = peer_agreement.kappa(tables, moments, n_items, weights=matrix)
    estimates["vs_peers_percent"] = peer_agreement.percent_agreement(tables, moments, n_items)
    estimates["vs_peers_bias"] = peer_agreement.bias(tables, moments, n_items, values=scale.values)
    made = zip(*(estimate.readings() for estimate in estimates.values()), strict=True)
    return {
        key: [
            sum(recount.own[rows.keys[i]] for i in groups[key]),
            dict(zip(estimates, parts, strict=True)),
        ]
        for key, parts in zip(groups, made, strict=True)
    }


# --- comparing


def _numbers(values: np.ndarray) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.tolist()]


def _cells(counts: np.ndarray) -> dict[tuple[int, ...], int]:
    """Place by code -> count, where there is one: the same however many categories there were when
    it was stored."""
    places = np.nonzero(counts)
    return dict(
        zip(
            zip(*(axis.tolist() for axis in places), strict=True),
            counts[places].tolist(),
            strict=True,
        )
    )


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            _equal(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(one == other)


def _shown(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 200 else text[:197] + "..."
