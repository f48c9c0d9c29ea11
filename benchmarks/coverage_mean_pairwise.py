"""How often the interval of the mean pairwise kappa by items holds the true one: simulated raters
and items, drawn anew each time. Prints the table of docs/statistics.md.

A rater answers the item's true category with the own probability, else by the own habits. The truth
is the mean over very many pairs of raters on very many items.
"""

from __future__ import annotations

import sys

import numpy as np

from metrics.agreement.coefficients import cohen
from metrics.agreement.coefficients.light import KappasOfPairs, by_items
from metrics.agreement.counts.tally import pair_tables, patterns
from metrics.agreement.estimate import Estimate

K = 4
TRIALS = 2000
SHARES = np.array([0.5, 0.25, 0.15, 0.1])


def drawn(rng: np.random.Generator, n: int, raters: int, share: float) -> tuple[np.ndarray, ...]:
    """item, rater, code of n items, each rater having rated this share of them."""
    truth = rng.choice(K, n, p=SHARES)
    right = rng.beta(14, 6, raters)  # 0.7 on average, 0.1 apart
    habits = rng.dirichlet(4 * SHARES, raters)
    cumulative = habits.cumsum(axis=1)
    guess = (rng.random((n, raters))[:, :, None] > cumulative[None]).sum(axis=2).clip(max=K - 1)
    codes = np.where(rng.random((n, raters)) < right, truth[:, None], guess)
    item, rater = np.nonzero(rng.random((n, raters)) < share)
    return item, rater, codes[item, rater]


def mean(ratings: tuple[np.ndarray, ...]) -> Estimate:
    item, rater, code = ratings
    pairs = pair_tables(item, rater, code, K)
    kappas = cohen.kappa(pairs.tables, interval=False).value
    shared = pairs.tables.sum(axis=(1, 2))
    counted = patterns(item, code, K)
    known = KappasOfPairs(pairs.rater_a, pairs.rater_b, shared, kappas)
    estimate, _n = by_items(known, counted.counts, counted.n_items)
    return estimate


def main() -> None:
    rng = np.random.default_rng(20)
    truth = np.mean([mean(drawn(rng, 4000, 60, 1.0)).value for _ in range(20)])
    out = sys.stdout
    out.write(f"true mean {truth:.3f}; {TRIALS} trials a row\n\n")
    out.write("| raters | items | rated | held | mean width |\n|---|---|---|---|---|\n")
    for raters in (3, 5, 10, 30):
        for n in (50, 200):
            for share in (1.0, 0.3):
                found = [mean(drawn(rng, n, raters, share)) for _ in range(TRIALS)]
                known = [one for one in found if not np.isnan(one.low)]
                held = np.mean([one.low <= truth <= one.high for one in known])
                width = np.mean([one.high - one.low for one in known])
                out.write(f"| {raters} | {n} | {share:.0%} | {held:.1%} | {width:.2f} |\n")
                out.flush()


if __name__ == "__main__":
    main()
