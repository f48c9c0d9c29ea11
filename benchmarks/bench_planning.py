"""How many ratings a planned order of the queue spares, on real ratings.

    python benchmarks/bench_planning.py FOLDER [--sets a,b] [--goals labels,narrow] [--runs 3]

FOLDER holds CSV files with the columns item, rater, label; of a rater's several ratings of an item
the first counts. Ratings are asked for one after the other. Which item comes next is chosen by the
order, what is said of it is drawn from the set's own ratings of the item that were not used yet,
and an item has no more than it has in the set. After each hundredth of the ratings the order looks
again, as the sweep does.

labels  until 95 % of the labels that all ratings make sure (certainty >= 0.95) are sure
narrow  until the 95 % interval of Fleiss' kappa is +-0.05 (pairs are completed first), or 1.5
        times as wide as with all ratings where those do not reach that
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from metrics.agreement import consensus
from metrics.agreement.coefficients import fleiss
from metrics.agreement.estimate import quantile_t

SURE, REACHED, HALF_WIDTH = 0.95, 0.95, 0.05
RANDOM_SHARE = 0.1  # of the planned order too


class Ratings(NamedTuple):
    """item, rater, code (M,) as places 0, 1, ..; k categories."""

    item: np.ndarray
    rater: np.ndarray
    code: np.ndarray
    k: int

    @property
    def n_items(self) -> int:
        return int(self.item.max()) + 1


def read(path: Path) -> Ratings:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        said: dict[tuple[str, str], str] = {}
        for row in csv.DictReader(file):
            said.setdefault((row["item"], row["rater"]), row["label"])
    items, raters = np.array(list(said)).T
    columns = [np.unique(values, return_inverse=True) for values in (items, raters)]
    labels, code = np.unique(list(said.values()), return_inverse=True)
    return Ratings(columns[0][1], columns[1][1], code, len(labels))


class State:
    """The ratings that were asked for so far; of each item the next one is drawn beforehand."""

    def __init__(self, data: Ratings, rng: np.random.Generator) -> None:
        self.data, self.rng = data, rng
        drawn = rng.permutation(data.item.size)
        self.order = drawn[np.argsort(data.item[drawn], kind="stable")]
        self.start = np.searchsorted(data.item[self.order], np.arange(data.n_items + 1))
        self.given = np.zeros(data.n_items, np.int64)

    @property
    def open(self) -> np.ndarray:
        return np.flatnonzero(self.given < np.diff(self.start))

    def ask(self, items: np.ndarray) -> None:
        self.given[items] += 1

    @property
    def rows(self) -> np.ndarray:
        parts = [self.order[a : a + n] for a, n in zip(self.start[:-1], self.given, strict=True)]
        return np.concatenate(parts)

    def fit(self) -> consensus.DawidSkene:
        rows, data = self.rows, self.data
        return consensus.dawid_skene(data.item[rows], data.rater[rows], data.code[rows], data.k)

    def half_width(self) -> float:
        counts = np.zeros((self.data.n_items, self.data.k))
        np.add.at(counts, (self.data.item[self.rows], self.data.code[self.rows]), 1)
        patterns, n = np.unique(counts[counts.sum(axis=1) >= 2], axis=0, return_counts=True)
        if n.sum() < 30:
            return float("inf")
        se = fleiss.fleiss_kappa(patterns, n).se
        return float(quantile_t(int(n.sum()) - 1) * se)


Chooser = Callable[[State, int], np.ndarray]


def at_random(state: State, n: int) -> np.ndarray:
    return state.rng.choice(state.open, min(n, state.open.size), replace=False)


def _gain(posterior: np.ndarray, pooled: np.ndarray) -> np.ndarray:
    return consensus.information(posterior, pooled[None])[:, 0]


def by_information(state: State, n: int) -> np.ndarray:
    """What quality.planning.queue_order does: the items that the next rating tells most of."""
    some = at_random(state, max(1, round(n * RANDOM_SHARE)))
    found = state.fit()
    if found.reason is not None:
        return at_random(state, n)
    gain = np.full(state.data.n_items, _gain(found.classes[None], found.pooled)[0])
    gain[found.items] = _gain(found.posterior, found.pooled)
    done = found.items[found.posterior.max(axis=1) >= SURE]
    gain[done] = -1
    left = np.setdiff1d(state.open, some)
    best = left[np.lexsort((state.rng.random(left.size), -gain[left]))]
    return np.concatenate([some, best[: n - some.size]])


def pairs_first(state: State, n: int) -> np.ndarray:
    """Items with one rating get their second one before others get their first."""
    some = at_random(state, max(1, round(n * RANDOM_SHARE)))
    left = np.setdiff1d(state.open, some)
    rank = np.where(state.given[left] == 1, 0, np.where(state.given[left] == 0, 1, 2))
    best = left[np.lexsort((state.rng.random(left.size), rank))]
    return np.concatenate([some, best[: n - some.size]])


def simulated(data: Ratings, choose: Chooser, reached: Callable[[State], bool], seed: int) -> State:
    """Until ``reached``, in steps of a hundredth of the ratings or a tenth of the items."""
    state = State(data, np.random.default_rng(seed))
    step = max(10, min(data.item.size // 100, data.n_items // 10))
    while state.open.size and not reached(state):
        state.ask(choose(state, step))
    return state


def labels(data: Ratings, runs: int) -> str:
    whole = consensus.dawid_skene(data.item, data.rater, data.code, data.k)
    target = REACHED * int((whole.posterior.max(axis=1) >= SURE).sum())
    final = consensus.modes(whole.posterior)

    def reached(state: State) -> bool:
        if state.given.sum() < data.n_items // 2:
            return False
        found = state.fit()
        return found.reason is None and int((found.posterior.max(axis=1) >= SURE).sum()) >= target

    def same(choose: Chooser, seed: int) -> tuple[int, float]:
        state = simulated(data, choose, reached, seed)
        found = state.fit()
        agree = consensus.modes(found.posterior) == final[found.items]
        return int(state.given.sum()), float(agree.sum() / data.n_items)

    random = np.mean([same(at_random, seed) for seed in range(runs)], axis=0)
    planned = np.mean([same(by_information, seed) for seed in range(runs)], axis=0)
    return (
        f"{target:.0f} sure | {random[0]:,.0f} | {planned[0]:,.0f} |"
        f" {100 * planned[0] / random[0]:.0f} % | {100 * random[1]:.1f} | {100 * planned[1]:.1f}"
    )


def narrow(data: Ratings, runs: int) -> str:
    wide = State(data, np.random.default_rng(0))
    wide.given = np.diff(wide.start)
    goal = max(HALF_WIDTH, 1.5 * wide.half_width())

    def reached(state: State) -> bool:
        return state.half_width() <= goal

    def needed(choose: Chooser) -> float:
        states = [simulated(data, choose, reached, seed) for seed in range(runs)]
        return float(np.mean([state.given.sum() for state in states]))

    random, planned = needed(at_random), needed(pairs_first)
    return f"±{goal:.3f} | {random:,.0f} | {planned:,.0f} | {100 * planned / random:.0f} % | | "


GOALS = {"labels": labels, "narrow": narrow}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", default="act_sp_amt,act_weather_amt,cubam_ducks")
    parser.add_argument("--goals", default="labels,narrow")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    print(
        "| set | goal | until | random order | planned | planned / random | as all, % random |"
        " as all, % planned |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in args.sets.split(","):
        path = next(args.folder.glob(f"{name}.csv*"))
        data = read(path)
        for goal in args.goals.split(","):
            found = GOALS[goal](data, args.runs)
            print(f"| {name} | {goal} | {found} |", flush=True)


if __name__ == "__main__":
    main()
