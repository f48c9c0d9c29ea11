"""Invariants of a question without uncounted ratings, checked from the ratings alone."""

from __future__ import annotations

import datetime
import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from metrics.agreement import pattern_coefficients
from metrics.agreement.coefficients import cohen, groups
from metrics.agreement.counts import tally
from metrics.counting import store
from metrics.integrity.audit import audit_question
from metrics.models import CountState, PairTally, PatternTally, PeerTally, RaterResult, Result
from metrics.question_scale import QuestionScale, get_weighted_name
from metrics.results import rater_periods
from projects.models import Question
from ratings.models import Rating
from tests.metrics.counting.counting_oracle import get_comparison_day, load_stored_counts, recount

EPOCH = datetime.date(1970, 1, 1)
SPANS = ("all", "day", "week", "month")
Key = tuple[Any, ...]


def check(question_id: int) -> None:
    """Assert that no work is pending and that counts, sums and results match the current ratings."""
    question = Question.objects.select_related("project").get(pk=question_id)
    assert not Rating.objects.filter(question=question).uncounted().exists()
    for model in (PatternTally, PeerTally):
        assert not model.objects.filter(question=question, stale=True).exists()
    assert load_stored_counts(question) == recount(question)
    audit_findings = audit_question(question_id)
    assert not audit_findings.differences, audit_findings
    scale = QuestionScale.for_question(question)
    ratings = list(Rating.objects.filter(question=question).current().order_by("pk"))
    check_pairs(question, scale)
    check_state(question, len(ratings))
    assert_same_results(list_project_results(question), compute_project_results(ratings, scale))
    assert_same_results(list_rater_results(question), compute_rater_results(ratings, scale))


def check_pairs(question: Question, scale: QuestionScale) -> None:
    """Assert that kappas of pairs match their tables on the current scale, and sums the pairs."""
    sums = store.create_pair_sums()
    for row in PairTally.objects.filter(question=question):
        table = store.decode_arrays([row.table], [row.width], scale.width, axes=2)[0]
        for name in store.KAPPA_WEIGHTINGS:
            matrix = scale.build_weight_matrices().get(name)
            expected: Mapping[str, object] = {}
            if matrix is not None:
                expected = cohen.kappa(scale.reorder_to_declared(table, axes=2), matrix).to_value()
            for prefix, key in (("kappa", "value"), ("low", "low"), ("high", "high")):
                stored_value = getattr(row, f"{prefix}_{name}")
                assert is_close(stored_value, expected.get(key)), (
                    row.pk,
                    prefix,
                    name,
                    stored_value,
                    expected,
                )
            stored_kappa = getattr(row, f"kappa_{name}")
            if stored_kappa is not None:
                sums[name][0] += round(stored_kappa * store.KAPPA_UNITS)
                sums[name][1] += 1
    state = CountState.objects.filter(question=question).first()
    assert (
        store.create_pair_sums() | state.pair_sums if state else store.create_pair_sums()
    ) == sums


def check_state(question: Question, n_current: int) -> None:
    """Assert that the count state matches the number of current ratings."""
    state = CountState.objects.filter(question=question).first()
    if state is None:
        assert n_current == 0
        return
    assert state.ratings == n_current
    assert state.unrefreshed == 0
    assert state.scale_version == question.scale_version


# --- stored results


def list_project_results(question: Question) -> dict[Key, Any]:
    rows = Result.objects.filter(question=question)
    return {
        (row.period_unit, row.start): {"each": row.coefficients, "cumulative": row.cumulative}
        for row in rows
    }


def list_rater_results(question: Question) -> dict[Key, Any]:
    """Return the stored results of raters, and those by period, computed from the counts."""
    results = {
        (row.rater_id, "all", EPOCH): {"n": row.n_ratings, "each": row.coefficients}
        for row in RaterResult.objects.filter(question=question)
    }
    scale = QuestionScale.for_question(question)
    names = [get_weighted_name("vs_peers", name) for name in scale.build_weight_matrices()] + [
        "vs_peers_percent",
        "vs_peers_bias",
    ]
    for rater in question.project.raters.all():
        days = rater_periods.filter_days(question, [rater.pk]).values_list("day", "n_ratings")
        for span in SPANS[1:]:
            n_ratings: dict[datetime.date, int] = defaultdict(int)
            for day, number in days:
                n_ratings[get_period_start(day, span)] += number
            rows = rater_periods.list_newest_periods(
                question, rater, span, names, scale=scale, number=len(days)
            )
            for start, *estimates in rows:
                n = n_ratings.pop(start, 0)
                results[rater.pk, span, start] = {
                    "n": n,
                    "each": dict(zip(names, estimates, strict=True)),
                }
            assert not n_ratings
    return results


# --- results computed from the ratings by the pure library


def compute_project_results(ratings: list[Rating], scale: QuestionScale) -> dict[Key, Any]:
    codes: dict[int, list[int]] = defaultdict(list)
    rating_days: dict[int, list[int]] = defaultdict(list)
    for rating in ratings:
        codes[rating.item_id].append(rating.code)
        rating_days[rating.item_id].append(rating.day)
    days = {item: get_comparison_day(item_days) for item, item_days in rating_days.items()}
    results: dict[Key, Any] = {}
    for span in SPANS:
        starts = {item: get_period_start(day, span) for item, day in days.items()}
        for start in set(starts.values()):
            in_period = [codes[item] for item in codes if starts[item] == start]
            if span != "all":  # an item with one rating cannot be compared
                in_period = [item_codes for item_codes in in_period if len(item_codes) > 1]
                if not in_period:
                    continue
            up_to_period = [codes[item] for item in codes if starts[item] <= start]
            results[span, start] = {
                "each": compute_coefficients(in_period, scale),
                "cumulative": compute_coefficients(up_to_period, scale),
            }
    return results


def compute_coefficients(items: Iterable[list[int]], scale: QuestionScale) -> dict[str, Any]:
    counts = [[codes.count(code) for code in scale.codes.tolist()] for codes in items]
    return _compute_pattern_coefficients(
        _freeze(counts), scale.k, scale.kind, _freeze(scale.values), _freeze(scale.matrix)
    )


@functools.lru_cache(maxsize=1000)  # periods, and the states after two crashes, are often the same
def _compute_pattern_coefficients(
    counts: Any, k: int, kind: str, values: Any, weight_matrix: Any
) -> dict[str, Any]:
    table = np.array(counts, np.int64).reshape(len(counts), k)
    estimates = pattern_coefficients(
        table,
        np.ones(len(table), np.int64),
        scale=kind,
        values=None if values is None else np.array(values),
        weight_matrix=None if weight_matrix is None else np.array(weight_matrix),
    )
    return {name: estimate.to_value() for name, estimate in estimates.items()}


def _freeze(numbers: Any) -> Any:
    """Return an array or nested lists as nested tuples, which can be the key of a cache."""
    if isinstance(numbers, np.ndarray):
        numbers = numbers.tolist()
    return tuple(map(_freeze, numbers)) if isinstance(numbers, list) else numbers


def compute_rater_results(
    ratings: list[Rating], scale: QuestionScale, spans: tuple[str, ...] = SPANS
) -> dict[Key, Any]:
    items, raters = [rating.item_id for rating in ratings], [rating.rater_id for rating in ratings]
    codes = [rating.code for rating in ratings]
    results: dict[Key, Any] = {}
    for span in spans:
        starts = [get_period_start(rating.day, span) for rating in ratings]
        compared_starts = list_comparison_starts(ratings, span)
        periods = [(start - EPOCH).days for start in compared_starts]
        tables = tally.count_peer_tables(items, raters, codes, scale.width, day=periods)
        assert tables.day is not None
        row_by_key = {
            key: row
            for row, key in enumerate(zip(tables.rater.tolist(), tables.day.tolist(), strict=True))
        }
        for rating, start, compared_start in zip(ratings, starts, compared_starts, strict=True):
            for period_start in {start, compared_start}:
                key = (rating.rater_id, span, period_start)
                row = row_by_key.get((rating.rater_id, (period_start - EPOCH).days))
                if key not in results:
                    each = {} if row is None else compute_peer_coefficients(tables, row, scale)
                    results[key] = {"n": 0, "each": each}
            results[rating.rater_id, span, start]["n"] += 1
    return results


def list_comparison_starts(ratings: list[Rating], span: str) -> list[datetime.date]:
    """Return the first day of the period in which each rating can first be compared."""
    days_by_item: dict[int, dict[int, int]] = defaultdict(dict)
    for rating in ratings:
        days_by_item[rating.item_id][rating.rater_id] = rating.day
    starts = []
    for rating in ratings:
        others = [
            day for rater, day in days_by_item[rating.item_id].items() if rater != rating.rater_id
        ]
        day = max(rating.day, min(others)) if others else rating.day
        starts.append(get_period_start(day, span))
    return starts


def compute_peer_coefficients(
    tables: tally.PeerTables, row: int, scale: QuestionScale
) -> dict[str, Any]:
    table = scale.reorder_to_declared(tables.tables[row], axes=2)
    moments = (
        None if tables.moments is None else scale.reorder_to_declared(tables.moments[row], axes=3)
    )
    n_items = tables.n_items[row]
    return _compute_peer_coefficients(
        _freeze(table),
        _freeze(moments),
        int(n_items),
        _freeze(scale.values),
        tuple((name, _freeze(matrix)) for name, matrix in scale.build_weight_matrices().items()),
    )


@functools.lru_cache(maxsize=1000)
def _compute_peer_coefficients(
    table_rows: Any, moment_rows: Any, n_items: int, value_list: Any, weight_rows: Any
) -> dict[str, Any]:
    table = np.array(table_rows)
    moments = None if moment_rows is None else np.array(moment_rows)
    values = None if value_list is None else np.array(value_list)
    estimates = {}
    for name, rows in weight_rows:
        suffix = "" if name == "none" else f"_{name}"
        estimates[f"vs_peers{suffix}"] = groups.peer_kappa(
            table, moments, n_items, weights=np.array(rows)
        ).to_value()
    estimates["vs_peers_percent"] = groups.peer_percent_agreement(
        table, moments, n_items
    ).to_value()
    estimates["vs_peers_bias"] = groups.peer_bias(table, moments, n_items, values=values).to_value()
    return estimates


def get_period_start(day: int, span: str) -> datetime.date:
    date = EPOCH + datetime.timedelta(days=day)
    return {
        "all": EPOCH,
        "day": date,
        "week": date - datetime.timedelta(days=date.weekday()),
        "month": date.replace(day=1),
    }[span]


# --- comparison


def assert_same_results(stored_results: dict[Key, Any], expected: dict[Key, Any]) -> None:
    """Assert that both have the same periods and that every value of ``fresh`` is stored.

    An empty question may keep its empty result.
    """
    extra = set(stored_results) - set(expected)
    assert not extra or (not expected and all(key[-2] == "all" for key in extra)), extra
    assert not set(expected) - set(stored_results), set(expected) - set(stored_results)
    for key, value in expected.items():
        assert is_same(stored_results[key], value), (key, stored_results[key], value)


def is_same(stored_value: Any, expected: Any) -> bool:
    """Return whether ``stored_value`` contains all values of ``expected``.

    Sums of floats may be taken in another order.
    """
    if isinstance(expected, dict):
        return isinstance(stored_value, dict) and all(
            name in stored_value and is_same(stored_value[name], expected[name])
            for name in expected
        )
    return is_close(stored_value, expected)


def is_close(actual: Any, expected: Any) -> bool:
    if isinstance(actual, float) and isinstance(expected, float | int):
        return abs(actual - expected) <= 1e-9 * max(1.0, abs(expected))
    return actual == expected
