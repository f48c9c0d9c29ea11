"""Intra-rater agreement: agreement of raters with themselves on repeated items.

Each rater: Cohen's kappa of the table first x second rating. The project: the stratified kappa

    kappa = sum_g n_g (Po_g - Pe_g) / sum_g n_g (1 - Pe_g)
    se^2  = sum (n_g (1 - Pe_g) se_g)^2 / (sum n_g (1 - Pe_g))^2

over the raters whose own kappa is defined, so that differences between raters in their use of
categories are not taken for consistency. Barlow, Lai & Azen 1991, Statistics in Medicine 10,
1465-1472.

Where categories have values (interval and ratio scales), each rater also has an intraclass
correlation: ICC(A,1) of the two ratings with its F interval. The project's is the stratified kappa
with quadratic weights of the values, which approximates that correlation (Fleiss & Cohen 1973,
Educational and Psychological Measurement 33, 613-619).
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients import cohen, two_raters
from metrics.agreement.coefficients.intraclass.icc import icc_from_counts
from metrics.agreement.estimate import Floats, Value, to_finite_float, wilson_interval

MIN_REPEATS = 10  # repeated items from which a rater is compared with the others
MIN_RATERS = 3
MAX_REFERENCE_SHARE = 0.9  # of one answer among those of a rater with whom others are compared
MIN_SHARE_GAP = 0.05  # of equal answers, below the middle rater
FALSE_POSITIVE_RATE = 0.05  # of naming anyone where all are equally consistent
NO_REPEATS = "no_repeats"
TOO_FEW = "too_few_items"


@dataclass(frozen=True)
class RepeatAgreement:
    """Agreement of one rater, or of all together, with their own earlier ratings.

    n: repeats; same: share of equal answers, with Wilson's interval same_low, same_high (None
    without repeats); kappa; shift: mean of second less first rating (None for all together); icc:
    intraclass correlation (None where categories have no values).
    """

    n: int
    same: float | None
    same_low: float | None
    same_high: float | None
    kappa: Value
    shift: Value | None = None
    icc: Value | None = None

    @property
    def reason(self) -> str | None:
        """The reason why kappa is undefined, or None."""
        return self.kappa["reason"]


@dataclass(frozen=True)
class IntraRaterAgreement:
    """Repeat agreement of each rater, in the order of the tables, and of the whole project."""

    raters: list[RepeatAgreement]
    project: RepeatAgreement


def compute_intra_rater_agreement(
    tables: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    values: npt.ArrayLike | None = None,
) -> IntraRaterAgreement:
    """Return the repeat agreement from tables (G, k, k), first x second rating of each rater.

    weights (k, k) or None; values (k,): of the categories, None on scales without numbers.
    """
    counts = np.asarray(tables, np.int64)
    kappas = cohen.kappa(counts, weights).to_values()
    shifts = two_raters.mean_difference(counts.swapaxes(-2, -1), values).to_values()
    raters = []
    for table, kappa, shift in zip(counts, kappas, shifts, strict=True):
        raters.append(
            _build_repeats(table, _mark_undefined_if_too_few(int(table.sum()), kappa), shift)
        )
    total_table = counts.sum(axis=0)
    project = _build_repeats(
        total_table, _compute_stratified_kappa(int(total_table.sum()), raters), None
    )
    if values is None:
        return IntraRaterAgreement(raters, project)
    v = np.asarray(values, float)
    with_icc = [
        replace(rater, icc=_compute_icc(table, v))
        for rater, table in zip(raters, counts, strict=True)
    ]
    return IntraRaterAgreement(with_icc, replace(project, icc=_compute_project_icc(counts, v)))


def _compute_icc(table: npt.NDArray[np.int64], values: Floats) -> Value:
    """Return ICC(A,1) of the first and the second rating, from the table (k, k) and values (k,)."""
    n, k = int(table.sum()), len(table)
    undefined = _mark_undefined(_build_undefined(n), NO_REPEATS if n == 0 else TOO_FEW)
    if n < 2:
        return undefined
    identity = np.eye(k, dtype=np.int64)
    patterns = (identity[:, None, :] + identity[None, :, :]).reshape(-1, k)
    rating_counts = np.stack([table.sum(axis=1), table.sum(axis=0)])
    icc_result = icc_from_counts(patterns, table.ravel(), rating_counts, values)["icc2"]
    return {
        **undefined,
        "value": icc_result.value,
        "low": icc_result.ci_low,
        "high": icc_result.ci_high,
        "reason": icc_result.reason,
    }


def _compute_project_icc(counts: npt.NDArray[np.int64], values: Floats) -> Value:
    """Return the stratified ICC of the repeats of all raters.

    counts (G, k, k): the raters' tables; values (k,): of the categories.
    """
    squared_distance = (values[:, None] - values[None, :]) ** 2
    weights = 1 - squared_distance / max(float(squared_distance.max()), 1e-300)
    kappas = cohen.kappa(counts, weights).to_values()
    raters = [
        _build_repeats(table, _mark_undefined_if_too_few(int(table.sum()), kappa), None)
        for table, kappa in zip(counts, kappas, strict=True)
    ]
    return _compute_stratified_kappa(int(counts.sum()), raters)


def _build_repeats(
    table: npt.NDArray[np.int64], kappa: Value, shift: Value | None
) -> RepeatAgreement:
    n, n_same = int(table.sum()), int(np.trace(table))
    if n == 0:
        undefined_shift = None if shift is None else _mark_undefined(shift, NO_REPEATS)
        return RepeatAgreement(0, None, None, None, kappa, undefined_shift)
    low, high = wilson_interval(n_same, n)
    return RepeatAgreement(n, n_same / n, low, high, kappa, shift)


def _mark_undefined_if_too_few(n: int, kappa: Value) -> Value:
    """Return kappa, undefined with a reason for fewer than two repeats."""
    if n == 0:
        return _mark_undefined(kappa, NO_REPEATS)
    return _mark_undefined(kappa, TOO_FEW) if n < 2 else kappa


def _mark_undefined(value: Value, reason: str) -> Value:
    return {**value, "value": None, "low": None, "high": None, "se": None, "reason": reason}


def _build_undefined(n: int) -> Value:
    """Return a Value of n repeats that is undefined because they are too few."""
    return {
        "value": None,
        "low": None,
        "high": None,
        "se": None,
        "observed": None,
        "expected": None,
        "n_items": n,
        "n_ratings": 2 * n,
        "reason": NO_REPEATS,
    }


def _compute_stratified_kappa(n: int, raters: list[RepeatAgreement]) -> Value:
    """Return the stratified kappa of n repeats over the raters with a defined kappa.

    Its limits combine the distances of the raters' limits from their kappas (Zou & Donner 2008), so
    that a few equal answers do not give an interval of zero width at 1.
    """
    undefined = _build_undefined(n)
    if n == 0:
        return undefined
    used = [rater for rater in raters if rater.kappa["value"] is not None]
    if not used:
        has_single_category = any(rater.reason == "single_category" for rater in raters)
        return {**undefined, "reason": "single_category" if has_single_category else TOO_FEW}
    size = np.array([rater.n for rater in used], float)
    observed = np.array([rater.kappa["observed"] for rater in used], float)
    expected = np.array([rater.kappa["expected"] for rater in used], float)
    share = size * (1 - expected) / (size * (1 - expected)).sum()
    value, se, low, high = (
        np.array([rater.kappa[name] for rater in used], float)
        for name in ("value", "se", "low", "high")
    )
    kappa = float(share @ value)
    return {
        **undefined,
        "value": kappa,
        "low": to_finite_float(kappa - np.linalg.norm(share * (value - low))),
        "high": to_finite_float(min(kappa + np.linalg.norm(share * (high - value)), 1.0)),
        "se": float(np.linalg.norm(share * se)),
        "observed": float((size * observed).sum() / size.sum()),
        "expected": float((size * expected).sum() / size.sum()),
        "reason": None,
    }


def find_inconsistent_raters(
    same: np.ndarray, n_repeats: np.ndarray, largest_share: np.ndarray
) -> np.ndarray:
    """Return a mask (R,) of the raters who repeat their answers less often than the median rater.

    same, n_repeats (R,): equal second answers, and all second answers; largest_share (R,): of the
    most frequent answer in both. A rater is inconsistent if Wilson's interval of the share of equal
    answers (Bonferroni's correction for the raters) lies more than MIN_SHARE_GAP below the median
    of the raters with at least MIN_REPEATS repeats. The median leaves out raters who nearly always
    give one answer, because they repeat it without being consistent. Nobody is marked with fewer
    than MIN_RATERS left.
    """
    is_usable = n_repeats >= MIN_REPEATS
    is_reference = is_usable & (largest_share < MAX_REFERENCE_SHARE)
    if np.count_nonzero(is_reference) < MIN_RATERS:
        return np.zeros(len(same), bool)
    level = 1 - FALSE_POSITIVE_RATE / np.count_nonzero(is_usable)
    bound = np.median(same[is_reference] / n_repeats[is_reference]) - MIN_SHARE_GAP
    is_below = [
        wilson_interval(int(n_same), int(n), level)[1] < bound
        for n_same, n in zip(same[is_usable], n_repeats[is_usable], strict=True)
    ]
    is_inconsistent = np.zeros(len(same), bool)
    is_inconsistent[is_usable] = is_below
    return is_inconsistent
