"""Confidence sequences: the published boundary, false passes over many looks, and items needed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from metrics.agreement import estimate_coefficient
from metrics.agreement.counts.wider_intervals import (
    ALPHA,
    RHO,
    TIGHTEST_ITEMS,
    compute_quantile,
    compute_widening_factor,
    widen_to_sequence,
)
from metrics.agreement.estimate import NORMAL_QUANTILE, Value
from metrics.agreement.sample_size import compute_items_until_verdict


def build_value(point: float, low: float, high: float, n_items: int) -> Value:
    return {
        "value": point, "low": low, "high": high, "se": None, "observed": None, "expected": 0.5,
        "n_items": n_items, "n_ratings": 2 * n_items, "reason": None,
    }  # fmt: skip


@pytest.mark.parametrize("n", [1, 20, 200, 5_000])
def test_boundary_is_where_the_mixture_of_likelihood_ratios_reaches_1_over_alpha(n: int) -> None:
    total = float(compute_quantile(n)) * math.sqrt(n)
    prior = stats.norm(scale=1 / math.sqrt(RHO))
    mean = total / (n + RHO)  # where the integrand is largest
    mixture, _error = integrate.quad(
        lambda drift: math.exp(drift * total - drift**2 * n / 2) * prior.pdf(drift),
        mean - 12 / math.sqrt(n + RHO),
        mean + 12 / math.sqrt(n + RHO),
    )
    assert mixture == pytest.approx(20, rel=1e-6)


def test_sequence_is_narrowest_at_the_declared_number_of_items() -> None:
    items = np.arange(1, 2_000)
    assert items[compute_quantile(items).argmin()] == TIGHTEST_ITEMS
    assert float(compute_widening_factor(TIGHTEST_ITEMS)) == pytest.approx(
        3.03 / NORMAL_QUANTILE, rel=0.01
    )


def test_random_walk_leaves_the_boundary_in_at_most_1_of_20_cases() -> None:
    steps = np.random.default_rng(1).normal(size=(4_000, 2_000))
    n = np.arange(1, steps.shape[1] + 1)
    distance = np.abs(steps.cumsum(axis=1)) / np.sqrt(n)
    assert 0.01 < (distance > compute_quantile(n)).any(axis=1).mean() <= 0.05
    assert (distance > NORMAL_QUANTILE).any(axis=1).mean() > 0.5


def find_passes(codes: np.ndarray, limit: float, *, step: int) -> tuple[bool, bool]:
    """Return whether a growing batch passes at any look: by one interval, by the sequence."""
    patterns = np.array([[2, 0], [1, 1], [0, 2]])
    cells = codes.sum(axis=1)
    fixed = sequence = False
    for n in range(step, len(codes) + 1, step):
        n_items = np.bincount(cells[:n], minlength=3)
        value = estimate_coefficient("fleiss_kappa", patterns, n_items).to_value()
        widened = widen_to_sequence(value)
        fixed |= value["low"] is not None and value["low"] > limit
        sequence |= widened["low"] is not None and widened["low"] > limit
    return fixed, sequence


@pytest.mark.parametrize(("limit", "prevalence"), [(0.6, 0.5), (0.8, 0.1)])
def test_batches_at_the_floor_seldom_pass_however_often_they_are_asked(
    limit: float, prevalence: float
) -> None:
    rng = np.random.default_rng(3)
    gates, looks, step = 100, 40, 10
    passes = []
    for _gate in range(gates):
        truth = rng.random(looks * step) < prevalence
        # Both raters copy the item's category, or both draw their own: kappa is the share of the
        # first kind of items.
        random_codes = rng.random((looks * step, 2)) < prevalence
        is_clear = rng.random(looks * step) < limit
        codes = np.where(is_clear[:, None], truth[:, None], random_codes).astype(int)
        passes.append(find_passes(codes, limit, step=step))
    fixed, sequence = np.array(passes).mean(axis=0)
    assert sequence <= 0.05
    assert sequence < fixed


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    point=st.floats(-0.5, 1),
    margins=st.tuples(st.floats(0, 0.5), st.floats(0, 0.5)),
    n_items=st.integers(2, 10_000),
)
def test_sequence_contains_the_interval_of_one_look(
    point: float, margins: tuple[float, float], n_items: int
) -> None:
    value = build_value(point, point - margins[0], min(point + margins[1], 1.0), n_items)
    widened = widen_to_sequence(value)
    assert (widened["value"], widened["n_items"]) == (point, n_items)
    assert (widened["low"] or 0) <= (value["low"] or 0) + 1e-12
    assert (value["high"] or 0) - 1e-12 <= (widened["high"] or 0) <= 1


@pytest.mark.parametrize("change", [{"value": None}, {"low": None}, {"n_items": 0}])
def test_value_without_interval_stays(change: dict[str, None]) -> None:
    value: Value = {**build_value(0.7, 0.6, 0.8, 50), **change}  # type: ignore[typeddict-item]
    assert widen_to_sequence(value) == value
    assert compute_items_until_verdict(value, 0.5) is None


@pytest.mark.parametrize("kappa_pattern", [(44, 12, 44), (30, 40, 30)])
def test_needed_items_decide_where_the_same_ratings_go_on(
    kappa_pattern: tuple[int, int, int],
) -> None:
    limit, n = 0.6, sum(kappa_pattern)
    patterns = np.array([[2, 0], [1, 1], [0, 2]])

    def is_decided(items: int) -> bool:
        n_items = np.array(kappa_pattern) * items / n
        value = estimate_coefficient("fleiss_kappa", patterns, n_items).to_value()
        widened = widen_to_sequence({**value, "n_items": items})
        return (widened["low"] or 0) > limit or (widened["high"] or 1) < limit

    value = estimate_coefficient("fleiss_kappa", patterns, kappa_pattern).to_value()
    needed = compute_items_until_verdict(value, limit)
    assert needed is not None
    first = find_first(is_decided, n)
    assert n + needed == pytest.approx(first, rel=0.15)


def find_first(is_decided: Callable[[int], bool], start: int) -> int:
    return next(items for items in range(start, 10_000) if is_decided(items))


def test_value_at_the_floor_is_never_decided() -> None:
    assert compute_items_until_verdict(build_value(0.6, 0.5, 0.7, 50), 0.6) is None
    assert compute_items_until_verdict(build_value(0.6 + 1e-9, 0.5, 0.7, 50), 0.6) is None


def test_alpha_is_that_of_the_intervals() -> None:
    assert pytest.approx(0.05) == ALPHA
