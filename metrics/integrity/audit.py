"""Audit: compare stored counts and results of a question with a recount in memory.

Counts are compared integer for integer with a tally of the codes that the ratings' ``counted``
stores; uncounted ratings are therefore no difference. Results are compared with the library's
values on those counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core.db.transactions import open_snapshot
from core.hooks import Hook
from metrics.agreement.counts.tally import PairTables
from metrics.counting import store
from metrics.counting.rater_kinds import RaterKinds
from metrics.models import ALL_DAYS, CountState, Diagnosis, PairTally, PatternTally, PeerTally
from metrics.question_scale import QuestionScale
from metrics.results import disputed_items, findings
from metrics.results.patterns import AllTimePatterns
from metrics.results.stored_values import Values
from projects.models import Question
from ratings.models import Rating
from ratings.services import uncounted_ratings

from .recount import (
    PeerRows,
    Recount,
    get_expected_and_stored_periods,
    get_expected_and_stored_raters,
)

# Of results: the same formula on arrays of another shape may round its sums differently.
TOLERANCE = 1e-9
# A variance of 0 may be computed as 1e-18, and its root as 1e-9.
TOLERANCE_OF_ROOTS = 1e-6
ROOTS = ("se", "low", "high")

CountsByKey = dict[tuple[int | str, ...], int]
RowsByKey = dict[tuple[int, int], list[Any]]


@dataclass
class AuditFindings:
    """Differences that an audit of a question found, and the numbers of ratings.

    ``n_ratings``: counted ratings that were compared; ``n_uncounted``: others, which are no
    difference.
    """

    n_ratings: int = 0
    n_uncounted: int = 0
    results_compared: bool = True  # False: results are stale, so they were not compared
    differences: list[str] = field(default_factory=list)

    def add_differences(
        self, description: str, stored: Mapping[Any, Any], expected: Mapping[Any, Any]
    ) -> None:
        """Add a finding for every key whose stored and expected values differ.

        ``description``: what the keys stand for, as the message begins. A missing key counts as
        None.
        """
        for key in sorted(stored.keys() | expected.keys(), key=str):
            actual, wanted_value = stored.get(key), expected.get(key)
            if not _is_equal(actual, wanted_value):
                self.differences.append(
                    f"{description} {key}: stored {_format_value(actual)}, "
                    f"recounted {_format_value(wanted_value)}"
                )


def audit_question(question_id: int, *, rater_id: int | None = None) -> AuditFindings:
    """Return findings on a question's stored data, or on those of one rater; changes nothing."""
    with open_snapshot():
        question = Question.objects.get(pk=question_id)
        state = CountState.objects.filter(pk=question_id).first() or CountState(question=question)
        scale = QuestionScale.for_question(question)
        findings = AuditFindings(n_uncounted=uncounted_ratings.get_ratings([question_id]).count())
        recount = Recount.for_question(
            question_id, scale.width, RaterKinds.from_state(state), rater_id
        )
        findings.n_ratings = recount.n_ratings
        if rater_id is None:
            n_uncounted = Rating.objects.filter(question=question).uncounted().count()
            findings.add_differences(
                "number of uncounted ratings that a worker finds",
                {"": findings.n_uncounted},
                {"": n_uncounted},
            )
            findings.add_differences(
                "number of counted ratings", {"": state.ratings}, {"": recount.n_ratings}
            )
            findings.add_differences(
                "people and models who rated", _get_stored_raters(state), recount.count_raters()
            )
            _compare_patterns(findings, question_id, recount, scale)
        is_current = state.scale_version == question.scale_version
        _compare_pairs(findings, state, recount, scale if is_current else None)
        _compare_peers(findings, question_id, recount, scale)
        findings.results_compared = (
            is_current and state.cumulative_from is None and not _is_stale(question_id)
        )
        if findings.results_compared and rater_id is None:
            expected, stored = get_expected_and_stored_periods(state, recount, scale)
            findings.add_differences("result of the period", stored, expected)
            if state.deferred_version == state.version and not state.unrefreshed:
                _compare_diagnosis(findings, recount, question_id, scale)
        if findings.results_compared:
            expected, stored = get_expected_and_stored_raters(question_id, recount, scale)
            findings.add_differences("result of the rater", stored, expected)
        return findings


def _is_stale(question_id: int) -> bool:
    """Return True if counts changed since the results were computed from them."""
    for model in (PatternTally, PeerTally):
        if model.objects.filter(question_id=question_id, stale=True).exists():
            return True
    return False


# --- counts


def _get_stored_raters(state: CountState) -> dict[str, int]:
    return {"people": state.n_people, "models": state.n_models}


def _compare_patterns(
    findings: AuditFindings, question_id: int, recount: Recount, scale: QuestionScale
) -> None:
    stored: CountsByKey = {}
    for row in PatternTally.objects.filter(question_id=question_id):
        counts, n_items = store.decode_patterns(
            row, scale.width, separate_models=recount.kinds.separates_models
        )
        for pattern, count in zip(counts.tolist(), n_items.tolist(), strict=True):
            stored[row.population, row.day, *pattern] = count
    expected: CountsByKey = {}
    for population, by_day in recount.patterns.items():
        days = [] if by_day.day is None else by_day.day.tolist()
        for day, pattern, count in zip(
            days, by_day.counts.tolist(), by_day.n_items.tolist(), strict=True
        ):
            expected[population, day, *pattern] = count
        all_time = by_day.sum_over_days()
        for pattern, count in zip(all_time.counts.tolist(), all_time.n_items.tolist(), strict=True):
            expected[population, ALL_DAYS, *pattern] = count
    findings.add_differences("items by population, day and pattern", stored, expected)


def _compare_pairs(
    findings: AuditFindings, state: CountState, recount: Recount, scale: QuestionScale | None
) -> None:
    """Add findings where stored pair tables and kappas differ from the recount.

    ``scale`` is None while the kappas are those of an older scale: they are not compared.
    """
    stored = _get_stored_pairs(state.question_id, recount)
    if scale is None:
        for row in stored.values():
            row[2:] = [None] * len(store.KAPPA_COLUMNS)
    description = "table and kappas of the pair of raters"
    findings.add_differences(description, stored, _compute_expected_pairs(recount.pairs, scale))
    if scale is not None and recount.rater is None:
        # From the stored kappas: a kappa computed in another batch may differ in its last bit.
        kappas = [row[2 :: len(store.KAPPA_PARTS)] for row in stored.values()]
        columns = np.array(kappas, float).reshape(-1, len(store.KAPPA_WEIGHTINGS)).T
        sums = store.create_pair_sums()
        store.add_kappas_to_sums(sums, dict(zip(store.KAPPA_WEIGHTINGS, columns, strict=True)))
        findings.add_differences(
            "sum of the stored kappas", store.create_pair_sums() | state.pair_sums, sums
        )


def _compute_expected_pairs(pairs: PairTables, scale: QuestionScale | None) -> RowsByKey:
    """Return (rater_a, rater_b) -> n_items, cells of the table, kappas (None without a scale)."""
    expected: RowsByKey = {}
    for chunk in store.iter_chunks(len(pairs.tables)):
        tables = pairs.tables[chunk]
        undefined = np.full((len(tables), len(store.KAPPA_PARTS)), np.nan)
        kappas = (
            scale.compute_pair_kappas(tables)
            if scale
            else dict.fromkeys(store.KAPPA_WEIGHTINGS, undefined)
        )
        kappa_columns = np.concatenate([kappas[name] for name in store.KAPPA_WEIGHTINGS], axis=1)
        columns = [store.nan_to_none(column) for column in kappa_columns.T]
        keys = zip(pairs.rater_a[chunk].tolist(), pairs.rater_b[chunk].tolist(), strict=True)
        for key, table, *values in zip(keys, tables, *columns, strict=True):
            expected[key] = [int(table.sum()), _get_nonzero_cells(table), *values]
    return expected


def _get_stored_pairs(question_id: int, recount: Recount) -> RowsByKey:
    """Return the stored pairs in the same form as `_compute_expected_pairs`."""
    pairs = PairTally.objects.filter(question_id=question_id)
    rows = recount.filter_stored_rows(pairs, "rater_a", "rater_b").iterator(
        chunk_size=store.ROWS_AT_ONCE
    )
    stored: RowsByKey = {}
    for row in rows:
        table = store.decode_array(row.table, row.width, row.width)
        kappas = [getattr(row, name) for name in store.KAPPA_COLUMNS]
        stored[row.rater_a_id, row.rater_b_id] = [row.n_items, _get_nonzero_cells(table), *kappas]
    return stored


def _compare_peers(
    findings: AuditFindings, question_id: int, recount: Recount, scale: QuestionScale
) -> None:
    rows = PeerRows.from_recount(recount, scale.width)
    expected: RowsByKey = {}
    for index, key in enumerate(rows.keys):
        moments = None if rows.moments is None else _get_nonzero_cells(rows.moments[index])
        table = _get_nonzero_cells(rows.tables[index])
        expected[key] = [rows.n_items[index], recount.own_counts.get(key, 0), table, moments]
    stored: RowsByKey = {}
    of_raters = recount.filter_stored_rows(
        PeerTally.objects.filter(question_id=question_id), "rater"
    )
    for row in of_raters.iterator(chunk_size=store.ROWS_AT_ONCE):
        moments = None
        if rows.moments is not None:
            moments = _get_nonzero_cells(
                store.decode_array(row.moments, row.width, row.width, row.width)
            )
        table = _get_nonzero_cells(store.decode_array(row.table, row.width, row.width))
        stored_row = [row.n_items, row.n_ratings, table, moments]
        if any(stored_row):
            stored[row.rater_id, row.day] = stored_row
    findings.add_differences("rater and day against the others", stored, expected)


def _compare_diagnosis(
    audit_findings: AuditFindings, recount: Recount, question_id: int, scale: QuestionScale
) -> None:
    """Compare the stored diagnosis with one computed from the stored counts and the ratings.

    The stored counts themselves are compared by _compare_patterns and _compare_pairs.
    """
    if not recount.n_ratings:
        return
    row = Diagnosis.objects.filter(pk=question_id).first() or Diagnosis()
    stored = {finding["name"]: finding["figures"] for finding in row.findings}
    all_time = AllTimePatterns.load(question_id, scale)
    expected_findings = findings.find_question_findings(
        all_time, _get_stored_mean_kappas(question_id)
    )
    audit_findings.add_differences(
        "finding", stored, {finding["name"]: finding["figures"] for finding in expected_findings}
    )
    expected_confusions = {
        (category_a, category_b): share
        for category_a, category_b, share in findings.find_confusions(
            all_time.displayed_counts, all_time.n_items
        )
    }
    stored_confusions = {
        (category_a, category_b): share for category_a, category_b, share in row.confusions
    }
    audit_findings.add_differences(
        "confusion of two categories", stored_confusions, expected_confusions
    )
    expected = disputed_items.find_newest_disputed(all_time)
    audit_findings.add_differences("most disputed items", row.disputes, expected)


def _get_stored_mean_kappas(question_id: int) -> Values:
    """Return the stored mean pairwise kappas by shared items."""
    means = (
        CountState.objects.filter(pk=question_id)
        .values_list("mean_pairwise_kappas", flat=True)
        .first()
    )
    return means or {}


# --- comparison


def _get_nonzero_cells(counts: np.ndarray) -> dict[tuple[int, ...], int]:
    """Return {indices: count} of the cells that are not 0.

    So counts stored with different numbers of categories can be compared.
    """
    indices = map(tuple, np.argwhere(counts).tolist())
    return dict(zip(indices, counts[counts != 0].tolist(), strict=True))


def _is_equal(first: Any, second: Any, tolerance: float = TOLERANCE) -> bool:
    if isinstance(first, dict) and isinstance(second, dict):
        if first.keys() != second.keys():
            return False
        return all(
            _is_equal(value, second[key], TOLERANCE_OF_ROOTS if key in ROOTS else TOLERANCE)
            for key, value in first.items()
        )
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_is_equal, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=TOLERANCE, abs_tol=tolerance)
    return bool(first == second)


def _format_value(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 200 else text[:197] + "..."


@dataclass(frozen=True)
class RegisteredAudit:
    """An audit of data that a higher package derives from ratings, run by `manage.py audit`.

    ``find_differences`` recomputes a question's data and describes each difference; ``repair``
    stores the recomputed data. Both take the id of the question.
    """

    find_differences: Callable[[int], list[str]]
    repair: Callable[[int], object]


REGISTERED_AUDITS: Hook[RegisteredAudit] = Hook("audits")
