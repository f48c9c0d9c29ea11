"""Measure how often sentences of a dashboard are said where nothing is the case.

    python benchmarks/bench_null_sentences.py [--studies 2000]

Prints "goal | measured" for a grid of studies in which no week, no rater and no pair of
categories differs from the others: the share of studies in which agreement "fell" or "rose", any
rater "agrees less with the others", or two categories are "most confused". The first is at most 5%, the
others are at most 1%. The formulas are those of the pages; no database is needed.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agreement_site.settings")

import django

django.setup()

from metrics.agreement.counts.tally import count_patterns
from metrics.agreement.explain.diagnosis import diagnose
from metrics.agreement.explain.outlying_raters import compare_raters
from metrics.results.headline import trends

GOAL, RATER_GOAL, CONFUSION_GOAL = 0.05, 0.01, 0.01
Design = tuple[int, int, float, float]  # items, raters, prevalence, error
SIZES, RATERS, PREVALENCES, ERRORS = (20, 60, 200), (2, 3, 6), (0.05, 0.2, 0.5), (0.03, 0.15, 0.4)


def simulate_codes(rng: np.random.Generator, design: Design) -> np.ndarray:
    """Return codes (n_items, n_raters) of two categories; raters err alike, hard items more."""
    n_items, n_raters, prevalence, error = design
    truth = rng.random(n_items) < prevalence
    probability = np.where(rng.random(n_items) < 0.2, min(0.5, 3 * error), error)
    return np.asarray(
        truth[:, None] ^ (rng.random((n_items, n_raters)) < probability[:, None]), np.int64
    )


def count_patterns_of_codes(codes: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    item = np.repeat(np.arange(len(codes)), codes.shape[1])
    counted = count_patterns(item, codes.ravel(), k)
    return counted.counts, counted.n_items


def has_change(rng: np.random.Generator, design: Design) -> bool:
    weeks = [count_patterns_of_codes(simulate_codes(rng, design), 2) for _week in range(2)]
    return bool(trends.compare_periods(weeks[0], weeks[1], None)[2])


def has_outlier(rng: np.random.Generator, design: Design) -> bool:
    codes = simulate_codes(rng, design)
    item, rater = np.indices(codes.shape).reshape(2, -1)
    # The last rater rates the first half of the items only.
    included = (rater < codes.shape[1] - 1) | (item < len(codes) / 2)
    tests = compare_raters(item[included], rater[included], codes.ravel()[included], 2)
    return any(test.is_below for test in tests)


def has_confusion(rng: np.random.Generator, design: Design) -> bool:
    """Four categories, of which two share what is left of the first two."""
    n_items, n_raters, prevalence, error = design
    shares = np.array([(1 - prevalence) / 2] * 2 + [prevalence / 2] * 2)
    truth = rng.choice(4, n_items, p=shares)
    random_codes = rng.choice(4, (n_items, n_raters), p=shares)
    wrong = rng.random((n_items, n_raters)) < error
    codes = np.where(wrong, random_codes, truth[:, None])
    return any(
        finding.name == "confused_categories"
        for finding in diagnose(*count_patterns_of_codes(codes, 4))
    )


def main() -> None:
    """Print the mean and the largest share of false sentences over the grid of designs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=2000, help="studies for each design")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print("| sentence | designs | mean | largest | designs above the goal beyond chance |")
    print("|---|---|---|---|---|")
    for name, function, raters, goal in (
        ("agreement fell or rose", has_change, RATERS, GOAL),
        ("a rater agrees less with the others", has_outlier, RATERS[1:], RATER_GOAL),
        ("two categories are most confused", has_confusion, RATERS, CONFUSION_GOAL),
    ):
        shares: dict[Any, Any] = {}
        for size in SIZES:
            for n_raters in raters:
                for prevalence in PREVALENCES:
                    for error in ERRORS:
                        design = size, n_raters, prevalence, error
                        rng = np.random.default_rng([options.seed, len(shares)])
                        n_said = sum(function(rng, design) for _study in range(options.studies))
                        shares[design] = n_said / options.studies
        mean = sum(shares.values()) / len(shares)
        # The largest of many designs lies above the true share by chance.
        n_sentences = np.rint(np.array(list(shares.values())) * options.studies)
        chance = special.bdtrc(n_sentences - 1, options.studies, goal)  # of so many or more
        above = int(((n_sentences > 0) & (chance < 0.05 / len(shares))).sum())
        print(
            f"| {name} | {len(shares)} | <= {goal:.0%} \\| {mean:.1%} | "
            f"{max(shares.values()):.1%} | 0 \\| {above} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
