"""Other coefficients of two raters from tables of the items rated by both.

    Scott's pi        P_e = sum w_jl pi_j pi_l with pi = (r + c) / 2
    PABAK             (k P_o - 1) / (k - 1)
    prevalence index  (a - d) / n of [[a, b], [c, d]], signed
    bias index        (b - c) / n, signed

Scott 1955, Public Opinion Quarterly 19, 321-325; Byrt, Bishop & Carlin 1993, Journal of Clinical
Epidemiology 46, 423-429. And the two-rater table forms of percent agreement, AC1/AC2 and
Brennan-Prediger, whose standard error is the delta method on the cells divided by n (irrCAC's
*.table functions; n - 1 in the raw forms).
"""

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    OF_TWO,
    ON_CELLS,
    ONE_CATEGORY,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.contingency import (
    Cells,
    bilinear,
    cells,
    corrected_for_chance,
    outer_sum,
    standard_error,
)
from metrics.agreement.estimate import CODE, Corrected, Estimate, Floats, estimated
from metrics.agreement.glossary import gettext_noop as _
from metrics.agreement.weights import chance_factor, weighting


def scott_pi(
    tables: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, interval: bool = True
) -> Estimate:
    """Tables (..., k, k) -> Estimate (...)."""
    c = cells(tables)
    w = weighting(weights, c.k)
    pull = c.pooled @ ((w + w.T) / 2)
    return corrected_for_chance(
        c, w, bilinear(c.pooled, w, c.pooled), outer_sum(pull, pull), interval=interval
    )


def percent_agreement(tables: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Estimate:
    """Tables (..., k, k) -> Estimate (...): the mean weight of the pairs of ratings."""
    c = cells(tables)
    return corrected_for_chance(c, weighting(weights, c.k), 0 * c.n, np.zeros((c.k, c.k)))


def gwet_ac(tables: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Estimate:
    """AC1 (AC2 with weights) of tables (..., k, k) -> Estimate (...)."""
    c = cells(tables)
    factor = chance_factor(weights, c.k)
    expected = factor * (c.pooled * (1 - c.pooled)).sum(axis=-1)
    slope = factor * (1 - outer_sum(c.pooled, c.pooled))
    return corrected_for_chance(c, weighting(weights, c.k), expected, slope)


def brennan_prediger(tables: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Estimate:
    """Tables (..., k, k) -> Estimate (...)."""
    c = cells(tables)
    w = weighting(weights, c.k)
    expected = np.full(c.n.shape, w.sum() / c.k**2)
    return corrected_for_chance(c, w, expected, np.zeros((c.k, c.k)))


def pabak(tables: npt.ArrayLike) -> Estimate:
    """Prevalence-adjusted bias-adjusted kappa: Brennan-Prediger without weights."""
    return brennan_prediger(tables)


def prevalence_index(tables: npt.ArrayLike) -> Estimate:
    """(a - d) / n of 2 x 2 tables; null for more categories."""
    return _index(tables, np.array([[1.0, 0.0], [0.0, -1.0]]))


def bias_index(tables: npt.ArrayLike) -> Estimate:
    """(b - c) / n of 2 x 2 tables; null for more categories."""
    return _index(tables, np.array([[0.0, 1.0], [-1.0, 0.0]]))


def mean_difference(tables: npt.ArrayLike, values: npt.ArrayLike | None = None) -> Estimate:
    """First rater less second over the items of both, in values (k,), ranks when None; se^2 = s^2 /
    n, t(n - 1)."""
    c = cells(tables)
    v = np.arange(1.0, c.k + 1) if values is None else np.asarray(values, float)
    g = v[:, None] - v[None, :]
    value = (c.p * g).sum(axis=(-2, -1))
    nothing = np.full(c.n.shape, np.nan)
    point = Corrected(nothing, nothing, value, np.where(c.n > 0, 0, CODE["no_pairable_items"]))
    return estimated(point, standard_error(c.p, g, c.n - 1), c.basis(), upper=np.inf)


def _index(tables: npt.ArrayLike, signs: Floats) -> Estimate:
    c = cells(tables)
    if c.k != 2:
        reason = np.where(c.n > 0, CODE["needs_2x2"], CODE["no_pairable_items"])
        nothing = np.full(c.n.shape, np.nan)
        return estimated(Corrected(nothing, nothing, nothing, reason), nothing, c.basis())
    return mean_of_cells(c, signs)


def mean_of_cells(c: Cells, g: Floats) -> Estimate:
    """The mean over items of a number g (k, k) or (..., k, k) given to each cell, with its standard
    error."""
    value = (c.p * g).sum(axis=(-2, -1))
    reason = np.where(c.n > 0, 0, CODE["no_pairable_items"])
    point = Corrected(value, np.full(c.n.shape, np.nan), value, reason)
    return estimated(point, standard_error(c.p, g, c.n), c.basis(), upper=np.inf)


_BYRT = "Byrt, Bishop & Carlin 1993, Journal of Clinical Epidemiology 46, 423-429"

SCOTT_PI = Coefficient(
    name="scott_pi",
    called=_("Scott’s pi"),
    says=_(
        "Like Cohen’s kappa, but chance is how often the two together use each category. A "
        "difference of habits makes it lower than Cohen’s."
    ),
    formula="(P_o - P_e) / (1 - P_e),   P_e = sum pi_j^2,   pi = (r + c) / 2",
    low=-1,
    high=1,
    undefined=(*OF_TWO, ONE_CATEGORY),
    error=ON_CELLS,
    source="Scott 1955, Public Opinion Quarterly 19, 321-325",
    example=Example(
        case="12_gwet_cont3x3abstractors",
        name="scott_pi",
        value="0.79624",
        printed="irrCAC README",
    ),
    of_table=Formula(scott_pi),
)

PABAK = Coefficient(
    name="pabak",
    called=_("PABAK, adjusted for prevalence and bias"),
    says=_(
        "Kappa as it would be if all categories were used equally often by both: it rests on "
        "the percent agreement alone."
    ),
    formula="(k P_o - 1) / (k - 1)",
    low=-1,
    high=1,
    undefined=OF_TWO,
    error=ON_CELLS,
    source=_BYRT,
    example=Example(
        case="12_gwet_cont3x3abstractors", name="pabak", value="0.835", printed="irrCAC README"
    ),
    of_table=Formula(pabak),
    told="value",
)

PREVALENCE_INDEX = Coefficient(
    name="prevalence_index",
    called=_("Prevalence index"),
    says=_(
        "How unequally often the two categories occur, from -1 to 1. Far from 0 kappa is low "
        "even when most answers agree."
    ),
    formula="(a - d) / n of the table [[a, b], [c, d]]",
    low=-1,
    high=1,
    undefined=(*OF_TWO, "needs_2x2"),
    error="delta method on the cells / n",
    source=_BYRT,
    example=Example(
        case="17_feinstein_cicchetti_1b",
        name="prevalence_index",
        value="0.75",
        printed="table of Feinstein & Cicchetti 1990",
    ),
    of_table=Formula(prevalence_index),
    told="value",
    corrected=False,
)

BIAS_INDEX = Coefficient(
    name="bias_index",
    called=_("Bias index"),
    says=_(
        "How much more often one of the two gives the first category than the other does, from "
        "-1 to 1; 0 is no difference."
    ),
    formula="(b - c) / n of the table [[a, b], [c, d]]",
    low=-1,
    high=1,
    undefined=(*OF_TWO, "needs_2x2"),
    error="delta method on the cells / n",
    source=_BYRT,
    example=Example(
        case="17_feinstein_cicchetti_1b",
        name="bias_index",
        value="0.05",
        printed="table of Feinstein & Cicchetti 1990",
    ),
    of_table=Formula(bias_index),
    told="value",
    corrected=False,
)
