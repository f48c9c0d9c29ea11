"""Are the stored counts and readings what the ratings say? Everything is made again in memory and
compared.

Counts are compared integer for integer with a tally of what the ratings' ``counted`` says they
hold; ratings that are not counted yet are therefore no difference. Readings are compared with the
library's values on those counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from metrics.agreement.counts.tally import PairTables
from metrics.counting import store
from metrics.counting.rater_kinds import Kinds
from metrics.models import EVER, CountState, Diagnosis, PairTally, PatternTally, PeerTally
from metrics.results.all_time import Ever
from metrics.results.disagreement import disputed_items, findings
from metrics.scale import QuestionScale
from projects.models import Question
from ratings.models import Rating
from ratings.services import uncounted as services_uncounted

from .expected_results import readings_of_periods, readings_of_raters
from .recount import PeerRows, Recount, snapshot

# of readings: the same formula over arrays of another shape may round its sums differently
TOLERANCE = 1e-9
# a variance of 0 may come out as 1e-18, and its root as 1e-9
TOLERANCE_OF_ROOTS = 1e-6
ROOTS = ("se", "low", "high")

Counts = dict[tuple[int, ...], int]
Rows = dict[tuple[int, int], list[Any]]


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
        found = Findings(uncounted=services_uncounted.ratings([question_id]).count())
        recount = Recount.of(question_id, scale.width, Kinds.stored(state), rater)
        found.ratings = recount.n_ratings
        if rater is None:
            uncounted = Rating.objects.filter(question=question).uncounted().count()
            found.compare(
                "number of uncounted ratings that a worker finds",
                {"": found.uncounted},
                {"": uncounted},
            )
            found.compare("number of counted ratings", {"": state.ratings}, {"": recount.n_ratings})
            found.compare("people and models who rated", _stored_raters(state), recount.raters())
            _compare_patterns(found, question_id, recount, scale)
        current = state.scale_version == question.scale_version
        _compare_pairs(found, state, recount, scale if current else None)
        _compare_peers(found, question_id, recount, scale)
        found.settled = current and state.cumulative_from is None and not _is_stale(question_id)
        if found.settled and rater is None:
            expected, stored = readings_of_periods(state, recount, scale)
            found.compare("reading of the period", stored, expected)
            if state.bootstrapped == state.version and not state.unread:
                _compare_diagnosis(found, recount, question_id, scale)
        if found.settled:
            expected, stored = readings_of_raters(question_id, recount, scale)
            found.compare("reading of the rater", stored, expected)
        return found


def _is_stale(question_id: int) -> bool:
    """Whether some counts moved since the readings were made of them."""
    for model in (PatternTally, PeerTally):
        if model.objects.filter(question_id=question_id, stale=True).exists():
            return True
    return False


# --- counts


def _stored_raters(state: CountState) -> dict[str, int]:
    return {"people": state.n_people, "models": state.n_models}


def _compare_patterns(
    found: Findings, question_id: int, recount: Recount, scale: QuestionScale
) -> None:
    stored: Counts = {}
    for row in PatternTally.objects.filter(question_id=question_id):
        counts, n_items = store.decode_patterns(row, scale.width, apart=recount.kinds.apart)
        for pattern, n in zip(counts.tolist(), n_items.tolist(), strict=True):
            stored[row.day, *pattern] = n
    expected: Counts = {}
    by_day = recount.patterns
    days = [] if by_day.day is None else by_day.day.tolist()
    for day, pattern, n in zip(days, by_day.counts.tolist(), by_day.n_items.tolist(), strict=True):
        expected[day, *pattern] = n
    ever = by_day.without_day()
    for pattern, n in zip(ever.counts.tolist(), ever.n_items.tolist(), strict=True):
        expected[EVER, *pattern] = n
    found.compare("items by day and pattern", stored, expected)


def _compare_pairs(
    found: Findings, state: CountState, recount: Recount, scale: QuestionScale | None
) -> None:
    """``scale`` is None while the kappas are those of an older scale: they are not compared."""
    stored = _stored_pairs(state.question_id, recount)
    if scale is None:
        for row in stored.values():
            row[2:] = [None] * len(store.KAPPA_COLUMNS)
    what = "table and kappas of the pair of raters"
    found.compare(what, stored, _expected_pairs(recount.pairs, scale))
    if scale is not None and recount.rater is None:
        # Of the stored kappas: a kappa made in another batch may differ in its last bit.
        kappas = [row[2 :: len(store.KAPPA_PARTS)] for row in stored.values()]
        columns = np.array(kappas, float).reshape(-1, len(store.KAPPAS)).T
        sums = store.no_sums()
        store.add_sums(sums, dict(zip(store.KAPPAS, columns, strict=True)))
        found.compare("sum of the stored kappas", store.no_sums() | state.pair_sums, sums)


def _expected_pairs(pairs: PairTables, scale: QuestionScale | None) -> Rows:
    """(rater_a, rater_b) -> n_items, cells of the table, kappas (None without a scale)."""
    expected: Rows = {}
    for part in store.chunks(len(pairs.tables)):
        tables = pairs.tables[part]
        unknown = np.full((len(tables), len(store.KAPPA_PARTS)), np.nan)
        kappas = scale.pair_kappas(tables) if scale else dict.fromkeys(store.KAPPAS, unknown)
        numbers = np.concatenate([kappas[name] for name in store.KAPPAS], axis=1)
        columns = [store.nulls(column) for column in numbers.T]
        keys = zip(pairs.rater_a[part].tolist(), pairs.rater_b[part].tolist(), strict=True)
        for key, table, *values in zip(keys, tables, *columns, strict=True):
            expected[key] = [int(table.sum()), _cells(table), *values]
    return expected


def _stored_pairs(question_id: int, recount: Recount) -> Rows:
    """The same as _expected_pairs, as it is stored."""
    pairs = PairTally.objects.filter(question_id=question_id)
    rows = recount.stored(pairs, "rater_a", "rater_b").iterator(chunk_size=store.ROWS_AT_ONCE)
    stored: Rows = {}
    for row in rows:
        table = store.array(row.table, row.width, row.width)
        kappas = [getattr(row, name) for name in store.KAPPA_COLUMNS]
        stored[row.rater_a_id, row.rater_b_id] = [row.n_items, _cells(table), *kappas]
    return stored


def _compare_peers(
    found: Findings, question_id: int, recount: Recount, scale: QuestionScale
) -> None:
    rows = PeerRows.of(recount, scale.width)
    expected: Rows = {}
    for index, key in enumerate(rows.keys):
        moments = None if rows.moments is None else _cells(rows.moments[index])
        table = _cells(rows.tables[index])
        expected[key] = [rows.n_items[index], recount.own.get(key, 0), table, moments]
    stored: Rows = {}
    of_raters = recount.stored(PeerTally.objects.filter(question_id=question_id), "rater")
    for row in of_raters.iterator(chunk_size=store.ROWS_AT_ONCE):
        moments = None
        if rows.moments is not None:
            moments = _cells(store.array(row.moments, row.width, row.width, row.width))
        table = _cells(store.array(row.table, row.width, row.width))
        one = [row.n_items, row.n_ratings, table, moments]
        if any(one):
            stored[row.rater_id, row.day] = one
    found.compare("rater and day against the others", stored, expected)


def _compare_diagnosis(
    found: Findings, recount: Recount, question_id: int, scale: QuestionScale
) -> None:
    """What is said of disagreement: made again from the stored counts and the ratings, as both are
    compared themselves."""
    if not recount.n_ratings:
        return
    row = Diagnosis.objects.filter(pk=question_id).first() or Diagnosis()
    stored = {one["name"]: one["figures"] for one in row.findings}
    ever = Ever.of(question_id, scale)
    made = findings.of_question(ever, _means(question_id))
    found.compare("finding", stored, {one["name"]: one["figures"] for one in made})
    confused = {(a, b): share for a, b, share in findings.confusions(ever.told, ever.n_items)}
    kept = {(a, b): share for a, b, share in row.confusions}
    found.compare("confusion of two categories", kept, confused)
    expected = disputed_items.newest_disputed(question_id, scale)
    found.compare("most disputed items", row.disputes, expected)


def _means(question_id: int) -> dict[str, Any]:
    """The mean pairwise kappas by items, as they are stored beside the diagnosis."""
    means = CountState.objects.filter(pk=question_id).values_list("pairwise", flat=True).first()
    return means or {}


# --- comparing


def _cells(counts: np.ndarray) -> dict[tuple[int, ...], int]:
    """Place by code -> count, where there is one: the same however many categories there were when
    it was stored."""
    places = map(tuple, np.argwhere(counts).tolist())
    return dict(zip(places, counts[counts != 0].tolist(), strict=True))


def _equal(one: Any, other: Any, tolerance: float = TOLERANCE) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return False
        return all(
            _equal(value, other[key], TOLERANCE_OF_ROOTS if key in ROOTS else TOLERANCE)
            for key, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=tolerance)
    return bool(one == other)


def _shown(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 200 else text[:197] + "..."
