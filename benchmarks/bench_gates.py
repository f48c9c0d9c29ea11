"""Gates that are asked after every batch: how often chance lets one pass, and what that costs.

Raters agree exactly as well as the limit demands, items are independent (beta-binomial, so that
Fleiss' kappa is the limit), and the gate is asked 200 times. A gate that passes has passed falsely.
It prints the share of gates that pass at any look, by the interval of one look and by the
confidence sequence (goal | measured), and the price in items. `--quick`: fewer simulations.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

from metrics.agreement import Estimate, estimate_coefficient
from metrics.agreement.counts.wider_intervals import widen_to_sequence

LOOKS = 200
GOAL = 0.05
FLOORS, RATERS, PREVALENCES, STEPS = (0.6, 0.8), (2, 3, 4, 5), (0.1, 0.3, 0.5), (10, 25, 50)


def simulate_looks(
    kappa: float, raters: int, prevalence: float, step: int, *, gates: int, seed: int
) -> tuple[Estimate, np.ndarray]:
    """Return Fleiss' kappa (gates, looks) of growing numbers of items, and the numbers (looks,)."""
    rng = np.random.default_rng(seed)
    strength = (1 - kappa) / kappa
    shares = rng.beta(prevalence * strength, (1 - prevalence) * strength, size=(gates, LOOKS, step))
    positive = rng.binomial(raters, shares)
    per_batch = np.stack([(positive == n).sum(axis=2) for n in range(raters + 1)], axis=2)
    patterns = np.stack([np.arange(raters + 1), raters - np.arange(raters + 1)], axis=1)
    totals = per_batch.cumsum(axis=1)
    return estimate_coefficient("fleiss_kappa", patterns, totals), totals.sum(axis=2)


def find_passes(estimate: Estimate, limit: float, *, is_sequence: bool) -> np.ndarray:
    """Return a mask (gates, looks) of looks whose lower end is above the limit."""
    if not is_sequence:
        return np.asarray(estimate.low > limit)
    passes = np.zeros(estimate.shape, bool)
    # The sequence is wider: the other looks cannot pass.
    for gate, look in np.argwhere(estimate.low > limit).tolist():
        low = widen_to_sequence(estimate.to_value((gate, look)))["low"]
        passes[gate, look] = low is not None and low > limit
    return passes


def print_false_passes(gates: int) -> None:
    print("| limit | raters | prevalence | items a look | one look | goal | measured |")
    print("|---|---|---|---|---|---|---|")
    worst = 0.0
    cases = itertools.product(FLOORS, RATERS, PREVALENCES, STEPS)
    for seed, (limit, raters, prevalence, step) in enumerate(cases):
        estimate, _n = simulate_looks(limit, raters, prevalence, step, gates=gates, seed=seed)
        fixed, sequence = (
            find_passes(estimate, limit, is_sequence=is_sequence).any(axis=1).mean()
            for is_sequence in (False, True)
        )
        worst = max(worst, sequence)
        print(
            f"| {limit} | {raters} | {prevalence} | {step} | {fixed:.1%} | <= {GOAL:.0%} |"
            f" {sequence:.1%} |",
            flush=True,
        )
    print(f"\nWorst: {worst:.1%} of {gates} gates ({'met' if worst <= GOAL else 'not met'})\n")


def print_price(gates: int) -> None:
    """Print the items until half of the gates pass, if each is asked once or after each batch."""
    print("| kappa | limit | items, asked once | items, asked after each 10 | ratio |")
    print("|---|---|---|---|---|")
    for kappa, limit in ((0.75, 0.6), (0.7, 0.6), (0.9, 0.8), (0.85, 0.8)):
        step = 10 if kappa - limit > 0.07 else 20
        estimate, n = simulate_looks(kappa, 3, 0.3, step, gates=gates, seed=1)
        once = n[0][find_passes(estimate, limit, is_sequence=False).mean(axis=0).searchsorted(0.5)]
        passes = find_passes(estimate, limit, is_sequence=True)
        has_passed = np.maximum.accumulate(passes, axis=1).mean(axis=0)
        repeatedly = n[0][has_passed.searchsorted(0.5)]
        print(
            f"| {kappa} | {limit} | {once} | {repeatedly} | {repeatedly / once:.1f} |", flush=True
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    n_gates = 100 if parser.parse_args().quick else 1_000
    print_false_passes(n_gates)
    print_price(n_gates // 4)
