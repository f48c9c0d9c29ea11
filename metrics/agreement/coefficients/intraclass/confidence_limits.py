"""F tests and intervals of intraclass correlations, from mean squares."""

from typing import Any

import numpy as np
from scipy import special

from metrics.agreement.coefficients.intraclass.mean_squares import ROUNDING, MeanSquares
from metrics.agreement.estimate import LEVEL


def f_limits(between: float, within: float, df1: float, df2: float) -> tuple[float, float]:
    """F / F_crit(df1, df2) and F * F_crit(df2, df1): the interval of the ratio of variances."""
    if within == 0:
        return np.inf, np.inf
    f, tail = between / within, (1 - LEVEL) / 2
    return f / _f_quantile(df1, df2, tail), f * _f_quantile(df2, df1, tail)


def _f_quantile(df1: float, df2: float, tail: float) -> float:
    """Upper-tail quantile of F."""
    return float(special.fdtri(df1, df2, 1 - tail))


def f_test(between: float, within: float, df1: int, df2: int) -> dict[str, Any]:
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
    """The reliability of the mean of R raters from that of one; None below the range where that
    makes sense."""
    if bound is None or bound * (raters - 1) <= -1 + 1e-9:
        return None
    return raters * bound / (1 + (raters - 1) * bound)


def agreement_limits(s: MeanSquares, value: float) -> tuple[float | None, float | None]:
    """Shrout & Fleiss 1979, p. 424, every term multiplied by MSE^2 so that MSE = 0 gives the
    limit."""
    n, raters, tail = s.n, s.raters, (1 - LEVEL) / 2
    # nothing but items differ (1), or nothing but raters (0)
    if s.mse == 0 and (s.msc == 0 or s.msr == 0):
        return value, value
    steps = (n - 1) * (raters - 1)
    constant = n * (1 + (raters - 1) * value) - raters * value
    top = raters * value * s.msc + constant * s.mse
    if abs(top) <= ROUNDING * (raters * abs(value) * s.msc + n * (1 + raters * abs(value)) * s.mse):
        return None, None
    v = steps * top**2 / ((n - 1) * raters**2 * value**2 * s.msc**2 + constant**2 * s.mse**2)
    f_upper, f_lower = _f_quantile(n - 1, v, tail), _f_quantile(v, n - 1, tail)
    rest = raters * s.msc + (raters * n - raters - n) * s.mse
    low = _ratio(n * (s.msr - f_upper * s.mse), f_upper * rest, n * s.msr)
    high = _ratio(n * (f_lower * s.msr - s.mse), rest, n * f_lower * s.msr)
    return low, high


def _ratio(top: float, one: float, other: float) -> float | None:
    """top / (one + other); None where the limit lies infinitely low, or so few degrees of freedom
    have no quantile."""
    bottom = one + other
    if not np.isfinite(bottom) or abs(bottom) <= ROUNDING * (abs(one) + abs(other)):
        return None
    return float(top / bottom)
