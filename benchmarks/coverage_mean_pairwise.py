"""Coverage of the interval of the mean pairwise kappa, on simulated raters and items.

It prints the table of docs/statistics.md. A rater gives the item's true category with their own
accuracy, else a category by their own habits. The true value is the mean over very many pairs
of raters on very many items.
"""

from __future__ import annotations

import sys

import numpy as np

from metrics.agreement.coefficients import cohen
from metrics.agreement.coefficients.cohen import PairKappas, mean_kappa_weighted_by_items
from metrics.agreement.counts.tally import count_pair_tables, count_patterns
from metrics.agreement.estimate import Estimate

K = 4
TRIALS = 2000
CATEGORY_SHARES = np.array([0.5, 0.25, 0.15, 0.1])


def simulate_ratings(
    rng: np.random.Generator, n: int, raters: int, rated_share: float
) -> tuple[np.ndarray, ...]:
    """Return item, rater, code (M,) of n items, of which each rater has rated this share."""
    truth = rng.choice(K, n, p=CATEGORY_SHARES)
    accuracy = rng.beta(14, 6, raters)  # mean 0.7, standard deviation 0.1
    habits = rng.dirichlet(4 * CATEGORY_SHARES, raters)
    cumulative = habits.cumsum(axis=1)
    guess = (rng.random((n, raters))[:, :, None] > cumulative[None]).sum(axis=2).clip(max=K - 1)
    codes = np.where(rng.random((n, raters)) < accuracy, truth[:, None], guess)
    item, rater = np.nonzero(rng.random((n, raters)) < rated_share)
    return item, rater, codes[item, rater]


def estimate_mean_kappa(ratings: tuple[np.ndarray, ...]) -> Estimate:
    item, rater, code = ratings
    pairs = count_pair_tables(item, rater, code, K)
    kappas = cohen.kappa(pairs.tables, interval=False).value
    shared = pairs.tables.sum(axis=(1, 2))
    tally = count_patterns(item, code, K)
    pair_kappas = PairKappas(pairs.rater_a, pairs.rater_b, shared, kappas)
    estimate, _n = mean_kappa_weighted_by_items(pair_kappas, tally.counts, tally.n_items)
    return estimate


def main() -> None:
    rng = np.random.default_rng(20)
    truth = np.mean(
        [estimate_mean_kappa(simulate_ratings(rng, 4000, 60, 1.0)).value for _ in range(20)]
    )
    output = sys.stdout
    output.write(f"true mean {truth:.3f}; {TRIALS} trials a row\n\n")
    output.write("| raters | items | rated | held | mean width |\n|---|---|---|---|---|\n")
    for raters in (3, 5, 10, 30):
        for n in (50, 200):
            for share in (1.0, 0.3):
                estimates = [
                    estimate_mean_kappa(simulate_ratings(rng, n, raters, share))
                    for _ in range(TRIALS)
                ]
                defined = [estimate for estimate in estimates if not np.isnan(estimate.low)]
                coverage = np.mean([estimate.low <= truth <= estimate.high for estimate in defined])
                width = np.mean([estimate.high - estimate.low for estimate in defined])
                output.write(f"| {raters} | {n} | {share:.0%} | {coverage:.1%} | {width:.2f} |\n")
                output.flush()


if __name__ == "__main__":
    main()
