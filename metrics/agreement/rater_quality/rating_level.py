"""Raters who rate higher or lower than the others on the same items, or always the same.

A rater may differ from the others only because these others differ: a rater who shares items with a
harsh rater alone looks lenient. So estimate_levels removes the levels of the others, and both
functions need at least three raters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

from metrics.agreement.counts.additive import PairTables
from metrics.agreement.counts.grouping import Ints, index_distinct
from metrics.agreement.estimate import Floats

from .funnel import MIN_ITEMS, MIN_RATERS

FALSE_POSITIVE_RATE = 0.05  # of naming anyone on a question where all rate on one level
# Standard deviations of the answers, between a small and a medium effect (Cohen 1988): smaller ones
# are found in most raters of large studies.
MIN_EFFECT = 0.3
# For repeated answers, where the alert (outliers.careless_raters) asks for far more evidence:
MIN_SHARE = 0.9  # of the most frequent answer: almost always
MIN_OTHER_ANSWERS = 0.25  # share of other answers among those of the others on the same items
SELDOM = 0.25  # of how often the others leave the answer, as for the alert


def find_biased_raters(
    biases: np.ndarray, ses: np.ndarray, n_items: np.ndarray, answer_sd: float
) -> np.ndarray:
    """Return a mask (R,) of the raters whose level differs from that of the middle rater.

    biases, ses (R,): mean difference from the others on the same items, and its standard error, NaN
    where unknown; n_items (R,): compared items; answer_sd: standard deviation of all answers.

    A rater differs if the bias and its distance from the median bias have one sign, both are at
    least MIN_EFFECT answer_sd, and the distance is not due to chance (z test with Bonferroni's
    correction for the raters). The median is the reference because one harsh rater makes all others
    appear lenient. With fewer than three raters nobody differs: the data cannot tell which of two
    is harsh.
    """
    is_usable = np.isfinite(biases) & np.isfinite(ses) & (n_items >= MIN_ITEMS)
    n_raters = np.count_nonzero(is_usable)
    if n_raters < MIN_RATERS:
        return np.zeros(len(biases), bool)
    usable_biases = np.where(is_usable, biases, np.nan)
    distance = usable_biases - np.median(biases[is_usable])
    effect = np.minimum(usable_biases * np.sign(distance), np.abs(distance))
    variances = np.where(is_usable, ses, np.nan) ** 2
    # The median of R independent normal values has the variance pi/2 sigma^2/R.
    variances = variances + np.pi / 2 * np.nanmedian(variances) / n_raters
    quantile = -special.ndtri(FALSE_POSITIVE_RATE / (2 * n_raters))
    is_large = effect >= max(MIN_EFFECT * answer_sd, 1e-9)
    return np.asarray(is_usable & is_large & (np.abs(distance) > quantile * np.sqrt(variances)))


class RaterLevel(NamedTuple):
    """Distance of a rater's own level from the median level, and whether it is distinct."""

    distance: float
    is_distinct: bool


def estimate_levels(
    tables: PairTables,
    answer_sd: float,
    *,
    values: npt.ArrayLike | None = None,
    variance_factor: float = 1.0,
) -> dict[int, RaterLevel]:
    """Return {rater: own level}, against the median level of those they share items with.

    tables: of all pairs of raters that share items; answer_sd: standard deviation of all answers;
    values (k,): numbers of the categories, ranks when None; variance_factor: design effect of
    clusters of items. The levels l solve, by least squares over shared items, mean difference of a
    and b = l_a - l_b. Raters who are not connected by shared items cannot be compared, and of two
    who share items with nobody else the data do not show which one differs. The level must differ
    by MIN_EFFECT answer_sd and beyond chance (z test, Bonferroni over the raters).
    """
    raters, index = index_distinct(np.concatenate([tables.rater_a, tables.rater_b]))
    if not raters.size:
        return {}
    a, b = np.asarray(index).reshape(2, -1)
    n, difference, variance = _summarize_pairs(tables, values)
    size = raters.size
    adjacency = sparse.coo_array((n, (a, b)), (size, size))
    _number, component = sparse.csgraph.connected_components(adjacency, directed=False)
    symmetric = (adjacency + adjacency.T).toarray()
    inverse = np.linalg.pinv(np.diag(symmetric.sum(axis=1)) - symmetric, hermitian=True)
    sums = np.bincount(a, n * difference, size) - np.bincount(b, n * difference, size)
    level = inverse @ sums
    quantile = -special.ndtri(FALSE_POSITIVE_RATE / (2 * size))
    least = max(MIN_EFFECT * answer_sd, 1e-9) * (1 - 1e-9)
    levels: dict[int, RaterLevel] = {}
    for number in np.unique(component):
        members = np.flatnonzero(component == number)
        if members.size < MIN_RATERS:
            continue
        middle = members[np.argsort(level[members], kind="stable")[(members.size - 1) // 2]]
        distance = level[members] - np.median(level[members])
        # Of the difference from the middle rater, which a weak link between two teams makes large.
        errors = inverse[members, members] + inverse[middle, middle] - 2 * inverse[members, middle]
        se = np.sqrt(variance_factor * variance * np.maximum(errors, 0.0))
        is_distinct = np.abs(distance) > np.maximum(quantile * se, least)
        estimates = map(RaterLevel, distance.tolist(), is_distinct.tolist())
        levels |= dict(zip(raters[members].tolist(), estimates, strict=True))
    return levels


def _summarize_pairs(
    tables: PairTables, values: npt.ArrayLike | None
) -> tuple[Ints, Floats, float]:
    """Return shared items and mean difference of each pair (P,), and the variance of an item."""
    counts = tables.tables.astype(float)
    k = counts.shape[-1]
    v = np.arange(k, dtype=float) if values is None else np.asarray(values, float)
    distances = v[:, None] - v[None, :]
    n = tables.tables.sum(axis=(1, 2))
    difference = (counts * distances).sum(axis=(1, 2)) / n
    squares = (counts * (distances - difference[:, None, None]) ** 2).sum()
    return n, difference, float(squares / max(int(n.sum()) - len(n), 1))


def find_repeating_raters(share: Floats, share_of_others: Floats, n_items: Ints) -> np.ndarray:
    """Return a mask (R,) of the raters who leave their most frequent answer too seldom.

    share, share_of_others (R,): of this answer in the rater's own answers and in those of the
    others on the same items; n_items (R,). The rater must leave it at most a quarter as often as
    the others, in one of ten items at most, and less often than chance explains if the others'
    share were the rater's own (binomial test with Bonferroni's correction for the raters).
    """
    left, left_by_others = 1 - share, 1 - share_of_others
    is_tested = (n_items >= MIN_ITEMS) & (left_by_others >= MIN_OTHER_ANSWERS)
    p = special.bdtr(np.rint(left * n_items), np.maximum(n_items, 1), left_by_others)
    is_seldom = (share >= MIN_SHARE) & (left <= SELDOM * left_by_others)
    level = FALSE_POSITIVE_RATE / max(int(np.count_nonzero(n_items >= MIN_ITEMS)), 1)
    return np.asarray(is_tested & is_seldom & (p < level))
