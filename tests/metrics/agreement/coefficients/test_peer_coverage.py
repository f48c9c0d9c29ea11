"""Test the coverage of intervals of a rater against two peers, by exact probabilities."""

from itertools import product

import numpy as np
import pytest
from scipy import special

from metrics.agreement.coefficients import groups

RATINGS = tuple(product((0, 1), (0, 1, 2)))  # own category, and how many peers say category 1


def compute_probabilities(share: float, kappa: float) -> np.ndarray:
    """Return the probability of each of RATINGS (6,), with the beta-binomial distribution."""
    size = (1 - kappa) / kappa
    n_ones = np.array([own + others for own, others in RATINGS])
    ways = special.comb(2, [others for _own, others in RATINGS])
    a, b = size * share, size * (1 - share)
    logs = special.betaln(n_ones + a, 3 - n_ones + b) - special.betaln(a, b)
    probabilities: np.ndarray = ways * np.exp(logs)
    return probabilities


def compute_false_sides(n: int, share: float, kappa: float) -> tuple[float, float]:
    """Return how often the interval lies below and above kappa, in studies with a value."""
    counts = np.array([row for row in product(range(n + 1), repeat=5) if sum(row) <= n])
    counts = np.column_stack([counts, n - counts.sum(axis=1)])
    logs = special.gammaln(n + 1) - special.gammaln(counts + 1).sum(axis=1)
    probability = np.exp(logs + counts @ np.log(compute_probabilities(share, kappa)))
    assert probability.sum() == pytest.approx(1)
    own = np.eye(2)[[own for own, _others in RATINGS]]
    others = np.array([[2 - ones, ones] for _own, ones in RATINGS], float)
    tables = np.einsum("st,tj,tl->sjl", counts, own, others)
    moments = np.einsum("st,tj,tl,tq->sjlq", counts, own, others, others, optimize=True)
    estimate = groups.peer_kappa(tables, moments, np.full(len(counts), n))
    defined = np.isfinite(estimate.low)
    probability = probability[defined] / probability[defined].sum()
    is_below, is_above = estimate.high[defined] < kappa, estimate.low[defined] > kappa
    return float(probability[is_below].sum()), float(probability[is_above].sum())


@pytest.mark.parametrize("n", [10, 15])
@pytest.mark.parametrize("kappa", [0.4, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_one_side_is_seldom_false(n: int, kappa: float, share: float) -> None:
    """Kappa has no interval where the rater or the peers use one category: it is then 0.

    With one, 14% of the studies of 10 items would be false on one side.
    """
    assert max(compute_false_sides(n, share, kappa)) <= 0.05
