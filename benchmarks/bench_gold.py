"""Promises about gold answers, checked on simulated answers.

    python benchmarks/bench_gold.py [--raters 4000] [--sets 20]

Shares of honest raters warned and paused (checked after every answer), of passed exams, coverage
of intervals, and wrong gold answers detected before 20 exposures.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from metrics.agreement.estimate import wilson_interval
from metrics.agreement.rater_quality import gold

ANSWERS = 500
SEED = 7


def simulate_honest(rng: np.random.Generator, raters: int, p: float) -> tuple[float, float]:
    """Return the shares of raters ever warned (evidence 20) and ever paused (evidence 100).

    Each answer is right with probability ``p``.
    """
    highest = [gold.compute_evidence(rng.random(ANSWERS) < p, 0.7).max() for _ in range(raters)]
    return float(np.mean(np.array(highest) >= 20)), float(np.mean(np.array(highest) >= 100))


def simulate_bad(rng: np.random.Generator, raters: int, p: float) -> float:
    """Return the median number of answers until a rater, right with probability p, is paused."""
    paused_at = [
        gold.count_answers_until_pause(gold.compute_evidence(rng.random(ANSWERS) < p, 0.7))
        for _ in range(raters)
    ]
    return float(
        np.median([ANSWERS + 1 if n_answers is None else n_answers for n_answers in paused_at])
    )


def measure_coverage(rng: np.random.Generator, raters: int, n: int, p: float) -> float:
    n_covered = 0
    for right in rng.binomial(n, p, raters):
        low, high = wilson_interval(int(right), n)
        n_covered += low <= p <= high
    return n_covered / raters


def detect_wrong_gold(rng: np.random.Generator, sets: int) -> tuple[float, float]:
    """Return the shares of wrong and of right gold answers that are listed by the 20th exposure.

    Of 100 gold items with 4 categories 5 are wrong; 20 raters are right in 70 to 95 of 100 cases.
    """
    k, items, raters = 4, 100, 20
    wrong_listed, right_listed = [], []
    for _ in range(sets):
        truth = rng.integers(k, size=items)
        gold_answers = truth.copy()
        wrong_items = rng.choice(items, 5, replace=False)
        gold_answers[wrong_items] = (truth[wrong_items] + rng.integers(1, k, wrong_items.size)) % k
        accuracy = rng.uniform(0.7, 0.95, raters)
        given_answers = np.where(
            rng.random((items, raters)) < accuracy,
            truth[:, None],
            (truth[:, None] + rng.integers(1, k, (items, raters))) % k,
        )
        listed = np.zeros(items, bool)
        for exposures in (3, 5, 10, 15, 20):
            answers = {
                i: dict(enumerate(given_answers[i, :exposures].tolist())) for i in range(items)
            }
            suspects = gold.find_suspect_gold(answers, dict(enumerate(gold_answers.tolist())), k)
            listed |= [suspects[i].is_suspect for i in range(items)]
        is_wrong = np.isin(np.arange(items), wrong_items)
        wrong_listed.append(listed[is_wrong].mean())
        right_listed.append(listed[~is_wrong].mean())
    return float(np.mean(wrong_listed)), float(np.mean(right_listed))


def run_gold(raters: int, sets: int) -> None:
    rng = np.random.default_rng(SEED)
    print("\n## Gold\n")
    print("| what | promised | found |\n|---|---|---|")
    for p in (0.7, 0.8):
        warned, paused = simulate_honest(rng, raters, p)
        print(f"| raters right {p:g} of the time, bar 0.7: ever warned | <= 5 % | {warned:.2%} |")
        print(f"| ... ever paused | <= 1 % | {paused:.2%} |")
    for p in (0.4, 0.5, 0.6):
        print(
            f"| right {p:g} of the time: answers until paused, median | | {simulate_bad(rng, 500, p):.0f} |"
        )
    for max_items, promised in ((50, "about "), (80, ""), (100, "")):
        low, high = (
            gold.exam_pass_probability(0.6, max_answers=max_items),
            gold.exam_pass_probability(0.8, max_answers=max_items),
        )
        print(f"| exam of {max_items} items, right 0.6: passes | {promised}5 % | {low:.2%} |")
        print(f"| ... right 0.8: passes | {promised}95 % | {high:.1%} |")
    for n, p in ((10, 0.7), (30, 0.8), (100, 0.9)):
        share = measure_coverage(rng, 20_000, n, p)
        print(f"| 95 % interval of {n} answers, right {p:g}: covers | 95 % | {share:.1%} |")
    wrong_listed, right_listed = detect_wrong_gold(rng, sets)
    print(f"| wrong gold listed by the 20th exposure | >= 90 % | {wrong_listed:.1%} |")
    print(f"| right gold listed ever | | {right_listed:.2%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raters", type=int, default=4_000)
    parser.add_argument("--sets", type=int, default=20)
    options = parser.parse_args()
    run_gold(options.raters, options.sets)


if __name__ == "__main__":
    main()
