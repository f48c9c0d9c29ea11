"""Test the funnel limits of raters."""

import numpy as np
import pytest

from metrics.agreement.rater_quality import between_raters


def test_funnel_covers_raters_who_differ_by_chance():
    random = np.random.default_rng(2)
    n = random.integers(30, 2_000, 4_000)
    ses = 0.8 / np.sqrt(n)
    values = random.normal(0.5, ses)
    values[:40], ses[40:60] = -1.0, np.nan  # outliers and unknown errors do not change the funnel
    result = between_raters.build_funnel(values, ses, n)
    assert result is not None
    assert (result.center, result.item_sd) == (pytest.approx(0.5, abs=0.01), pytest.approx(0.8))
    low, high = result.compute_limits(n)
    inside = (values[60:] > low[60:]) & (values[60:] < high[60:])
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)


def test_two_raters_have_no_funnel():
    assert (
        between_raters.build_funnel(np.array([0.5, 0.9]), np.array([0.1, 0.1]), np.array([50, 50]))
        is None
    )
