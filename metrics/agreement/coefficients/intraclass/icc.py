"""Six intraclass correlations of R raters on the n items that all of them rated.

With F tests and intervals. MSR, MSC, MSE, MSW: mean squares of items, raters, error (two-way) and
within items (one-way).

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

from metrics.agreement.coefficients.declaration import COMPLETE_ITEM_REASONS, Coefficient, Example
from metrics.agreement.coefficients.intraclass.mean_squares import ROUNDING_TOLERANCE, MeanSquares
from metrics.agreement.glossary import gettext_noop as _

from .mean_squares import agreement_limits, f_limits, f_test, spearman_brown

ICC_NAMES = ("icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k")


@dataclass(frozen=True)
class Icc:
    """One intraclass correlation with its F test and interval.

    Parts are None where undefined, with `reason` or a reason of their own. n_items, n_ratings: what
    it is computed from, None where the caller knows.
    """

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
    n_items: int | None = None
    n_ratings: int | None = None


def icc(values: npt.ArrayLike) -> dict[str, Icc]:
    """Return name -> Icc of the six forms, from values (n, R) of n items rated by all R raters.

    All are Icc(None, reason) for fewer than two items or raters, or without variance.
    """
    table = np.asarray(values, float)
    n, raters = table.shape
    if reason := _get_undefined_reason(n, raters, has_variance=bool(table.size and np.ptp(table))):
        return {name: Icc(None, reason) for name in ICC_NAMES}
    return _compute_all_iccs(MeanSquares.from_values(table))


def icc_from_counts(
    counts: npt.ArrayLike, n_items: npt.ArrayLike, raters: npt.ArrayLike, values: npt.ArrayLike
) -> dict[str, Icc]:
    """Return name -> Icc of the six forms from counts of complete items.

    The arguments are those of MeanSquares.from_counts. All are Icc(None, reason) for fewer than two
    items or raters, or without variance.
    """
    rater_counts = np.asarray(raters)
    n = int(np.asarray(n_items).sum())
    has_variance = (
        len(np.unique(np.asarray(values, float)[rater_counts.any(axis=0)])) > 1
        if rater_counts.size
        else False
    )
    if reason := _get_undefined_reason(n, len(rater_counts), has_variance=has_variance):
        return {name: Icc(None, reason) for name in ICC_NAMES}
    return _compute_all_iccs(MeanSquares.from_counts(counts, n_items, rater_counts, values))


def icc_of_two_raters(table: npt.ArrayLike, values: npt.ArrayLike) -> dict[str, Icc]:
    """Return name -> Icc of two raters, from the table (k, k) of shared items.

    values (k,): numbers of the categories. All are Icc(None, reason) for fewer than two items, or
    without variance.
    """
    counts = np.asarray(table, np.int64)
    rows, columns = np.nonzero(counts)
    identity = np.eye(len(counts), dtype=np.int64)
    rater_counts = np.stack([counts.sum(axis=1), counts.sum(axis=0)])
    return icc_from_counts(
        identity[rows] + identity[columns], counts[rows, columns], rater_counts, values
    )


def _get_undefined_reason(n: int, raters: int, *, has_variance: bool) -> str | None:
    """Return the reason why the correlations of n complete items are undefined, or None."""
    if raters < 2:
        return "needs_two_raters"
    if n < 2:
        return "needs_complete_items" if n == 0 else "too_few_items"
    return None if has_variance else "zero_variance"


def _compute_all_iccs(squares: MeanSquares) -> dict[str, Icc]:
    return _compute_one_way(squares) | _compute_agreement(squares) | _compute_consistency(squares)


def _compute_one_way(squares: MeanSquares) -> dict[str, Icc]:
    df1, df2 = squares.n - 1, squares.n * (squares.raters - 1)
    test = f_test(squares.msr, squares.msw, df1, df2)
    limits = f_limits(squares.msr, squares.msw, df1, df2)
    return _build_single_and_mean(
        "icc1", squares, mean_squares=(squares.msr, squares.msw), limits=limits, test=test
    )


def _compute_consistency(squares: MeanSquares) -> dict[str, Icc]:
    df1, df2 = squares.n - 1, (squares.n - 1) * (squares.raters - 1)
    test = f_test(squares.msr, squares.mse, df1, df2)
    limits = f_limits(squares.msr, squares.mse, df1, df2)
    return _build_single_and_mean(
        "icc3", squares, mean_squares=(squares.msr, squares.mse), limits=limits, test=test
    )


def _build_single_and_mean(
    name: str,
    anova: MeanSquares,
    *,
    mean_squares: tuple[float, float],
    limits: tuple[float, float],
    test: dict[str, Any],
) -> dict[str, Icc]:
    """Return the single and the mean form of one correlation, by name.

    mean_squares: between and within items; limits: F limits of their ratio (infinite for within =
    0); test: F test, as fields of Icc.
    """
    between, within = mean_squares
    single, mean = between + (anova.raters - 1) * within, between
    if single == 0 or mean == 0:
        # Without variance between items the single form may still be defined.
        value = (between - within) / single if single else None
        return {
            name: Icc(
                value,
                None if single else "zero_variance",
                **test,
                **_transform_limits(limits, anova.raters),
            ),
            f"{name}k": Icc(None, "zero_variance", **test),
        }
    mean_limits: dict[str, Any] = {
        "ci_low": 1 - 1 / limits[0] if limits[0] else None,
        "ci_high": 1 - 1 / limits[1] if limits[1] else None,
    }
    return {
        name: Icc((between - within) / single, **test, **_transform_limits(limits, anova.raters)),
        f"{name}k": Icc((between - within) / mean, **test, **mean_limits),
    }


def _transform_limits(limits: tuple[float, float], raters: int) -> dict[str, Any]:
    """Return the limits (F - 1) / (F + R - 1) as fields of Icc; 1 for an infinite F."""
    low, high = (1.0 if np.isinf(f) else (f - 1) / (f + raters - 1) for f in limits)
    return {"ci_low": low, "ci_high": high}


def _compute_agreement(squares: MeanSquares) -> dict[str, Icc]:
    test = f_test(squares.msr, squares.mse, squares.n - 1, (squares.n - 1) * (squares.raters - 1))
    rater_term = (squares.msc - squares.mse) / squares.n
    single = squares.msr + (squares.raters - 1) * squares.mse + squares.raters * rater_term
    mean = squares.msr + rater_term
    tolerance = ROUNDING_TOLERANCE * (
        squares.msr + squares.mse + (squares.msc + squares.mse) / squares.n
    )
    results = {name: Icc(None, "zero_variance", **test) for name in ("icc2", "icc2k")}
    if single > tolerance:
        value = (squares.msr - squares.mse) / single
        limits: dict[str, Any] = dict(
            zip(("ci_low", "ci_high"), agreement_limits(squares, value), strict=True)
        )
        results["icc2"] = Icc(value, **test, **limits, **_build_limit_reasons(limits))
        if abs(mean) > tolerance:
            mean_limits: dict[str, Any] = {
                side: spearman_brown(bound, squares.raters) for side, bound in limits.items()
            }
            results["icc2k"] = Icc(
                (squares.msr - squares.mse) / mean,
                **test,
                **mean_limits,
                **_build_limit_reasons(mean_limits),
            )
    return results


def _build_limit_reasons(limits: dict[str, float | None]) -> dict[str, Any]:
    """Return the reasons of the limits that are None, as fields of Icc."""
    return {f"{side}_reason": "below_range" for side, bound in limits.items() if bound is None}


def _declare_icc(
    name: str, value: str, formula: str, *, label: str, description: str
) -> Coefficient:
    """Build the declaration of one intraclass correlation."""
    return Coefficient(
        name=name,
        label=label,
        description=description,
        formula=formula,
        low=None,
        # The denominator of icc2k can be negative when raters differ less than by chance.
        high=None if name == "icc2k" else 1,
        undefined=COMPLETE_ITEM_REASONS,
        error="F test and F interval",
        source="Shrout & Fleiss 1979, Psychological Bulletin 86, 420-428",
        example=Example("15_shrout_fleiss1979", name, value, "Shrout & Fleiss 1979, table 4"),
        needs_numbers=True,
        chance_corrected=False,
        report_format="icc",
    )


ICCS = (
    _declare_icc(
        "icc1",
        "0.17",
        "(MSR - MSW) / (MSR + (R - 1) MSW)",
        label=_("ICC(1,1), one-way"),
        description=_(
            "The share of variance between items. Uses complete items, or all if fewer "
            "than two are complete."
        ),
    ),
    _declare_icc(
        "icc2",
        "0.29",
        "(MSR - MSE) / (MSR + (R - 1) MSE + R (MSC - MSE) / n)",
        label=_("ICC(A,1), absolute agreement"),
        description=_("Agreement on the values themselves: always answering 5 higher lowers it."),
    ),
    _declare_icc(
        "icc3",
        "0.71",
        "(MSR - MSE) / (MSR + (R - 1) MSE)",
        label=_("ICC(C,1), consistency"),
        description=_(
            "Whether raters see the same distances between items, even at different levels."
        ),
    ),
    _declare_icc(
        "icc1k",
        "0.44",
        "(MSR - MSW) / MSR",
        label=_("ICC(1,k)"),
        description=_("The ICC of the mean of all raters."),
    ),
    _declare_icc(
        "icc2k",
        "0.62",
        "(MSR - MSE) / (MSR + (MSC - MSE) / n)",
        label=_("ICC(A,k)"),
        description=_("The ICC of the mean of all raters."),
    ),
    _declare_icc(
        "icc3k",
        "0.91",
        "(MSR - MSE) / MSR",
        label=_("ICC(C,k)"),
        description=_("Cronbach’s alpha: the ICC of the mean of all raters."),
    ),
)
