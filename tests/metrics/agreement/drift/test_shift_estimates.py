"""Since when, and by how much: against plain regressions, and against what was planted."""

from typing import Any

import alert_intervals
import numpy as np
import pytest

from metrics.agreement import drift
from metrics.agreement.drift.evidence import DailySums


def explained(y, w, f):
    """How far f explains y beyond its mean, in log-likelihood; the slope and its error."""
    root = np.sqrt(w)
    design = np.column_stack([np.ones(y.size), f])
    without = np.sum(w * (y - np.average(y, weights=w)) ** 2)
    fit, *_ = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)
    left = np.sum(w * (y - design @ fit) ** 2)
    error = np.sqrt(np.linalg.inv(design.T @ (design * w[:, None]))[1, 1])
    return (without - left) / 2, fit[1], error


@pytest.mark.parametrize(("side", "over", "seed"), [(1, 1, 1), (-1, 1, 2), (1, 15, 3), (-1, 25, 4)])
def test_the_sets_are_those_of_plain_regressions(side, over, seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(12, 40, 50)
    day = np.arange(50)
    shift = side * 0.5 * np.clip((day - 24) / over, 0, 1)
    scores = [rng.normal(mean, 0.8, size) for mean, size in zip(shift, n, strict=True)]
    total = np.array([one.sum() for one in scores])
    squares = np.array([(one**2).sum() for one in scores])
    prior, s2, kappa2 = drift.PRIORS[drift.UP], 0.5, 0.005
    known: dict[str, Any] = {"s2": s2, "kappa2": kappa2, "side": side, "prior": prior}
    found = drift.compute_evidence(n, total, squares, **known)
    leading = int(found.onset[-1])

    items = np.concatenate(scores[leading:])
    apart = items.mean() - np.concatenate(scores[:leading]).mean()
    wide = max(1, (items.var() + 10 * apart**2 / (items.size + 10)) / s2)
    y, w = total / n, 1 / (s2 / n + kappa2) / wide
    steps, ramps, sizes = {}, {}, {}
    for j in range(50):
        if n[:j].sum() >= 30 and n[j:].sum() >= 10:
            gain, slope, error = explained(y, w, day >= j)
            steps[j] = gain * (slope * side > 0)
            sizes[j] = slope - 2.2414 * error, slope + 2.2414 * error
            gain, slope, _error = explained(y, w, np.clip(day - j + 1, 0, None))
            ramps[j] = gain * (slope * side > 0)
    best = max(*steps.values(), *ramps.values())
    began = [j for j in steps if best - max(steps[j], ramps[j]) <= np.log(40) or j == leading]
    sized = [sizes[j] for j in steps if max(steps.values()) - steps[j] <= np.log(40)]
    sized.append(sizes[leading])

    one = drift.estimate_shift(DailySums(n, total, squares), leading, **known)
    assert (one.earliest, one.latest) == (min(began), max(began))
    expected = min(low for low, _ in sized), max(high for _, high in sized)
    assert (one.low, one.high) == pytest.approx(expected, abs=1e-4)
    assert one.low < found.step[-1] < one.high


@pytest.mark.parametrize(
    "name", ["bias 0.5", "kappa -0.3, ordinal", "bias 0.6 growing over 30 days"]
)
def test_what_an_alarm_tells_holds_what_was_planted(name):
    """150 charts until they ring: 95 % less two standard errors, and not by being without bounds.
    Of the second, an interval about the leading onset holds 70 %."""
    (planted,) = (row for row in alert_intervals.SCENARIOS if row.name == name)
    rng = np.random.default_rng(8)
    drawn = (alert_intervals.simulate_days(planted, rng) for _ in range(150))
    told = [
        one for one in (alert_intervals.check_first_alert(planted, days) for days in drawn) if one
    ]
    assert len(told) > 140
    assert np.mean([one.onset_covered for one in told]) > 0.915
    assert np.mean([one.size_covered for one in told]) > 0.915
    assert np.median([one.half_width for one in told]) < 1.5
