"""Changes of kappa: of two sets of items, and of two independent values.

Two sets: Fleiss' kappas with influence values f, difference d,

    se^2 = se1^2 + se2^2 - 2 sum f1_i f2_i / (n1 n2) over items in both sets

t with Welch's degrees of freedom (Welch 1947, Biometrika 34, 28-35), min(n1, n2) - 1 where items
are in both. Independent values: from the interval of each (Zou & Donner 2008, Statistics in
Medicine 27, 1693-1702).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.coefficients import fleiss
from metrics.agreement.counts.pattern_sums import build_pattern_sums
from metrics.agreement.estimate import (
    CONFIDENCE_LEVEL,
    NORMAL_QUANTILE,
    SINGULAR_TOLERANCE,
    Value,
    t_quantile,
)

CountedPatterns = tuple[npt.ArrayLike, npt.ArrayLike]  # patterns (P, k), numbers of items (P,)
TOO_FEW = "too_few_items"
NO_VARIANCE = "zero_variance"


@dataclass(frozen=True)
class KappaChange:
    """Kappa of two sets of items and their difference; None with a reason where undefined.

    p: two-sided p-value of no difference; test_reason: why df or p is undefined.
    """

    before: Value
    after: Value
    difference: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    df: float | None = None
    p: float | None = None
    reason: str | None = None
    se_reason: str | None = None
    test_reason: str | None = None


def compare_before_after(
    first: CountedPatterns,
    second: CountedPatterns,
    weights: npt.ArrayLike | None = None,
    *,
    shared: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike] | None = None,
) -> KappaChange:
    """Return the change of Fleiss' kappa between two sets of items.

    first, second: patterns (P, k) and numbers of items (P,) of each set; weights (k, k) or None.
    shared: the items that both sets contain, as their patterns in the first (Q, k) and in the
    second (Q, k), and numbers of items (Q,); None for disjoint sets. Raises ValueError if a set
    lacks the pattern of a shared item.
    """
    kappas = [
        fleiss.fleiss_kappa(*pattern_counts, weights=weights) for pattern_counts in (first, second)
    ]
    before, after = (kappa.to_value() for kappa in kappas)
    if before["value"] is None or after["value"] is None:
        reason = before["reason"] or after["reason"]
        return KappaChange(before, after, reason=reason, se_reason=reason, test_reason=reason)
    difference = after["value"] - before["value"]
    if before["se"] is None or after["se"] is None:
        return KappaChange(before, after, difference, se_reason=TOO_FEW, test_reason=TOO_FEW)
    squares = np.array([before["se"], after["se"]]) ** 2
    n = np.array([_count_items(first), _count_items(second)])
    variance = float(squares.sum())
    if shared is None:
        total = variance**2
        # Rounding must not leave less than the smallest possible number, 1 for two items.
        welch = total / float((squares**2 / (n - 1)).sum()) if total > 0 else math.nan
        df = max(welch, float(n.min() - 1))
    else:
        variance = max(variance - 2 * _compute_covariance(first, second, weights, shared), 0.0)
        df = float(n.min() - 1)
    se = math.sqrt(variance)
    if se < SINGULAR_TOLERANCE:
        return KappaChange(
            before, after, difference, 0.0, difference, difference, test_reason=NO_VARIANCE
        )
    margin = float(t_quantile(df)) * se
    p = 2 * float(special.stdtr(df, -abs(difference) / se))
    return KappaChange(
        before, after, difference, se, difference - margin, difference + margin, df, p
    )


def _count_items(pattern_counts: CountedPatterns) -> float:
    return float(build_pattern_sums(*pattern_counts).n)


def _compute_covariance(
    first: CountedPatterns,
    second: CountedPatterns,
    weights: npt.ArrayLike | None,
    shared: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
) -> float:
    """Return the covariance of the kappas of two sets: sum f1_i f2_i / (n1 n2) over shared items.

    f is the influence of an item on kappa. Raises ValueError if a set lacks the pattern of a shared
    item.
    """
    n_items = np.asarray(shared[2], float)
    influences = []
    for pattern_counts, patterns in ((first, shared[0]), (second, shared[1])):
        set_patterns = np.asarray(pattern_counts[0], np.int64)
        values = fleiss.influence(*pattern_counts, weights)
        influence_of_pattern = {
            tuple(row): value for row, value in zip(set_patterns.tolist(), values, strict=True)
        }
        rows = np.asarray(patterns, np.int64).tolist()
        try:
            influences.append(np.array([influence_of_pattern[tuple(row)] for row in rows]))
        except KeyError as error:
            raise ValueError(f"items in both sets have a pattern that one lacks: {error}") from None
    n = _count_items(first) * _count_items(second)
    return float((n_items * influences[0] * influences[1]).sum()) / n


def permutation_p_value(
    first: CountedPatterns,
    second: CountedPatterns,
    weights: npt.ArrayLike | None = None,
    *,
    replicates: int = 999,
    seed: int = 0,
) -> float | None:
    """Return the p-value of equal kappas, by permuting items between two disjoint sets.

    first, second: patterns (P, k) and numbers of items (P,); weights (k, k) or None. The statistic
    is the absolute difference divided by its standard error; None where it is undefined. The same
    seed gives the same p-value.
    """
    counts = np.concatenate([np.asarray(first[0]), np.asarray(second[0])])
    patterns, where = np.unique(counts, axis=0, return_inverse=True)
    numbers = np.concatenate([np.asarray(first[1]), np.asarray(second[1])]).astype(np.int64)
    is_first = np.arange(len(counts)) < len(np.asarray(first[0]))
    total = np.bincount(where.ravel(), numbers, len(patterns)).astype(np.int64)
    first_items = np.bincount(where.ravel(), numbers * is_first, len(patterns)).astype(np.int64)
    rng = np.random.default_rng(seed)
    permuted_items = rng.multivariate_hypergeometric(total, int(first_items.sum()), size=replicates)
    samples = np.concatenate([first_items[None], permuted_items])
    first_kappa = fleiss.fleiss_kappa(patterns, samples, weights=weights)
    second_kappa = fleiss.fleiss_kappa(patterns, total - samples, weights=weights)
    se = np.hypot(first_kappa.se, second_kappa.se)
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = np.abs(second_kappa.value - first_kappa.value) / np.where(
            se > SINGULAR_TOLERANCE, se, np.nan
        )
    if not np.isfinite(statistic[0]):
        return None
    defined = statistic[1:][np.isfinite(statistic[1:])]
    return float((1 + (defined >= statistic[0] - 1e-12).sum()) / (1 + defined.size))


def adjust_holm(p: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for multiple tests by Holm's method, in the given order.

    Source: Holm 1979, Scandinavian J. of Statistics 6, 65-70.
    """
    order = np.argsort(p, kind="stable")
    adjusted = [0.0] * len(p)
    largest = 0.0
    for rank, index in enumerate(order.tolist()):
        largest = max(largest, min(1.0, (len(p) - rank) * p[index]))
        adjusted[index] = largest
    return adjusted


def compute_difference_margin(before: Mapping[str, Any], after: Mapping[str, Any]) -> float:
    """Return the smallest difference of two independent values that is significant at 5 %.

    before, after: value, low and high. It is the margin towards 0 of the 95% interval of the
    difference, infinite where a limit is undefined.
    """
    lower, higher = sorted((before, after), key=lambda estimate: float(estimate["value"]))
    if lower["high"] is None or higher["low"] is None:
        return math.inf
    return math.hypot(lower["high"] - lower["value"], higher["value"] - higher["low"])


def compute_difference_interval(
    before: Mapping[str, Any], after: Mapping[str, Any], *, n_differences: int = 1
) -> tuple[float, float] | None:
    """Return the 95% interval of the difference of two independent values, after less before.

    before, after: value, low and high; the result is None where one of them is None. n_differences:
    number of intervals that are to hold together (Bonferroni).
    """
    numbers = [estimate[name] for estimate in (before, after) for name in ("value", "low", "high")]
    if None in numbers:
        return None
    value, low, high, new_value, new_low, new_high = numbers
    change = new_value - value
    quantile = special.ndtri(1 - (1 - CONFIDENCE_LEVEL) / 2 / n_differences)
    factor = float(quantile) / NORMAL_QUANTILE
    return (
        change - factor * math.hypot(new_value - new_low, high - value),
        change + factor * math.hypot(new_high - new_value, value - low),
    )
