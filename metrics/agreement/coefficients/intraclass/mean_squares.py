"""Analysis of variance behind the intraclass correlations: mean squares, F tests, limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.estimate import CONFIDENCE_LEVEL

ROUNDING_TOLERANCE = (
    1e-12  # share of the total mean square; a smaller mean square is rounding error
)


@dataclass(frozen=True)
class MeanSquares:
    """Mean squares of a complete table of n items and R raters (two-way analysis of variance).

    msr, msc, mse, msw: of items (rows), raters (columns), error and within items.
    """

    n: int
    raters: int
    msr: float
    msc: float
    mse: float
    msw: float

    @classmethod
    def from_values(cls, values: npt.NDArray[np.float64]) -> MeanSquares:
        """Return the mean squares of a complete table of values (n, R)."""
        n, raters = values.shape
        centred = values - values.mean()
        item_means, rater_means = centred.mean(axis=1), centred.mean(axis=0)
        residual = centred - item_means[:, None] - rater_means[None, :]
        within = centred - item_means[:, None]
        sums = (
            raters * float((item_means**2).sum()),
            n * float((rater_means**2).sum()),
            float((residual**2).sum()),
            float((within**2).sum()),
        )
        return cls._from_sums(n, raters, sums, total=float((centred**2).sum()))

    @classmethod
    def from_counts(
        cls,
        counts: npt.ArrayLike,
        n_items: npt.ArrayLike,
        raters: npt.ArrayLike,
        values: npt.ArrayLike,
    ) -> MeanSquares:
        """Return the mean squares of complete items, from counts by category.

        counts (P, k): patterns; n_items (P,): their numbers of items; raters (R, k): ratings of
        each rater on these items by category; values (k,): of the categories.
        """
        patterns, items = np.asarray(counts, float), np.asarray(n_items, float)
        rater_counts, v = np.asarray(raters, float), np.asarray(values, float)
        n, n_raters = int(items.sum()), len(rater_counts)
        pooled = items @ patterns
        v = v - (pooled @ v) / pooled.sum()
        total = float(pooled @ v**2)
        items_square = n_raters * float(items @ (patterns @ v / n_raters) ** 2)
        raters_square = n * float(((rater_counts @ v / n) ** 2).sum())
        within = max(total - items_square, 0.0)
        sums = (items_square, raters_square, max(within - raters_square, 0.0), within)
        return cls._from_sums(n, n_raters, sums, total=total)

    @classmethod
    def _from_sums(
        cls, n: int, raters: int, sums: tuple[float, float, float, float], *, total: float
    ) -> MeanSquares:
        """Return the mean squares from the sums of squares of items, raters, error and within."""
        largest = max(total / max(n * raters, 1), 1e-300)

        def divide_by_df(total: float, df: int) -> float:
            """Return the mean square, 0 where it is only rounding error."""
            return total / df if total / df > ROUNDING_TOLERANCE * largest else 0.0

        items_square, raters_square, error, within = sums
        return cls(
            n,
            raters,
            msr=divide_by_df(items_square, n - 1),
            msc=divide_by_df(raters_square, raters - 1),
            mse=divide_by_df(error, (n - 1) * (raters - 1)),
            msw=divide_by_df(within, n * (raters - 1)),
        )


def f_limits(between: float, within: float, df1: float, df2: float) -> tuple[float, float]:
    """Return the F confidence interval of the ratio of two mean squares.

    With F = between / within it is F / F_crit(df1, df2) to F * F_crit(df2, df1); infinite where
    within is 0.
    """
    if within == 0:
        return np.inf, np.inf
    f, tail = between / within, (1 - CONFIDENCE_LEVEL) / 2
    return f / _f_quantile(df1, df2, tail), f * _f_quantile(df2, df1, tail)


def _f_quantile(df1: float, df2: float, tail: float) -> float:
    """Return the quantile of F that is exceeded with the probability `tail`."""
    return float(special.fdtri(df1, df2, 1 - tail))


def f_test(between: float, within: float, df1: int, df2: int) -> dict[str, Any]:
    """Return the F test of between > within as the fields F, df1, df2 and p of Icc.

    between, within: mean squares; df1, df2: their degrees of freedom. F is None with a reason, and
    p is 0, where `within` is 0.
    """
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
    """Return the reliability of a mean of R raters.

    bound: the reliability of one rater, or a limit of it. None for None, and below the range where
    the formula is meaningful.
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

    It is unbounded where the limit lies infinitely low, or where so few degrees of freedom have no
    quantile.
    """
    denominator = first_term + second_term
    if not np.isfinite(denominator) or abs(denominator) <= ROUNDING_TOLERANCE * (
        abs(first_term) + abs(second_term)
    ):
        return None
    return float(numerator / denominator)
