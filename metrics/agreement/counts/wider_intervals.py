"""Wider intervals: for items in clusters, and for a coefficient that is read again and again.

Items of one cluster (document, patient) may be alike in how much raters agree, or in the categories
that occur. The standard error of independent items is then too small. The design effect D is the
ratio of two jackknife variances of the same coefficient, where a cluster, or else an item, is left
out at a time:

    D = V(clusters) / V(items),   V = (n - 1) / n sum_i (c_(-i) - mean of c_(-i))^2

Leaving out clusters is the sandwich estimator by cluster with the small-sample correction of the
jackknife (Liang & Zeger 1986, Biometrika 73, 13-22; Bell & McCaffrey 2002, Survey Methodology 28,
169-181; of kappas: Vanbelle 2019, Statistical Methods in Medical Research 28, 3012-3026); the ratio
is the design effect of Kish 1965, Survey Sampling. Clusters of one item each have D = 1. D is at
least 1: items that differ more within clusters than between them do not narrow an interval.

A 95% interval is right in 95% of the cases where it is computed once. If it is computed after every
batch, until one lies above a limit, it is wrong far more often. A confidence sequence is
right at all n together, in 95% of all sequences. Here it is that of the normal mixture (Robbins
1970, Annals of Mathematical Statistics 41, 1397-1409; Howard, Ramdas, McAuliffe & Sekhon 2021,
Annals of Statistics 49, 1055-1080, proposition 5) for a coefficient whose errors of the items add
up to nearly normal ones (asymptotic confidence sequences: Waudby-Smith, Arbour, Sinha, Kennedy &
Ramdas 2024, Annals of Statistics 52, 2613-2640):

    z_n = sqrt((1 + rho / n) (log(1 + n / rho) - 2 log(alpha)))

standard errors in place of 1.96; rho makes it narrowest near TIGHTEST_ITEMS items. The ends of the
interval shown move z_n / 1.96 times as far away, as those of items in clusters do (move_ends).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

from metrics.agreement.counts.additive_counts import PatternCounts
from metrics.agreement.counts.grouping import Ints, index_distinct, rank_rows
from metrics.agreement.estimate import CONFIDENCE_LEVEL, NORMAL_QUANTILE, Floats, Value, t_quantile

MIN_CLUSTERS = 6  # with fewer, an interval cannot be relied on
MAX_DELETIONS = 500  # clusters left out one by one; with more, the effects of their items are added
MAX_PATTERNS = 4_000  # with more, D is that of every second, fourth, ... cluster
_MAX_CELLS = 1 << 20  # numbers of items in one call

# counts (P, k), n_items (R, P) -> name -> values (R,) or (R, F), NaN where undefined
Estimator = Callable[[Ints, Floats], Mapping[str, Floats]]


@dataclass(frozen=True)
class ClusterEffects:
    """Design effects of coefficients by name: one for each of the F values of a coefficient.

    n_clusters, n_items: numbers of clusters with comparable items, and of these items.
    """

    n_clusters: int
    n_items: int
    effects: dict[str, list[float]]


def compute_cluster_effects(by_cluster: PatternCounts, estimate: Estimator) -> ClusterEffects:
    """Return the design effect of clusters on each coefficient that `estimate` computes.

    by_cluster: patterns whose `day` is the number of their cluster. With more than MAX_PATTERNS
    patterns, every second cluster is left out repeatedly until no more than these remain. No
    effects with a single cluster.
    """
    tally = _ClusterTally.from_patterns(by_cluster)
    comparable = tally.n_items[:, tally.counts.sum(axis=1) >= 2].sum(axis=1)
    while len(tally.counts) > MAX_PATTERNS and tally.n_items.shape[0] > 2:
        tally = tally.select_every_second()
    effects = _compute_ratios(tally, estimate) if tally.n_items.shape[0] > 1 else {}
    return ClusterEffects(int((comparable > 0).sum()), int(comparable.sum()), effects)


@dataclass(frozen=True)
class _ClusterTally:
    """Patterns (P, k), and their sparse numbers of items by cluster (C, P)."""

    counts: Ints
    n_items: sparse.csr_array

    @classmethod
    def from_patterns(cls, by_cluster: PatternCounts) -> _ClusterTally:
        if by_cluster.day is None:
            raise ValueError("these patterns were counted without clusters")
        if not len(by_cluster):
            return cls(by_cluster.counts, sparse.csr_array((0, 0)))
        clusters, row = index_distinct(by_cluster.day)
        first, column = rank_rows(list(by_cluster.counts.T))
        cells = (by_cluster.n_items.astype(float), (row, column))
        n_items = sparse.csr_array(cells, shape=(clusters.size, first.size))
        return cls(by_cluster.counts[first], n_items)

    def select_every_second(self) -> _ClusterTally:
        """Return every second cluster, with the patterns of their items."""
        n_items = self.n_items[::2]
        is_used = n_items.sum(axis=0) > 0
        return _ClusterTally(self.counts[is_used], sparse.csr_array(n_items[:, is_used]))


def _compute_ratios(tally: _ClusterTally, estimate: Estimator) -> dict[str, list[float]]:
    n_clusters = tally.n_items.shape[0]
    total = np.asarray(tally.n_items.sum(axis=0))
    full = estimate(tally.counts, total[None])
    without_item = _estimate_without(tally, sparse.eye_array(len(total), format="csr"), estimate)
    without_cluster = None
    if n_clusters <= MAX_DELETIONS:
        without_cluster = _estimate_without(tally, tally.n_items, estimate)
    sizes = np.asarray(tally.n_items.sum(axis=1))
    # Without any variance between items, D is that of clusters whose items are all alike.
    greatest = float(sizes @ sizes / sizes.sum())
    effects = {}
    for name, values in full.items():
        point = values.reshape(1, -1)
        changes = _replace_undefined(without_item[name].reshape(len(total), -1) - point)
        if without_cluster is None:
            cluster_changes = tally.n_items @ changes
        else:
            cluster_changes = _replace_undefined(
                without_cluster[name].reshape(n_clusters, -1) - point
            )
        of_items = _compute_jackknife_variance(changes, total)
        of_clusters = _compute_jackknife_variance(cluster_changes, np.ones(n_clusters))
        scale = np.finfo(float).eps * np.maximum(np.abs(_replace_undefined(point[0])), 1)
        varies = of_items > scale**2 * total.sum()
        ratio = np.divide(of_clusters, of_items, out=np.full_like(of_items, greatest), where=varies)
        # Clusters of one item each are exactly 1.
        effects[name] = np.where(ratio < 1 + 1e-9, 1.0, ratio).tolist()
    return effects


def _estimate_without(
    tally: _ClusterTally, removed: sparse.csr_array, estimate: Estimator
) -> dict[str, Floats]:
    """Return name -> values (R, ...) without the numbers of items in each row of removed (R, P)."""
    total = np.asarray(tally.n_items.sum(axis=0))
    step = max(1, _MAX_CELLS // len(total))
    parts: dict[str, list[Floats]] = {}
    for start in range(0, removed.shape[0], step):
        values = estimate(tally.counts, total - removed[start : start + step].toarray())
        for name, part in values.items():
            parts.setdefault(name, []).append(part)
    return {name: np.concatenate(values) for name, values in parts.items()}


def _replace_undefined(values: Floats) -> Floats:
    """Return the values with 0 in place of those that are not finite."""
    return np.where(np.isfinite(values), values, 0.0)


def _compute_jackknife_variance(changes: Floats, numbers: Floats) -> Floats:
    """Return (n - 1) / n sum (change - mean)^2 (F,) of changes (R, F).

    numbers (R,): how often each change occurs; n is their sum.
    """
    n = numbers.sum()
    centred = changes - numbers @ changes / n
    variance: Floats = (n - 1) / n * (numbers @ centred**2)
    return variance


def widen_interval(
    value: Value, effect: float, n_clusters: int, *, is_difference: bool = False
) -> Value:
    """Return a value with interval and standard error widened for items in clusters.

    effect: the design effect D. The ends move f = sqrt(D) t(clusters - 1) / t(items - 1) times as
    far from the value (`move_ends`); those of a mean difference (`is_difference`) do so on its own
    scale. With fewer than two clusters there is no interval; a value without an interval is
    returned unchanged.
    """
    point, low, high, n_items = value["value"], value["low"], value["high"], value["n_items"]
    if point is None or low is None or high is None:
        return value
    widened: Value = {**value, "design_effect": effect}
    n_items = n_items or n_clusters
    n = min(n_clusters, n_items)
    if n < 2:
        return {**widened, "low": None, "high": None, "se": None}
    quantile, quantile_of_items = t_quantile([n - 1, n_items - 1])
    factor = math.sqrt(effect) * float(quantile / quantile_of_items)
    if value["se"] is not None:
        widened["se"] = value["se"] * math.sqrt(effect)
    if factor == 1:
        return widened
    if is_difference:
        widened["low"], widened["high"] = (point + (end - point) * factor for end in (low, high))
        return widened
    widened["low"], widened["high"] = move_ends(
        point, low, high, factor=factor, expected=value["expected"]
    )
    return widened


def move_ends(
    point: float, low: float, high: float, *, factor: float, expected: float | None
) -> tuple[float, float]:
    """Return the ends of a coefficient's interval, moved `factor` times as far from its value.

    The distance is measured on the scale of log(1 - value), which nearly gives the score interval
    (score_intervals.py) with factor^2 times the variance. The lower end is at most factor^2 times
    as far from 1, as that of Wilson's interval is for values near 1. expected: the agreement
    expected by chance, which limits the lower end; None if there is none.
    """
    distance = 1 - point
    lower = (1 - low) * factor**2
    upper = high
    if distance > 0:
        lower = min(lower, distance * ((1 - low) / distance) ** factor)
        upper = 1 - distance * (max(1 - high, 0.0) / distance) ** factor
    # The observed agreement is at least 0.
    least = -1.0 if expected is None or expected >= 1 else -expected / (1 - expected)
    return max(1 - lower, min(least, low)), upper


ALPHA = 1 - CONFIDENCE_LEVEL  # share of sequences that miss the coefficient at any n
TIGHTEST_ITEMS = 200


def _compute_rho() -> float:
    """Return the rho that minimises z_n at n = TIGHTEST_ITEMS."""
    return TIGHTEST_ITEMS / (-float(special.lambertw(-(ALPHA**2) / math.e, -1).real) - 1)


RHO = _compute_rho()


def compute_quantile(n: npt.ArrayLike) -> Floats:
    """Return z_n (...), the quantile of a confidence sequence in place of 1.96, at n >= 1 items.

    n (...): numbers of items.
    """
    share = RHO / np.asarray(n, float)
    quantile = np.sqrt((1 + share) * (np.log1p(1 / share) - 2 * math.log(ALPHA)))
    return np.asarray(quantile)


def compute_widening_factor(n: npt.ArrayLike) -> Floats:
    """Return z_n / 1.96 (...), the width of the sequence at n items relative to a 95% interval."""
    return np.asarray(compute_quantile(n) / NORMAL_QUANTILE)


def widen_to_sequence(value: Value) -> Value:
    """Return a value whose interval is the confidence sequence at its number of items.

    A value without an interval or items is returned unchanged.
    """
    point, low, high, n_items = value["value"], value["low"], value["high"], value["n_items"]
    if point is None or low is None or high is None or not n_items:
        return value
    factor = float(compute_widening_factor(n_items))
    low, high = move_ends(point, low, high, factor=factor, expected=value["expected"])
    return {**value, "low": low, "high": high}
