"""Test onset intervals and shift sizes against plain regressions and simulated drift."""

from typing import Any

import alert_intervals
import numpy as np
import pytest

from metrics.agreement import drift
from metrics.agreement.drift.evidence import DailySums


def fit_regression(y, w, f):
    """Return the gain of f over the mean of y in log-likelihood, the slope and its error."""
    root = np.sqrt(w)
    design = np.column_stack([np.ones(y.size), f])
    residual_without = np.sum(w * (y - np.average(y, weights=w)) ** 2)
    fit, *_ = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)
    residual_with = np.sum(w * (y - design @ fit) ** 2)
    error = np.sqrt(np.linalg.inv(design.T @ (design * w[:, None]))[1, 1])
    return (residual_without - residual_with) / 2, fit[1], error


@pytest.mark.parametrize(("side", "over", "seed"), [(1, 1, 1), (-1, 1, 2), (1, 15, 3), (-1, 25, 4)])
def test_intervals_match_plain_regressions(side, over, seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(12, 40, 50)
    day = np.arange(50)
    shift = side * 0.5 * np.clip((day - 24) / over, 0, 1)
    scores = [rng.normal(mean, 0.8, size) for mean, size in zip(shift, n, strict=True)]
    total = np.array([estimate.sum() for estimate in scores])
    squares = np.array([(estimate**2).sum() for estimate in scores])
    prior, s2, kappa2 = drift.PRIORS[drift.UP], 0.5, 0.005
    parameters: dict[str, Any] = {"s2": s2, "kappa2": kappa2, "side": side, "prior": prior}
    evidence = drift.compute_evidence(n, total, squares, **parameters)
    leading = int(evidence.onset[-1])

    items = np.concatenate(scores[leading:])
    level_difference = items.mean() - np.concatenate(scores[:leading]).mean()
    caution = max(1, (items.var() + 10 * level_difference**2 / (items.size + 10)) / s2)
    y, w = total / n, 1 / (s2 / n + kappa2) / caution
    steps, ramps, sizes = {}, {}, {}
    for j in range(50):
        if n[:j].sum() >= 30 and n[j:].sum() >= 10:
            gain, slope, error = fit_regression(y, w, day >= j)
            steps[j] = gain * (slope * side > 0)
            sizes[j] = slope - 2.2414 * error, slope + 2.2414 * error
            gain, slope, _error = fit_regression(y, w, np.clip(day - j + 1, 0, None))
            ramps[j] = gain * (slope * side > 0)
    best = max(*steps.values(), *ramps.values())
    onsets = [j for j in steps if best - max(steps[j], ramps[j]) <= np.log(40) or j == leading]
    size_intervals = [sizes[j] for j in steps if max(steps.values()) - steps[j] <= np.log(40)]
    size_intervals.append(sizes[leading])

    estimate = drift.estimate_shift(DailySums(n, total, squares), leading, **parameters)
    assert (estimate.earliest, estimate.latest) == (min(onsets), max(onsets))
    expected = min(low for low, _ in size_intervals), max(high for _, high in size_intervals)
    assert (estimate.low, estimate.high) == pytest.approx(expected, abs=1e-4)
    assert estimate.low < evidence.step[-1] < estimate.high


@pytest.mark.parametrize(
    "name", ["bias 0.5", "kappa -0.3, ordinal", "bias 0.6 growing over 30 days"]
)
def test_intervals_of_alerts_cover_the_simulated_drift(name):
    """Simulate 150 charts until they give an alert.

    The limit is 95 % less two standard errors, and the intervals must be bounded. Of the second
    row, an interval around the leading onset covers only 70 %.
    """
    (row_of_plan,) = (row for row in alert_intervals.SCENARIOS if row.name == name)
    rng = np.random.default_rng(8)
    simulations = (alert_intervals.simulate_days(row_of_plan, rng) for _ in range(150))
    coverages = [
        coverage
        for coverage in (
            alert_intervals.check_first_alert(row_of_plan, days) for days in simulations
        )
        if coverage
    ]
    assert len(coverages) > 140
    assert np.mean([coverage.onset_covered for coverage in coverages]) > 0.915
    assert np.mean([coverage.size_covered for coverage in coverages]) > 0.915
    assert np.median([coverage.half_width for coverage in coverages]) < 1.5
