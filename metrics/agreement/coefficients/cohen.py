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

from metrics.agreement.coefficients.declaration import (
    NO_ERROR,
    OF_TWO,
    ONE_CATEGORY,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.contingency import bilinear, cells, corrected_for_chance, outer_sum
from metrics.agreement.estimate import Corrected, Estimate, Floats, divided, estimated
from metrics.agreement.glossary import gettext_noop as _
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


_COHEN = "Cohen 1960, Educational and Psychological Measurement 20, 37-46"
_ERROR = (
    "delta method on the cells / n (Fleiss, Cohen & Everitt 1969), t(n - 1); "
    "also with the normal quantile and se0"
)

COHEN_KAPPA = Coefficient(
    name="cohen_kappa",
    called=_("Cohen’s kappa"),
    says=_(
        "Agreement of two raters beyond what their own habits give: 1 is full agreement, 0 is "
        "what two independent raters with these habits reach."
    ),
    formula="(P_o - P_e) / (1 - P_e),   P_o = sum p_jj,   P_e = sum r_j c_j",
    low=-1,
    high=1,
    undefined=(*OF_TWO, ONE_CATEGORY),
    error=_ERROR,
    source=_COHEN,
    example=Example(
        case="12_gwet_cont3x3abstractors",
        name="cohen_kappa",
        value="0.79641",
        printed="irrCAC README",
    ),
    of_table=Formula(kappa),
    told="kappa",
    of_each_pair=True,
)

WEIGHTED_KAPPA = Coefficient(
    name="weighted_kappa",
    called=_("Cohen’s weighted kappa"),
    says=_(
        "Cohen’s kappa in which near misses count as partly agreed. With quadratic weights it "
        "is Lin’s concordance of the ranks, and nearly the intraclass correlation."
    ),
    formula="(P_o - P_e) / (1 - P_e),   P_o = sum w_jl p_jl,   P_e = sum w_jl r_j c_l",
    low=None,
    high=1,
    undefined=(*OF_TWO, ONE_CATEGORY),
    error=_ERROR,
    source="Cohen 1968, Psychological Bulletin 70, 213-220",
    example=Example(
        case="09_cohen1968_diagnosis_custom_weights",
        name="weighted_kappa_custom",
        value="0.348",
        printed="Cohen 1968",
    ),
    of_table=Formula(kappa, weights=True),
    plain=False,
    told="kappa",
    of_each_pair=True,
)

COHEN_KAPPA_CATEGORY = Coefficient(
    name="cohen_kappa_category",
    called=_("Cohen’s kappa of each category"),
    says=_("Cohen’s kappa of two raters on one category against all others."),
    formula="cohen_kappa of the 2 x 2 table of j and not j",
    low=-1,
    high=1,
    undefined=(*OF_TWO, ONE_CATEGORY),
    error=_ERROR,
    source="Fleiss 1981, Statistical Methods for Rates and Proportions, 2nd ed., ch. 13",
    example=Example(
        case="05_seed002_custom_weights",
        name="cohen_kappa_category",
        value="0.627 0.428 0.377 0.655",
        printed="scikit-learn, one against the rest",
    ),
    of_table=Formula(category_kappas),
    told="categories",
)

KAPPA_MAX = Coefficient(
    name="kappa_max",
    called=_("Largest kappa that the margins allow"),
    says=_(
        "The largest kappa that these two could reach, as often as each of them uses the "
        "categories. What is missing from it to 1 is a difference of habits."
    ),
    formula="(sum min(r_j, c_j) - P_e) / (1 - P_e)",
    low=0,
    high=1,
    undefined=(*OF_TWO, ONE_CATEGORY),
    error=NO_ERROR,
    source=_COHEN,
    example=Example(
        case="05_seed002_custom_weights",
        name="kappa_max",
        value="0.94979",
        printed="computed by hand from the margins",
    ),
    of_table=Formula(kappa_max),
    told="value",
    corrected=False,
)
