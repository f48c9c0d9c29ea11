"""Consistency of two raters on a scale with order or values, from tables of the items of both.

    Pearson         r = s_xy / (s_x s_y) of the categories' values
    Spearman        Pearson's r of average ranks
    Kendall tau-b   (C - D) / sqrt((n0 - n1)(n0 - n2)): concordant less discordant pairs, corrected
                    for ties
    Lin             2 s_xy / (s_x^2 + s_y^2 + (mean_x - mean_y)^2), variances with divisor n:
                    agreement with the 45-degree line (Lin 1989, Biometrics 45, 255-268)

A rater who uses one value only has no variance: null (zero_variance). High correlation with low
agreement means that raters order alike but not on the same level.
"""

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    NO_ERROR,
    OF_TWO,
    Coefficient,
    Example,
    Formula,
    Values,
)
from metrics.agreement.counts.contingency import Cells, cells
from metrics.agreement.estimate import CODE, Corrected, Estimate, Floats, divided, estimated
from metrics.agreement.glossary import gettext_noop as _


def pearson(tables: npt.ArrayLike, values: npt.ArrayLike | None = None) -> Estimate:
    """Tables (..., k, k), category values (k,) (ranks when None) -> Estimate (...), without
    standard error."""
    c = cells(tables)
    v = _values(values, c.k)
    return _correlation(c, v, v)


def spearman(tables: npt.ArrayLike) -> Estimate:
    """Tables (..., k, k) -> Estimate (...)."""
    c = cells(tables)
    rows, columns = (np.cumsum(share, axis=-1) - share / 2 for share in (c.rows, c.columns))
    return _correlation(c, rows, columns)


def kendall_tau_b(tables: npt.ArrayLike) -> Estimate:
    """Tables (..., k, k) -> Estimate (...)."""
    table = np.asarray(tables, float)
    c = cells(table)
    later = table[..., ::-1, ::-1].cumsum(axis=-1).cumsum(axis=-2)[..., ::-1, ::-1]
    other = table[..., ::-1, :].cumsum(axis=-1).cumsum(axis=-2)[..., ::-1, :]
    concordant = (table[..., :-1, :-1] * later[..., 1:, 1:]).sum(axis=(-2, -1))
    discordant = (table[..., :-1, 1:] * other[..., 1:, :-1]).sum(axis=(-2, -1))
    n = c.n
    all_pairs = n * (n - 1) / 2
    ties = [(m * (m - 1)).sum(axis=-1) / 2 for m in (table.sum(axis=-1), table.sum(axis=-2))]
    value = divided(concordant - discordant, np.sqrt((all_pairs - ties[0]) * (all_pairs - ties[1])))
    return _unscaled(c, value, _one_value(c))


def lin_ccc(tables: npt.ArrayLike, values: npt.ArrayLike | None = None) -> Estimate:
    """Lin's concordance correlation of tables (..., k, k), values (k,) (ranks when None) ->
    Estimate (...)."""
    c = cells(tables)
    v = _values(values, c.k)
    (sxx, syy, sxy), (mx, my) = _moments(c, v, v)
    spread = sxx + syy + (mx - my) ** 2
    return _unscaled(c, divided(2 * sxy, spread), spread == 0)


def _correlation(c: Cells, x: Floats, y: Floats) -> Estimate:
    (sxx, syy, sxy), _ = _moments(c, x, y)
    value = np.clip(divided(sxy, np.sqrt(sxx * syy)), -1, 1)
    return _unscaled(c, value, _one_value(c) | (sxx == 0) | (syy == 0))


def _moments(
    c: Cells, x: Floats, y: Floats
) -> tuple[tuple[Floats, Floats, Floats], tuple[Floats, Floats]]:
    """(s_xx, s_yy, s_xy) with divisor n and (mean_x, mean_y), for values x, y (k,) or (..., k)."""
    mx, my = (c.rows * x).sum(axis=-1), (c.columns * y).sum(axis=-1)
    dx, dy = x - mx[..., None], y - my[..., None]
    sxx, syy = (c.rows * dx**2).sum(axis=-1), (c.columns * dy**2).sum(axis=-1)
    sxy = (c.p * dx[..., :, None] * dy[..., None, :]).sum(axis=(-2, -1))
    return (sxx, syy, sxy), (mx, my)


def _one_value(c: Cells) -> npt.NDArray[np.bool_]:
    return ((c.rows > 0).sum(axis=-1) <= 1) | ((c.columns > 0).sum(axis=-1) <= 1)


def _unscaled(c: Cells, value: Floats, flat: npt.NDArray[np.bool_]) -> Estimate:
    reason = np.where(c.n > 0, np.where(flat, CODE["zero_variance"], 0), CODE["no_pairable_items"])
    value = np.where(reason == 0, value, np.nan)
    nothing = np.full(value.shape, np.nan)
    return estimated(Corrected(nothing, nothing, value, reason), None, c.basis())


def _values(values: npt.ArrayLike | None, k: int) -> Floats:
    v = np.arange(1.0, k + 1) if values is None else np.asarray(values, float)
    if v.shape != (k,):
        raise ValueError(f"values must be {k} numbers, one for each category")
    return v - v.mean()


def _example(name: str, value: str, printed: str = "SciPy and R cor") -> Example:
    return Example(case="05_seed002_custom_weights", name=name, value=value, printed=printed)


PEARSON = Coefficient(
    name="pearson",
    called=_("Pearson’s correlation"),
    says=_(
        "Whether the two move together on a straight line. No agreement: somebody who is "
        "always 5 higher has 1."
    ),
    formula="s_xy / (s_x s_y) of the categories' values",
    low=-1,
    high=1,
    undefined=(*OF_TWO, "zero_variance"),
    error=NO_ERROR,
    source="Pearson 1895, Proceedings of the Royal Society 58, 240-242",
    example=_example("pearson", "0.76918"),
    of_table=Formula(pearson, values=Values.OR_RANKS),
    numeric=True,
    told="value",
    of_each_pair=True,
    corrected=False,
)

SPEARMAN = Coefficient(
    name="spearman",
    called=_("Spearman’s rank correlation"),
    says=_(
        "Whether the two put the items in the same order. No agreement: somebody who is always "
        "higher has 1."
    ),
    formula="Pearson's correlation of average ranks",
    low=-1,
    high=1,
    undefined=(*OF_TWO, "zero_variance"),
    error=NO_ERROR,
    source="Spearman 1904, American Journal of Psychology 15, 72-101",
    example=_example("spearman", "0.77123"),
    of_table=Formula(spearman),
    ordered=True,
    told="value",
    of_each_pair=True,
    corrected=False,
)

KENDALL_TAU_B = Coefficient(
    name="kendall_tau_b",
    called=_("Kendall’s tau-b"),
    says=_(
        "How much more often two items stand in the same order for both raters than in the "
        "opposite one; ties are taken into account."
    ),
    formula="(C - D) / sqrt((n0 - n1) (n0 - n2))",
    low=-1,
    high=1,
    undefined=(*OF_TWO, "zero_variance"),
    error=NO_ERROR,
    source="Kendall 1945, Biometrika 33, 239-251",
    example=_example("kendall_tau_b", "0.70576"),
    of_table=Formula(kendall_tau_b),
    ordered=True,
    told="value",
    of_each_pair=True,
    corrected=False,
)

LIN_CCC = Coefficient(
    name="lin_ccc",
    called=_("Lin’s concordance"),
    says=_(
        "Whether the two give the same numbers: correlation, made smaller by a difference of "
        "level or spread. Equal to quadratically weighted kappa on these numbers."
    ),
    formula="2 s_xy / (s_xx + s_yy + (mean_x - mean_y)^2), divisor n",
    low=-1,
    high=1,
    undefined=(*OF_TWO, "zero_variance"),
    error=NO_ERROR,
    source="Lin 1989, Biometrics 45, 255-268",
    example=_example("lin_ccc", "0.76662", "equals the quadratic kappa of equally spaced values"),
    of_table=Formula(lin_ccc, values=Values.OR_RANKS),
    numeric=True,
    told="value",
    corrected=False,
)
