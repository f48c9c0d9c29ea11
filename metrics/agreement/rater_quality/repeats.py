"""How far raters agree with themselves: items that a rater rated twice without knowing.

Each rater: Cohen's kappa of the table first x second rating. The project: the stratified kappa

    kappa = sum_g n_g (Po_g - Pe_g) / sum_g n_g (1 - Pe_g)
    se^2  = sum (n_g (1 - Pe_g) se_g)^2 / (sum n_g (1 - Pe_g))^2

over the raters whose own kappa is defined, so that a difference of habits between raters is not
taken for consistency. Barlow, Lai & Azen 1991, Statistics in Medicine 10, 1465-1472.

Where categories have values (interval and ratio scales), each rater's intraclass correlation stands
beside it: ICC(A,1) of the two ratings with its F interval. The project's is the stratified kappa
with quadratic weights of the values, which is what that correlation comes to (Fleiss & Cohen 1973,
Educational and Psychological Measurement 33, 613-619).
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients import cohen, two_raters
from metrics.agreement.coefficients.intraclass.icc import icc_of_counts
from metrics.agreement.estimate import Floats, Value, quantile_t, wilson

NO_REPEATS = "no_repeats"
TOO_FEW = "too_few_items"


@dataclass(frozen=True)
class Repeats:
    """One rater, or all together: n repeats, `same` the share of equal ones with Wilson's interval,
    kappa, the mean of second less first rating (None for all together), and the intraclass
    correlation (None where categories have no values)."""

    n: int
    same: float | None
    same_low: float | None
    same_high: float | None
    kappa: Value
    shift: Value | None = None
    icc: Value | None = None

    @property
    def reason(self) -> str | None:
        """Why there is no kappa."""
        return self.kappa["reason"]


@dataclass(frozen=True)
class Intra:
    """Each rater in the order of the tables, and the project."""

    raters: list[Repeats]
    project: Repeats


def intra(
    tables: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    values: npt.ArrayLike | None = None,
) -> Intra:
    """Tables (G, k, k) of counts, first x second rating of a rater -> Intra. ``values`` (k,): of
    the categories, on numeric scales."""
    counts = np.asarray(tables, np.int64)
    kappas = cohen.kappa(counts, weights).readings()
    shifts = two_raters.mean_difference(counts.swapaxes(-2, -1), values).readings()
    raters = []
    for table, kappa, shift in zip(counts, kappas, shifts, strict=True):
        raters.append(_repeats(table, _few(int(table.sum()), kappa), shift))
    everything = counts.sum(axis=0)
    project = _repeats(everything, _stratified(int(everything.sum()), raters), None)
    if values is None:
        return Intra(raters, project)
    v = np.asarray(values, float)
    with_icc = [replace(one, icc=_icc(table, v)) for one, table in zip(raters, counts, strict=True)]
    return Intra(with_icc, replace(project, icc=_squared(counts, v)))


def _icc(table: npt.NDArray[np.int64], values: Floats) -> Value:
    """ICC(A,1) of the first and the second rating."""
    n, k = int(table.sum()), len(table)
    nothing = _undefined(_nothing(n), NO_REPEATS if n == 0 else TOO_FEW)
    if n < 2:
        return nothing
    one = np.eye(k, dtype=np.int64)
    patterns = (one[:, None, :] + one[None, :, :]).reshape(-1, k)
    own = np.stack([table.sum(axis=1), table.sum(axis=0)])
    found = icc_of_counts(patterns, table.ravel(), own, values)["icc2"]
    return {
        **nothing,
        "value": found.value,
        "low": found.ci_low,
        "high": found.ci_high,
        "reason": found.reason,
    }


def _squared(counts: npt.NDArray[np.int64], values: Floats) -> Value:
    """The stratified kappa with quadratic weights of the values."""
    apart = (values[:, None] - values[None, :]) ** 2
    weights = 1 - apart / max(float(apart.max()), 1e-300)
    kappas = cohen.kappa(counts, weights).readings()
    raters = [
        _repeats(table, _few(int(table.sum()), kappa), None)
        for table, kappa in zip(counts, kappas, strict=True)
    ]
    return _stratified(int(counts.sum()), raters)


def _repeats(table: npt.NDArray[np.int64], kappa: Value, shift: Value | None) -> Repeats:
    n, same = int(table.sum()), int(np.trace(table))
    if n == 0:
        none = None if shift is None else _undefined(shift, NO_REPEATS)
        return Repeats(0, None, None, None, kappa, none)
    low, high = wilson(same, n)
    return Repeats(n, same / n, low, high, kappa, shift)


def _few(n: int, kappa: Value) -> Value:
    if n == 0:
        return _undefined(kappa, NO_REPEATS)
    return _undefined(kappa, TOO_FEW) if n < 2 else kappa


def _undefined(value: Value, reason: str) -> Value:
    return {**value, "value": None, "low": None, "high": None, "se": None, "reason": reason}


def _nothing(n: int) -> Value:
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


def _stratified(n: int, raters: list[Repeats]) -> Value:
    nothing = _nothing(n)
    if n == 0:
        return nothing
    used = [rater for rater in raters if rater.kappa["value"] is not None]
    if not used:
        alone = any(rater.reason == "single_category" for rater in raters)
        return {**nothing, "reason": "single_category" if alone else TOO_FEW}
    size = np.array([rater.n for rater in used], float)
    observed = np.array([rater.kappa["observed"] for rater in used], float)
    expected = np.array([rater.kappa["expected"] for rater in used], float)
    errors = np.array([rater.kappa["se"] for rater in used], float)
    room = size * (1 - expected)
    kappa = float((size * (observed - expected)).sum() / room.sum())
    se = float(np.sqrt(((room * errors) ** 2).sum()) / room.sum())
    margin = float(quantile_t(size.sum() - 1)) * se
    return {
        **nothing,
        "value": kappa,
        "low": kappa - margin,
        "high": min(kappa + margin, 1.0),
        "se": se,
        "observed": float((size * observed).sum() / size.sum()),
        "expected": float((size * expected).sum() / size.sum()),
        "reason": None,
    }
