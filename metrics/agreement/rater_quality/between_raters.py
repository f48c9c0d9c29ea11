"""Compare raters with each other: funnel, bias, repeated answers, answers opposite to the others.

A rater may differ from the others only because these others differ: a rater who shares items with a
harsh rater alone looks lenient. So estimate_levels removes the levels of the others, and needs at
least three raters, as find_biased_raters does.

The sign of the kappa with quadratic weights is that of the covariance, whatever the level of the
rater: it is positive for a rater with a strong bias, about 0 for a guesser, and negative for one
who answers high where the others answer low.

The funnel is the range around the median rater that chance explains, narrower with more items:
Spiegelhalter 2005, Statistics in Medicine 24, 1185-1202.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

from metrics.agreement.counts.additive_counts import PairTables
from metrics.agreement.counts.grouping import Ints, index_distinct
from metrics.agreement.estimate import NORMAL_QUANTILE, Floats

MIN_ITEMS = 30  # compared items from which a rater enters the funnel
MIN_RATERS = 3  # with fewer raters there is no funnel


@dataclass(frozen=True)
class Funnel:
    """Funnel around the median rater: its center, and the standard deviation of one item."""

    center: float
    item_sd: float

    def compute_limits(self, n_items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and the upper 95 % limits (N,) for numbers of items (N,), each >= 1."""
        half_width = NORMAL_QUANTILE * self.item_sd / np.sqrt(n_items)
        return self.center - half_width, self.center + half_width


def build_funnel(values: np.ndarray, ses: np.ndarray, n_items: np.ndarray) -> Funnel | None:
    """Return the funnel of raters, or None for fewer than MIN_RATERS with MIN_ITEMS items.

    values, ses (R,): coefficient and standard error of each rater, NaN where unknown; n_items (R,):
    compared items. The variance of one item is the median of n se^2 over the raters, so that an
    outlier moves neither the center nor the width.
    """
    is_usable = np.isfinite(values) & np.isfinite(ses) & (n_items >= MIN_ITEMS)
    if np.count_nonzero(is_usable) < MIN_RATERS:
        return None
    variance = float(np.median(n_items[is_usable] * ses[is_usable] ** 2))
    return Funnel(float(np.median(values[is_usable])), float(np.sqrt(variance)))


FALSE_POSITIVE_RATE = 0.05  # of naming anyone on a question where all rate on one level
# Standard deviations of the answers, between a small and a medium effect (Cohen 1988): smaller ones
# are found in most raters of large studies.
MIN_EFFECT = 0.3
# For repeated answers, where the alert (outliers.rater_rules) asks for far more evidence:
MIN_SHARE = 0.9  # of the most frequent answer: almost always
MIN_OTHER_ANSWERS = 0.2  # share of other answers among those of the others on the same items
SELDOM = 0.25  # of how often the others leave the answer, as for the alert
# Correlation of the others, and with the other sign of a rater who answers opposite to them.
MIN_CORRELATION = 0.3  # medium (Cohen 1988)


def find_biased_raters(
    biases: np.ndarray, ses: np.ndarray, n_items: np.ndarray, answer_sd: float
) -> np.ndarray:
    """Return a mask (R,) of the raters who differ clearly from the median bias.

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
    """A rater's own level less the median level, and whether the difference is significant."""

    distance: float
    is_distinct: bool


def estimate_levels(
    tables: PairTables,
    answer_sd: float,
    *,
    values: npt.ArrayLike | None = None,
    variance_factor: float = 1.0,
) -> dict[int, RaterLevel]:
    """Return rater -> own level less the median level of the raters connected by shared items.

    tables: of all pairs of raters that share items; answer_sd: standard deviation of all answers;
    values (k,): numbers of the categories, ranks when None; variance_factor: design effect of
    clusters of items. The levels l are the least-squares fit of l_a - l_b to the mean differences
    of raters a and b, weighted by shared items. Groups of fewer than three connected raters are
    left out: the data do not show which of two differs. is_distinct: the difference is at least
    MIN_EFFECT answer_sd and beyond chance (z test, Bonferroni over the raters).
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
    """Return shared items and mean difference of each pair (P,), and their within-pair variance."""
    counts = tables.tables.astype(float)
    k = counts.shape[-1]
    v = np.arange(k, dtype=float) if values is None else np.asarray(values, float)
    distances = v[:, None] - v[None, :]
    n = tables.tables.sum(axis=(1, 2))
    difference = (counts * distances).sum(axis=(1, 2)) / n
    squares = (counts * (distances - difference[:, None, None]) ** 2).sum()
    return n, difference, float(squares / max(int(n.sum()) - len(n), 1))


def find_repeating_raters(
    share: Floats,
    share_of_others: Floats,
    n_items: Ints,
    *,
    min_other_answers: float = MIN_OTHER_ANSWERS,
) -> np.ndarray:
    """Return a mask (R,) of the raters who nearly always give the same answer.

    share, share_of_others (R,): share of the rater's most frequent answer in the own answers, and
    in those of the others on the same items; n_items (R,). Such a rater gives another answer at
    most a quarter as often as the others, on one of ten items at most, and less often than chance
    explains if the others' share were the rater's own (binomial test with Bonferroni's correction).
    The others give other answers in at least min_other_answers of theirs: where they hardly do
    either, repeating the answer is no fault by itself.
    """
    left, left_by_others = 1 - share, 1 - share_of_others
    is_tested = (n_items >= MIN_ITEMS) & (left_by_others >= min_other_answers)
    p = special.bdtr(np.rint(left * n_items), np.maximum(n_items, 1), left_by_others)
    is_seldom = (share >= MIN_SHARE) & (left <= SELDOM * left_by_others)
    level = FALSE_POSITIVE_RATE / max(int(np.count_nonzero(n_items >= MIN_ITEMS)), 1)
    return np.asarray(is_tested & is_seldom & (p < level))


def find_negative_kappas(kappas: np.ndarray, ses: np.ndarray, n_items: np.ndarray) -> np.ndarray:
    """Return a mask (R,) of the raters whose kappa with the others is below 0 beyond chance.

    kappas, ses (R,): kappa with quadratic weights and its standard error, NaN where unknown;
    n_items (R,): compared items. A z test with Bonferroni's correction for the raters.
    """
    is_usable = np.isfinite(kappas) & np.isfinite(ses) & (n_items >= MIN_ITEMS)
    n_raters = max(int(np.count_nonzero(is_usable)), 1)
    quantile = -special.ndtri(FALSE_POSITIVE_RATE / (2 * n_raters))
    return np.asarray(is_usable & (kappas + quantile * np.where(is_usable, ses, 0.0) < 0))


def select_reversed_raters(
    tables: PairTables, candidates: Collection[int], *, values: npt.ArrayLike | None = None
) -> set[int]:
    """Return the candidates whose answers are the reverse of the others', who agree.

    tables: of all pairs of raters; candidates: their keys; values (k,): numbers of the categories,
    ranks when None. The candidate's answers must correlate by -MIN_CORRELATION or less with those
    of the others on the same items, and the others' answers by MIN_CORRELATION or more with each
    other. So nobody is selected where half of the raters answer opposite to the other half.
    """
    selected = set()
    for rater in candidates:
        own, among_others = _compute_correlations(tables, rater, values)
        if own <= -MIN_CORRELATION and among_others >= MIN_CORRELATION:
            selected.add(rater)
    return selected


def select_scattered_raters(
    tables: PairTables, candidates: Collection[int], *, values: npt.ArrayLike | None = None
) -> set[int]:
    """Return the candidates whose answers hardly follow those of the others, who agree.

    The arguments are those of select_reversed_raters. The candidate's answers correlate with those
    of the others less than half as much as these do with each other: nearer to a guesser, whose
    correlation is 0, than to a rater who differs from the others by a bias alone.
    """
    selected = set()
    for rater in candidates:
        own, among_others = _compute_correlations(tables, rater, values)
        if own < among_others / 2:
            selected.add(rater)
    return selected


def _compute_correlations(
    tables: PairTables, rater: int, values: npt.ArrayLike | None
) -> tuple[float, float]:
    """Return the correlation of a rater with the others, and of these others with each other.

    It is that of the two answers of each pair of raters to a shared item. values (k,): numbers of
    the categories, ranks when None.
    """
    k = tables.tables.shape[-1]
    numbers = np.arange(k, dtype=float) if values is None else np.asarray(values, float)
    is_first, is_second = tables.rater_a == rater, tables.rater_b == rater
    own = tables.tables[is_first].sum(axis=0) + tables.tables[is_second].sum(axis=0).T
    other_raters = np.union1d(tables.rater_b[is_first], tables.rater_a[is_second])
    has_no_own = np.isin(tables.rater_a, other_raters) & np.isin(tables.rater_b, other_raters)
    among_others = tables.tables[has_no_own].sum(axis=0)
    return (
        _compute_correlation(own, numbers),
        _compute_correlation(among_others + among_others.T, numbers),
    )


def _compute_correlation(table: np.ndarray, numbers: np.ndarray) -> float:
    """Return the correlation of rows and columns of a table (k, k) with these numbers (k,).

    NaN with fewer than MIN_ITEMS comparisons, and 0 where one side has one answer only.
    """
    n = table.sum()
    if n < MIN_ITEMS:
        return np.nan
    shares = table / n
    rows, columns = (numbers - shares.sum(axis=axis) @ numbers for axis in (1, 0))
    variances = shares.sum(axis=1) @ rows**2 * (shares.sum(axis=0) @ columns**2)
    return float(rows @ shares @ columns / np.sqrt(variances)) if variances > 0 else 0.0
