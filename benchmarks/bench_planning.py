"""Ratings saved by a planned order of the queue, on real data sets.

    python benchmarks/bench_planning.py FOLDER [--sets a,b] [--goals labels,narrow] [--runs 3]

FOLDER has CSV files with the columns item, rater, label; of a rater's several ratings of an item
the first counts. Ratings are requested one after the other. The order chooses the next item; its
rating is drawn from the set's unused ratings of the item, and an item gets no more than it has in
the set. After each hundredth of the ratings the order is recomputed, as by the sweep.

labels  until 95 % of the labels that all ratings make sure (confidence >= 0.95) are sure
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
from metrics.agreement.estimate import t_quantile

SURE_CONFIDENCE, REQUIRED_SHARE, TARGET_HALF_WIDTH = 0.95, 0.95, 0.05
RANDOM_SHARE = 0.1  # random part of the planned order


class RatingArrays(NamedTuple):
    """item, rater, code (M,) as indices 0, 1, ..; k categories."""

    item: np.ndarray
    rater: np.ndarray
    code: np.ndarray
    k: int

    @property
    def n_items(self) -> int:
        return int(self.item.max()) + 1


def read_ratings(path: Path) -> RatingArrays:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        labels_by_pair: dict[tuple[str, str], str] = {}
        for row in csv.DictReader(file):
            labels_by_pair.setdefault((row["item"], row["rater"]), row["label"])
    items, raters = np.array(list(labels_by_pair)).T
    columns = [np.unique(values, return_inverse=True) for values in (items, raters)]
    labels, code = np.unique(list(labels_by_pair.values()), return_inverse=True)
    return RatingArrays(columns[0][1], columns[1][1], code, len(labels))


class QueueState:
    """The ratings requested so far; the next rating of each item is drawn in advance."""

    def __init__(self, data: RatingArrays, rng: np.random.Generator) -> None:
        self.data, self.rng = data, rng
        permutation = rng.permutation(data.item.size)
        self.order = permutation[np.argsort(data.item[permutation], kind="stable")]
        self.start = np.searchsorted(data.item[self.order], np.arange(data.n_items + 1))
        self.n_given = np.zeros(data.n_items, np.int64)

    @property
    def open(self) -> np.ndarray:
        return np.flatnonzero(self.n_given < np.diff(self.start))

    def request_ratings(self, items: np.ndarray) -> None:
        self.n_given[items] += 1

    @property
    def rows(self) -> np.ndarray:
        parts = [self.order[a : a + n] for a, n in zip(self.start[:-1], self.n_given, strict=True)]
        return np.concatenate(parts)

    def fit_consensus(self) -> consensus.DawidSkene:
        rows, data = self.rows, self.data
        return consensus.fit_dawid_skene(data.item[rows], data.rater[rows], data.code[rows], data.k)

    def compute_half_width(self) -> float:
        counts = np.zeros((self.data.n_items, self.data.k))
        np.add.at(counts, (self.data.item[self.rows], self.data.code[self.rows]), 1)
        patterns, n = np.unique(counts[counts.sum(axis=1) >= 2], axis=0, return_counts=True)
        if n.sum() < 30:
            return float("inf")
        se = fleiss.fleiss_kappa(patterns, n).se
        return float(t_quantile(int(n.sum()) - 1) * se)


Chooser = Callable[[QueueState, int], np.ndarray]


def choose_at_random(state: QueueState, n: int) -> np.ndarray:
    return state.rng.choice(state.open, min(n, state.open.size), replace=False)


def _compute_gain(posterior: np.ndarray, pooled: np.ndarray) -> np.ndarray:
    return consensus.expected_information(posterior, pooled[None])[:, 0]


def choose_by_information(state: QueueState, n: int) -> np.ndarray:
    """Choose the items whose next rating is most informative, like quality.planning.planned_queues."""
    random_items = choose_at_random(state, max(1, round(n * RANDOM_SHARE)))
    fit = state.fit_consensus()
    if fit.reason is not None:
        return choose_at_random(state, n)
    gain = np.full(state.data.n_items, _compute_gain(fit.classes[None], fit.pooled_confusion)[0])
    gain[fit.items] = _compute_gain(fit.posterior, fit.pooled_confusion)
    sure_items = fit.items[fit.posterior.max(axis=1) >= SURE_CONFIDENCE]
    gain[sure_items] = -1
    remaining = np.setdiff1d(state.open, random_items)
    ranked = remaining[np.lexsort((state.rng.random(remaining.size), -gain[remaining]))]
    return np.concatenate([random_items, ranked[: n - random_items.size]])


def choose_pairs_first(state: QueueState, n: int) -> np.ndarray:
    """Choose items with one rating before items without any."""
    random_items = choose_at_random(state, max(1, round(n * RANDOM_SHARE)))
    remaining = np.setdiff1d(state.open, random_items)
    rank = np.where(state.n_given[remaining] == 1, 0, np.where(state.n_given[remaining] == 0, 1, 2))
    ranked = remaining[np.lexsort((state.rng.random(remaining.size), rank))]
    return np.concatenate([random_items, ranked[: n - random_items.size]])


def simulate_queue(
    data: RatingArrays, choose: Chooser, is_reached: Callable[[QueueState], bool], seed: int
) -> QueueState:
    """Request ratings until ``is_reached``; return the state of the queue.

    A step is a hundredth of the ratings or a tenth of the items.
    """
    state = QueueState(data, np.random.default_rng(seed))
    step = max(10, min(data.item.size // 100, data.n_items // 10))
    while state.open.size and not is_reached(state):
        state.request_ratings(choose(state, step))
    return state


def evaluate_labels(data: RatingArrays, runs: int) -> str:
    full_fit = consensus.fit_dawid_skene(data.item, data.rater, data.code, data.k)
    target = REQUIRED_SHARE * int((full_fit.posterior.max(axis=1) >= SURE_CONFIDENCE).sum())
    final_labels = consensus.posterior_modes(full_fit.posterior)

    def is_reached(state: QueueState) -> bool:
        if state.n_given.sum() < data.n_items // 2:
            return False
        fit = state.fit_consensus()
        return (
            fit.reason is None
            and int((fit.posterior.max(axis=1) >= SURE_CONFIDENCE).sum()) >= target
        )

    def count_until_sure(choose: Chooser, seed: int) -> tuple[int, float]:
        state = simulate_queue(data, choose, is_reached, seed)
        fit = state.fit_consensus()
        is_same = consensus.posterior_modes(fit.posterior) == final_labels[fit.items]
        return int(state.n_given.sum()), float(is_same.sum() / data.n_items)

    random_mean = np.mean(
        [count_until_sure(choose_at_random, seed) for seed in range(runs)], axis=0
    )
    planned_mean = np.mean(
        [count_until_sure(choose_by_information, seed) for seed in range(runs)], axis=0
    )
    return (
        f"{target:.0f} sure | {random_mean[0]:,.0f} | {planned_mean[0]:,.0f} |"
        f" {100 * planned_mean[0] / random_mean[0]:.0f} % | {100 * random_mean[1]:.1f} | {100 * planned_mean[1]:.1f}"
    )


def evaluate_interval(data: RatingArrays, runs: int) -> str:
    full_state = QueueState(data, np.random.default_rng(0))
    full_state.n_given = np.diff(full_state.start)
    target_width = max(TARGET_HALF_WIDTH, 1.5 * full_state.compute_half_width())

    def is_reached(state: QueueState) -> bool:
        return state.compute_half_width() <= target_width

    def count_until_narrow(choose: Chooser) -> float:
        states = [simulate_queue(data, choose, is_reached, seed) for seed in range(runs)]
        return float(np.mean([state.n_given.sum() for state in states]))

    random_mean, planned_mean = (
        count_until_narrow(choose_at_random),
        count_until_narrow(choose_pairs_first),
    )
    return f"±{target_width:.3f} | {random_mean:,.0f} | {planned_mean:,.0f} | {100 * planned_mean / random_mean:.0f} % | | "


GOALS = {"labels": evaluate_labels, "narrow": evaluate_interval}


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
        data = read_ratings(path)
        for goal in args.goals.split(","):
            cells = GOALS[goal](data, args.runs)
            print(f"| {name} | {goal} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
