"""Six intraclass correlations of R raters on the n items that all of them rated, with F tests and
intervals.

    MSR, MSC, MSE, MSW: mean squares of items, raters, error (two-way) and within items (one-way)

    icc1 = ICC(1,1)  (MSR - MSW) / (MSR + (R-1) MSW)         one-way random, absolute agreement
    icc2 = ICC(A,1)  (MSR - MSE) / (MSR + (R-1) MSE + R (MSC - MSE) / n)
                                                             two-way random, absolute agreement
    icc3 = ICC(C,1)  (MSR - MSE) / (MSR + (R-1) MSE)         two-way mixed, consistency
    icc1k, icc2k, icc3k: of the mean of the R raters

Shrout & Fleiss 1979, Psychological Bulletin 86, 420-428; McGraw & Wong 1996, Psychological Methods
1, 30-46. F and intervals as psych, DescTools and pingouin: F of icc2 is MSR / MSE; the interval of
icc2 has Shrout and Fleiss' degrees of freedom, that of icc2k is its Spearman-Brown transform (null,
below_range, for a bound <= -1 / (R - 1)). Without any error variance F is null
(zero_error_variance), p is 0, and intervals are the limits of their formulas.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import OF_COMPLETE_ITEMS, Coefficient, Example
from metrics.agreement.coefficients.intraclass.mean_squares import ROUNDING, MeanSquares
from metrics.agreement.glossary import gettext_noop as _

from .confidence_limits import agreement_limits, f_limits, f_test, spearman_brown

NAMES = ("icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k")


@dataclass(frozen=True)
class Icc:
    """One coefficient; None where undefined, with the reason."""

    value: float | None
    reason: str | None = None
    F: float | None = None
    F_reason: str | None = None
    df1: float | None = None
    df2: float | None = None
    p: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    ci_low_reason: str | None = None
    ci_high_reason: str | None = None


def icc(values: npt.ArrayLike) -> dict[str, Icc]:
    """values (n, R): the complete items, one column a rater -> name -> Icc."""
    table = np.asarray(values, float)
    n, raters = table.shape
    if reason := _why_none(n, raters, varies=bool(table.size and np.ptp(table))):
        return {name: Icc(None, reason) for name in NAMES}
    return _all(MeanSquares.of(table))


def icc_of_counts(
    counts: npt.ArrayLike, n_items: npt.ArrayLike, raters: npt.ArrayLike, values: npt.ArrayLike
) -> dict[str, Icc]:
    """The same from counts of complete items (MeanSquares.of_counts): name -> Icc."""
    own = np.asarray(raters)
    n = int(np.asarray(n_items).sum())
    varies = len(np.unique(np.asarray(values, float)[own.any(axis=0)])) > 1 if own.size else False
    if reason := _why_none(n, len(own), varies=varies):
        return {name: Icc(None, reason) for name in NAMES}
    return _all(MeanSquares.of_counts(counts, n_items, own, values))


def icc_of_table(table: npt.ArrayLike, values: npt.ArrayLike) -> dict[str, Icc]:
    """The same of two raters from the table (k, k) of the items that both rated."""
    met = np.asarray(table, np.int64)
    rows, columns = np.nonzero(met)
    each = np.eye(len(met), dtype=np.int64)
    own = np.stack([met.sum(axis=1), met.sum(axis=0)])
    return icc_of_counts(each[rows] + each[columns], met[rows, columns], own, values)


def _why_none(n: int, raters: int, *, varies: bool) -> str | None:
    if raters < 2:
        return "needs_two_raters"
    if n < 2:
        return "needs_complete_items" if n == 0 else "too_few_items"
    return None if varies else "zero_variance"


def _all(squares: MeanSquares) -> dict[str, Icc]:
    return _one_way(squares) | _agreement(squares) | _consistency(squares)


def _one_way(s: MeanSquares) -> dict[str, Icc]:
    df1, df2 = s.n - 1, s.n * (s.raters - 1)
    test = f_test(s.msr, s.msw, df1, df2)
    limits = f_limits(s.msr, s.msw, df1, df2)
    return _single_and_mean("icc1", s, squares=(s.msr, s.msw), limits=limits, test=test)


def _consistency(s: MeanSquares) -> dict[str, Icc]:
    df1, df2 = s.n - 1, (s.n - 1) * (s.raters - 1)
    test = f_test(s.msr, s.mse, df1, df2)
    limits = f_limits(s.msr, s.mse, df1, df2)
    return _single_and_mean("icc3", s, squares=(s.msr, s.mse), limits=limits, test=test)


def _single_and_mean(
    name: str,
    s: MeanSquares,
    *,
    squares: tuple[float, float],
    limits: tuple[float, float],
    test: dict[str, Any],
) -> dict[str, Icc]:
    """From between and within mean squares and the limits F_L, F_U of their ratio (within = 0:
    infinite)."""
    between, within = squares
    single, mean = between + (s.raters - 1) * within, between
    if single == 0 or mean == 0:
        # no variance between items (or none at all): the single form may still be defined
        value = (between - within) / single if single else None
        return {
            name: Icc(
                value,
                None if single else "zero_variance",
                **test,
                **_single_limits(limits, s.raters),
            ),
            f"{name}k": Icc(None, "zero_variance", **test),
        }
    means: dict[str, Any] = {
        "ci_low": 1 - 1 / limits[0] if limits[0] else None,
        "ci_high": 1 - 1 / limits[1] if limits[1] else None,
    }
    return {
        name: Icc((between - within) / single, **test, **_single_limits(limits, s.raters)),
        f"{name}k": Icc((between - within) / mean, **test, **means),
    }


def _single_limits(limits: tuple[float, float], raters: int) -> dict[str, Any]:
    """(F - 1) / (F + R - 1), 1 for an infinite F."""
    low, high = (1.0 if np.isinf(f) else (f - 1) / (f + raters - 1) for f in limits)
    return {"ci_low": low, "ci_high": high}


def _agreement(s: MeanSquares) -> dict[str, Icc]:
    test = f_test(s.msr, s.mse, s.n - 1, (s.n - 1) * (s.raters - 1))
    extra = (s.msc - s.mse) / s.n
    single = s.msr + (s.raters - 1) * s.mse + s.raters * extra
    mean = s.msr + extra
    least = ROUNDING * (s.msr + s.mse + (s.msc + s.mse) / s.n)
    found = {name: Icc(None, "zero_variance", **test) for name in ("icc2", "icc2k")}
    if single > least:
        value = (s.msr - s.mse) / single
        limits: dict[str, Any] = dict(
            zip(("ci_low", "ci_high"), agreement_limits(s, value), strict=True)
        )
        found["icc2"] = Icc(value, **test, **limits, **_why(limits))
        if abs(mean) > least:
            stepped: dict[str, Any] = {
                side: spearman_brown(bound, s.raters) for side, bound in limits.items()
            }
            found["icc2k"] = Icc((s.msr - s.mse) / mean, **test, **stepped, **_why(stepped))
    return found


def _why(limits: dict[str, float | None]) -> dict[str, Any]:
    return {f"{side}_reason": "below_range" for side, bound in limits.items() if bound is None}


def _declared(name: str, value: str, formula: str, *, called: str, says: str) -> Coefficient:
    return Coefficient(
        name=name,
        called=called,
        says=says,
        formula=formula,
        low=None,
        # the denominator of icc2k can be negative when raters differ less than chance
        high=None if name == "icc2k" else 1,
        undefined=OF_COMPLETE_ITEMS,
        error="F test and F interval",
        source="Shrout & Fleiss 1979, Psychological Bulletin 86, 420-428",
        example=Example("15_shrout_fleiss1979", name, value, "Shrout & Fleiss 1979, table 4"),
        numeric=True,
        corrected=False,
        told="icc",
    )


ICCS = (
    _declared(
        "icc1",
        "0.17",
        "(MSR - MSW) / (MSR + (R - 1) MSW)",
        called=_("ICC(1,1), one-way"),
        says=_(
            "How much of the differences among ratings are differences among items, where each "
            "item may have other raters."
        ),
    ),
    _declared(
        "icc2",
        "0.29",
        "(MSR - MSE) / (MSR + (R - 1) MSE + R (MSC - MSE) / n)",
        called=_("ICC(A,1), absolute agreement"),
        says=_(
            "Absolute agreement of one rater with another on the number itself: a rater who is "
            "always 5 higher makes it smaller. The one to report for numbers."
        ),
    ),
    _declared(
        "icc3",
        "0.71",
        "(MSR - MSE) / (MSR + (R - 1) MSE)",
        called=_("ICC(C,1), consistency"),
        says=_(
            "Consistency: whether raters keep the same distances between items. A rater who is "
            "always 5 higher does not make it smaller."
        ),
    ),
    _declared(
        "icc1k",
        "0.44",
        "(MSR - MSW) / MSR",
        called=_("ICC(1,k), mean of the raters"),
        says=_("ICC(1,1) of the mean of all raters instead of a single one."),
    ),
    _declared(
        "icc2k",
        "0.62",
        "(MSR - MSE) / (MSR + (MSC - MSE) / n)",
        called=_("ICC(A,k), mean of the raters"),
        says=_("ICC(A,1) of the mean of all raters: for when you use the mean, not one rating."),
    ),
    _declared(
        "icc3k",
        "0.91",
        "(MSR - MSE) / MSR",
        called=_("ICC(C,k), mean of the raters"),
        says=_("ICC(C,1) of the mean of all raters; it is Cronbach’s alpha."),
    ),
)
