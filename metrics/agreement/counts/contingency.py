"""Proportions of k x k tables of two raters, and the delta method on their cells.

Tables are (..., k, k), the first rater's category as row: any number of pairs of raters in one
call.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.counts.common_correlation import (
    CommonCorrelationModel,
    Margins,
    compute_weights_across_groups,
)
from metrics.agreement.counts.score_intervals import ScoreLimits
from metrics.agreement.estimate import (
    ChanceCorrected,
    Estimate,
    EstimateBasis,
    Floats,
    build_estimate,
    divide_or_nan,
)


@dataclass(frozen=True)
class TableProportions:
    """Proportions of k x k tables of two raters.

    n (...): items; p (..., k, k): table / n; rows, columns (..., k): the margins; NaN where n = 0.
    """

    n: Floats
    p: Floats
    rows: Floats
    columns: Floats

    @property
    def k(self) -> int:
        return self.p.shape[-1]

    @property
    def pooled(self) -> Floats:
        """The mean of the two margins (..., k)."""
        return (self.rows + self.columns) / 2

    def build_basis(self) -> EstimateBasis:
        """Return the basis of estimates from the tables: n items, 2 n ratings, n - 1 df."""
        n = self.n.astype(np.int64)
        return EstimateBasis(n, 2 * n, self.n - 1)


def compute_proportions(tables: npt.ArrayLike) -> TableProportions:
    """Return the proportions of tables (..., k, k), and their margins."""
    table = np.asarray(tables, float)
    n = table.sum(axis=(-2, -1))
    p = table / np.where(n == 0, np.nan, n)[..., None, None]
    return TableProportions(n, p, p.sum(axis=-1), p.sum(axis=-2))


def mean_weight(p: Floats, w: Floats) -> Floats:
    """Return the mean weight (...) of tables with proportions p (..., k, k), weights w (k, k)."""
    total: Floats = np.tensordot(p, w, axes=((-2, -1), (0, 1)))
    return np.asarray(total)


def bilinear_form(left: Floats, w: Floats, right: Floats) -> Floats:
    """Return sum_jl w_jl left_j right_l (...), over the last axes of left and right (..., k)."""
    total: Floats = ((left @ w) * right).sum(axis=-1)
    return np.asarray(total)


def has_constant_side(rows: Floats, columns: Floats) -> npt.NDArray[np.bool_]:
    """Return a mask (...) of the pairs in which one side has a single category.

    rows, columns (..., k): the margins of the two sides. Kappa and its standard error are then 0,
    whatever the other side answers, and its limits are undefined.
    """
    categories = [(margin > 0).sum(axis=-1) for margin in (rows, columns)]
    return np.asarray(np.minimum(*categories) < 2)


def estimate_from_table(
    proportions: TableProportions,
    w: Floats,
    expected: Floats,
    slope: Floats | None,
    *,
    lowest: float = -1.0,
    has_no_limits: npt.NDArray[np.bool_] | None = None,
    interval: bool = True,
) -> Estimate:
    """Return kappa = (P_o - P_e) / (1 - P_e) with its standard error and interval.

    w (k, k): weights; expected (...): P_e; slope (..., k, k): dP_e / dp_jl, or None without the
    interval; lowest: the least value possible; has_no_limits (...): True for tables whose limits
    are undefined, None if there are none; interval: False for the value alone.

        g_jl = w_jl - (1 - kappa) slope_jl,   se^2 = (sum p g^2 - (sum p g)^2) / (n (1 - P_e)^2)
    """
    point = ChanceCorrected.from_agreement(
        mean_weight(proportions.p, w), expected, proportions.n > 0
    )
    if not interval or slope is None:
        return build_estimate(point, None, proportions.build_basis())
    g = w - (1 - point.value)[..., None, None] * slope
    se = standard_error(proportions.p, g, proportions.n * (1 - expected) ** 2)
    n = proportions.n
    model = CommonCorrelationModel.from_margins(
        compute_weights_across_groups(np.ones_like(n), np.ones_like(n), n),
        w,
        Margins(proportions.pooled, expected, np.diagonal(slope, axis1=-2, axis2=-1)),
    )
    limits = ScoreLimits(
        point,
        model,
        se,
        np.where(has_no_limits, np.nan, n - 1) if has_no_limits is not None else n - 1,
        lowest=lowest,
    )
    return build_estimate(point, se, proportions.build_basis(), limits=limits)


def standard_error(p: Floats, g: Floats, divisor: Floats) -> Floats:
    """Return sqrt(Var(g) / divisor) (...), the standard error of the mean of g over the cells.

    p (..., k, k): proportions of the cells; g: the number of each cell; divisor (...).
    """
    centred = g - (p * g).sum(axis=(-2, -1), keepdims=True)
    return np.sqrt(divide_or_nan((p * centred**2).sum(axis=(-2, -1)), divisor))


def outer_sum(rows: Floats, columns: Floats) -> Floats:
    """Return the sums rows_j + columns_l (..., k, k) of rows and columns, each (..., k)."""
    return rows[..., :, None] + columns[..., None, :]
