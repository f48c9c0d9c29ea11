"""Cohen's kappa of two raters, unweighted or with any weights, from tables of the items rated by
both.

    kappa = (P_o - P_e) / (1 - P_e),   P_o = sum w_jl p_jl,   P_e = sum w_jl r_j c_l

Cohen 1960, Educational and Psychological Measurement 20, 37-46; weighted: Cohen 1968, Psychological
Bulletin 70, 213-220. Standard error: Fleiss, Cohen & Everitt 1969, Psychological Bulletin 72,
323-327 (SAS, vcd, statsmodels); se0 is the one under kappa = 0 (SAS ASE0), for a test against no
agreement.
"""

import numpy as np
import numpy.typing as npt

from metrics.agreement.counts.tables import bilinear, cells, corrected_for_chance, outer_sum
from metrics.agreement.estimate import Corrected, Estimate, Floats, divided, estimated
from metrics.agreement.weights import weighting

from .fleiss import stacked


def kappa(
    tables: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, interval: bool = True
) -> Estimate:
    """Tables (..., k, k), weights (k, k) -> Estimate (...)."""
    c = cells(tables)
    w = weighting(weights, c.k)
    expected = bilinear(c.rows, w, c.columns)
    slope = outer_sum(c.columns @ w.T, c.rows @ w)
    return corrected_for_chance(c, w, expected, slope, interval=interval)


def standard_error_under_chance(
    tables: npt.ArrayLike, weights: npt.ArrayLike | None = None
) -> Floats:
    """se0 (...): the standard error if kappa were 0; NaN where kappa is undefined."""
    c = cells(tables)
    w = weighting(weights, c.k)
    expected = bilinear(c.rows, w, c.columns)
    g = w - outer_sum(c.columns @ w.T, c.rows @ w)
    chance = c.rows[..., :, None] * c.columns[..., None, :]
    variance = (chance * g**2).sum(axis=(-2, -1)) - expected**2
    room = np.where(np.abs(1 - expected) < 1e-12, 0, 1 - expected)
    return np.sqrt(np.maximum(divided(variance, c.n * room**2), 0))


def category_kappas(tables: npt.ArrayLike, *, interval: bool = True) -> Estimate:
    """Kappa of each category versus the rest: Estimate (..., k). Null for a category used by both
    always or never."""
    table = np.asarray(tables, float)
    n = table.sum(axis=(-2, -1))
    estimates = []
    for j in range(table.shape[-1]):
        both, row, column = (
            table[..., j, j],
            table[..., j, :].sum(axis=-1),
            table[..., :, j].sum(axis=-1),
        )
        versus = np.stack([both, row - both, column - both, n - row - column + both], axis=-1)
        estimates.append(kappa(versus.reshape(*n.shape, 2, 2), interval=interval))
    return stacked(estimates)


def kappa_max(tables: npt.ArrayLike) -> Estimate:
    """The largest kappa that the two margins allow: P_o = sum_j min(r_j, c_j) (Cohen 1960). No
    standard error."""
    c = cells(tables)
    point = Corrected.of(
        np.minimum(c.rows, c.columns).sum(axis=-1), (c.rows * c.columns).sum(axis=-1), c.n > 0
    )
    return estimated(point, None, c.basis())
