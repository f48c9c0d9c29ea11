"""F tests and confidence limits of intraclass correlations, from mean squares."""

from typing import Any

import numpy as np
from scipy import special

from metrics.agreement.coefficients.intraclass.mean_squares import ROUNDING_TOLERANCE, MeanSquares
from metrics.agreement.estimate import CONFIDENCE_LEVEL


def f_limits(between: float, within: float, df1: float, df2: float) -> tuple[float, float]:
    """Return the F confidence interval of the ratio of two mean squares.

    It is F / F_crit(df1, df2) to F * F_crit(df2, df1); infinite where within is 0.
    """
    if within == 0:
        return np.inf, np.inf
    f, tail = between / within, (1 - CONFIDENCE_LEVEL) / 2
    return f / _f_quantile(df1, df2, tail), f * _f_quantile(df2, df1, tail)


def _f_quantile(df1: float, df2: float, tail: float) -> float:
    """Return the upper-tail quantile of F."""
    return float(special.fdtri(df1, df2, 1 - tail))


def f_test(between: float, within: float, df1: int, df2: int) -> dict[str, Any]:
    """Return F, degrees of freedom and p of the test between > within, as fields of Icc."""
    if within == 0:
        return {
            "F": None,
            "F_reason": "zero_error_variance",
            "df1": float(df1),
            "df2": float(df2),
            "p": 0.0,
        }
    f = between / within
    return {"F": f, "df1": float(df1), "df2": float(df2), "p": float(special.fdtrc(df1, df2, f))}


def spearman_brown(bound: float | None, raters: int) -> float | None:
    """Return the reliability of a mean of R raters from the reliability of one (Spearman-Brown).

    None below the range where the formula is meaningful.
    """
    if bound is None or bound * (raters - 1) <= -1 + 1e-9:
        return None
    return raters * bound / (1 + (raters - 1) * bound)


def agreement_limits(squares: MeanSquares, value: float) -> tuple[float | None, float | None]:
    """Return the confidence limits of ICC(A,1), None for a limit that is infinitely low.

    Shrout & Fleiss 1979, p. 424, with every term multiplied by MSE^2, so that MSE = 0 gives the
    limit of the formula.
    """
    n, raters, tail = squares.n, squares.raters, (1 - CONFIDENCE_LEVEL) / 2
    # Only items differ (ICC 1), or only raters (ICC 0).
    if squares.mse == 0 and (squares.msc == 0 or squares.msr == 0):
        return value, value
    error_df = (n - 1) * (raters - 1)
    constant = n * (1 + (raters - 1) * value) - raters * value
    numerator = raters * value * squares.msc + constant * squares.mse
    if abs(numerator) <= ROUNDING_TOLERANCE * (
        raters * abs(value) * squares.msc + n * (1 + raters * abs(value)) * squares.mse
    ):
        return None, None
    v = (
        error_df
        * numerator**2
        / ((n - 1) * raters**2 * value**2 * squares.msc**2 + constant**2 * squares.mse**2)
    )
    f_upper, f_lower = _f_quantile(n - 1, v, tail), _f_quantile(v, n - 1, tail)
    rater_and_error = raters * squares.msc + (raters * n - raters - n) * squares.mse
    low = _divide_or_none(
        n * (squares.msr - f_upper * squares.mse), f_upper * rater_and_error, n * squares.msr
    )
    high = _divide_or_none(
        n * (f_lower * squares.msr - squares.mse), rater_and_error, n * f_lower * squares.msr
    )
    return low, high


def _divide_or_none(numerator: float, first_term: float, second_term: float) -> float | None:
    """Return numerator / (first_term + second_term), or None where the result is unbounded.

    That is where the limit lies infinitely low, or where so few degrees of freedom have no
    quantile.
    """
    denominator = first_term + second_term
    if not np.isfinite(denominator) or abs(denominator) <= ROUNDING_TOLERANCE * (
        abs(first_term) + abs(second_term)
    ):
        return None
    return float(numerator / denominator)
