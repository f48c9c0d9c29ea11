"""What the coefficients of two raters share: proportions of k x k tables and the delta method on
their cells.

Tables are (..., k, k), the first rater's category as row: any number of pairs of raters in one
call.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.estimate import Basis, Corrected, Estimate, Floats, divided, estimated


@dataclass(frozen=True)
class Cells:
    """n (...), p = table / n (..., k, k), margins rows and columns (..., k); NaN where n = 0."""

    n: Floats
    p: Floats
    rows: Floats
    columns: Floats

    @property
    def k(self) -> int:
        return self.p.shape[-1]

    @property
    def pooled(self) -> Floats:
        """Mean of the two margins (..., k)."""
        return (self.rows + self.columns) / 2

    def basis(self) -> Basis:
        """Rests on the items rated by both; the interval has n - 1 degrees of freedom (irrCAC)."""
        n = self.n.astype(np.int64)
        return Basis(n, 2 * n, self.n - 1)


def cells(tables: npt.ArrayLike) -> Cells:
    """Proportions of tables (..., k, k)."""
    table = np.asarray(tables, float)
    n = table.sum(axis=(-2, -1))
    p = divided(table, n[..., None, None])
    return Cells(n, p, p.sum(axis=-1), p.sum(axis=-2))


def mean_weight(p: Floats, w: Floats) -> Floats:
    """sum_jl w_jl p_jl."""
    total: Floats = np.tensordot(p, w, axes=((-2, -1), (0, 1)))
    return np.asarray(total)


def bilinear(one: Floats, w: Floats, other: Floats) -> Floats:
    """sum_jl w_jl one_j other_l over the last axes (..., k)."""
    total: Floats = ((one @ w) * other).sum(axis=-1)
    return np.asarray(total)


def corrected_for_chance(
    c: Cells, w: Floats, expected: Floats, slope: Floats, *, interval: bool = True
) -> Estimate:
    """kappa = (P_o - P_e) / (1 - P_e) with its standard error, where slope (..., k, k) is dP_e /
    dp_jl.

    g_jl = w_jl - (1 - kappa) slope_jl,   se^2 = (sum p g^2 - (sum p g)^2) / (n (1 - P_e)^2)
    """
    point = Corrected.of(mean_weight(c.p, w), expected, c.n > 0)
    if not interval:
        return estimated(point, None, c.basis())
    g = w - (1 - point.value)[..., None, None] * slope
    return estimated(point, standard_error(c.p, g, c.n * (1 - expected) ** 2), c.basis())


def standard_error(p: Floats, g: Floats, divisor: Floats) -> Floats:
    """sqrt((sum p g^2 - (sum p g)^2) / divisor), computed around the mean of g."""
    centred = g - (p * g).sum(axis=(-2, -1), keepdims=True)
    return np.sqrt(divided((p * centred**2).sum(axis=(-2, -1)), divisor))


def outer_sum(rows: Floats, columns: Floats) -> Floats:
    """rows_j + columns_l (..., k, k)."""
    return rows[..., :, None] + columns[..., None, :]
