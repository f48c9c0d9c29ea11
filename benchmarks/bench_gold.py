"""What is promised of gold, counted on simulated answers: honest raters warned and paused, looked
at after every answer; exams passed; intervals; wrong gold found before 20 exposures.

    python benchmarks/bench_gold.py [--raters 4000] [--sets 20]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from metrics.agreement.estimate import wilson
from metrics.agreement.rater_quality import gold

ANSWERS = 500
SEED = 7


def honest(rng: np.random.Generator, raters: int, p: float) -> tuple[float, float]:
    """Shares of raters, right with probability p, who are ever warned (20) and paused (100)."""
    highest = [gold.evidence(rng.random(ANSWERS) < p, 0.7).max() for _ in range(raters)]
    return float(np.mean(np.array(highest) >= 20)), float(np.mean(np.array(highest) >= 100))


def bad(rng: np.random.Generator, raters: int, p: float) -> float:
    """The median number of answers until a rater, right with probability p, is paused."""
    found = [gold.paused_at(gold.evidence(rng.random(ANSWERS) < p, 0.7)) for _ in range(raters)]
    return float(np.median([ANSWERS + 1 if at is None else at for at in found]))


def covered(rng: np.random.Generator, raters: int, n: int, p: float) -> float:
    inside = 0
    for right in rng.binomial(n, p, raters):
        low, high = wilson(int(right), n)
        inside += low <= p <= high
    return inside / raters


def wrong_gold(rng: np.random.Generator, sets: int) -> tuple[float, float]:
    """Of 100 gold items with 4 categories, 5 of them wrong, answered by 20 raters who are right in
    70 to 95 of 100 cases: shares of wrong ones listed by the 20th exposure, and of right ones."""
    k, items, raters = 4, 100, 20
    found, innocent = [], []
    for _ in range(sets):
        truth = rng.integers(k, size=items)
        key = truth.copy()
        wrong = rng.choice(items, 5, replace=False)
        key[wrong] = (truth[wrong] + rng.integers(1, k, wrong.size)) % k
        share = rng.uniform(0.7, 0.95, raters)
        said = np.where(
            rng.random((items, raters)) < share,
            truth[:, None],
            (truth[:, None] + rng.integers(1, k, (items, raters))) % k,
        )
        listed = np.zeros(items, bool)
        for exposures in (3, 5, 10, 15, 20):
            answers = {i: dict(enumerate(said[i, :exposures].tolist())) for i in range(items)}
            suspects = gold.wrong_gold(answers, dict(enumerate(key.tolist())), k)
            listed |= [suspects[i].listed for i in range(items)]
        is_wrong = np.isin(np.arange(items), wrong)
        found.append(listed[is_wrong].mean())
        innocent.append(listed[~is_wrong].mean())
    return float(np.mean(found)), float(np.mean(innocent))


def run(raters: int, sets: int) -> None:
    rng = np.random.default_rng(SEED)
    print("\n## Gold\n")
    print("| what | promised | found |\n|---|---|---|")
    for p in (0.7, 0.8):
        warned, paused = honest(rng, raters, p)
        print(f"| raters right {p:g} of the time, bar 0.7: ever warned | <= 5 % | {warned:.2%} |")
        print(f"| ... ever paused | <= 1 % | {paused:.2%} |")
    for p in (0.4, 0.5, 0.6):
        print(
            f"| right {p:g} of the time: answers until paused, median | | {bad(rng, 500, p):.0f} |"
        )
    for most, promised in ((50, "about "), (80, ""), (100, "")):
        low, high = gold.exam_passes(0.6, most=most), gold.exam_passes(0.8, most=most)
        print(f"| exam of {most} items, right 0.6: passes | {promised}5 % | {low:.2%} |")
        print(f"| ... right 0.8: passes | {promised}95 % | {high:.1%} |")
    for n, p in ((10, 0.7), (30, 0.8), (100, 0.9)):
        share = covered(rng, 20_000, n, p)
        print(f"| 95 % interval of {n} answers, right {p:g}: covers | 95 % | {share:.1%} |")
    listed, innocent = wrong_gold(rng, sets)
    print(f"| wrong gold listed by the 20th exposure | >= 90 % | {listed:.1%} |")
    print(f"| right gold listed ever | | {innocent:.2%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raters", type=int, default=4_000)
    parser.add_argument("--sets", type=int, default=20)
    given = parser.parse_args()
    run(given.raters, given.sets)


if __name__ == "__main__":
    main()
