"""Tests of marginal homogeneity and symmetry on tables of two raters.

They test whether both use the categories equally often, and whether disagreements balance.

    McNemar         (b - c)^2 / (b + c), df 1; corrected: max(|b - c| - 1, 0)^2 / (b + c);
                    exact: p = min(1, 2 P(Bin(b + c, 1/2) <= min(b, c)))             (2 x 2 only)
    Bowker          sum over pairs with n_jl + n_lj > 0 of (n_jl - n_lj)^2 / (n_jl + n_lj),
                    df = number of those pairs
    Stuart-Maxwell  d'V^-1 d with d = row less column totals, V_jj = r_j + c_j - 2 n_jj,
                    V_jl = -(n_jl + n_lj), df = rank of V: categories without a disagreement drop
                    out

McNemar 1947, Psychometrika 12, 153-157; Bowker 1948, JASA 43, 572-574; Stuart 1955, Biometrika 42,
412-416; Maxwell 1970, British Journal of Psychiatry 116, 651-655. Without any disagreement the
tests are undefined (no_discordant_pairs).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse, special
from scipy.sparse import csgraph

from metrics.agreement.coefficients.declaration import (
    TWO_RATER_REASONS,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.estimate import REASON_CODES, Floats, divide_or_nan
from metrics.agreement.glossary import gettext_noop as _

_MIN_SOLVED_CATEGORIES = 64  # below, eigenvalues are as fast and take several tables at once


@dataclass(frozen=True)
class ChiSquareTest:
    """Result of a chi-square test: chi2, df and p (...), NaN where undefined.

    reason (...): index into REASONS, 0 where the test is defined.
    """

    __test__ = False  # not a test case for pytest

    chi2: Floats
    df: Floats
    p: Floats
    reason: npt.NDArray[np.int64]


def _build_test(
    chi2: Floats, df: Floats, has_discordant: npt.NDArray[np.bool_], n: Floats
) -> ChiSquareTest:
    reason = np.where(
        n > 0,
        np.where(has_discordant, 0, REASON_CODES["no_discordant_pairs"]),
        REASON_CODES["no_pairable_items"],
    )
    defined = reason == 0
    chi2 = np.where(defined, chi2, np.nan)
    df = np.where(defined, df, np.nan)
    p = np.where(
        defined, special.chdtrc(np.where(defined, df, 1), np.where(defined, chi2, 0)), np.nan
    )
    return ChiSquareTest(chi2, df, p, reason)


def mcnemar(tables: npt.ArrayLike, *, corrected: bool = False) -> ChiSquareTest:
    """Return McNemar's test (...) of tables of two raters (..., 2, 2).

    corrected: whether with the continuity correction (Edwards 1948). Raises ValueError unless the
    tables are 2 x 2.
    """
    table = np.asarray(tables, float)
    if table.shape[-2:] != (2, 2):
        raise ValueError(
            f"McNemar's test needs 2 x 2 tables, not {table.shape[-2]} x {table.shape[-1]}"
        )
    b, c = table[..., 0, 1], table[..., 1, 0]
    difference = np.maximum(np.abs(b - c) - corrected, 0)
    return _build_test(
        divide_or_nan(difference**2, b + c), np.ones_like(b), b + c > 0, table.sum(axis=(-2, -1))
    )


def mcnemar_exact(tables: npt.ArrayLike) -> Floats:
    """Return the two-sided binomial p (...) of McNemar's test, from tables (..., 2, 2).

    NaN without a disagreement.
    """
    table = np.asarray(tables, float)
    b, c = table[..., 0, 1], table[..., 1, 0]
    p = np.minimum(1, 2 * special.bdtr(np.minimum(b, c), np.maximum(b + c, 1).astype(int), 0.5))
    return np.where(b + c > 0, p, np.nan)


def bowker(tables: npt.ArrayLike) -> ChiSquareTest:
    """Return Bowker's test of symmetry (...), from tables of two raters (..., k, k)."""
    table = np.asarray(tables, float)
    row, column = np.triu_indices(table.shape[-1], 1)
    upper_counts, lower_counts = table[..., row, column], table[..., column, row]
    discordant_counts = upper_counts + lower_counts
    chi2 = np.where(
        discordant_counts > 0,
        (upper_counts - lower_counts) ** 2 / np.maximum(discordant_counts, 1),
        0,
    ).sum(axis=-1)
    df = (discordant_counts > 0).sum(axis=-1).astype(float)
    return _build_test(chi2, df, df > 0, table.sum(axis=(-2, -1)))


def stuart_maxwell(tables: npt.ArrayLike) -> ChiSquareTest:
    """Return Stuart and Maxwell's test of marginal homogeneity (...) of tables (..., k, k).

    The covariance matrix V of the differences is the Laplacian of the graph of disagreements. Its
    pseudo-inverse leaves out categories without a disagreement, and its rank is right also for
    separate groups of categories.
    """
    table = np.asarray(tables, float)
    k = table.shape[-1]
    d = table.sum(axis=-1) - table.sum(axis=-2)
    discordant_counts = table + np.swapaxes(table, -2, -1)
    discordant_counts = np.where(np.eye(k, dtype=bool), 0, discordant_counts)
    laplacian = np.where(
        np.eye(k, dtype=bool), discordant_counts.sum(axis=-1)[..., None], -discordant_counts
    )
    has_disagreement = discordant_counts.sum(axis=(-2, -1)) > 0
    if table.ndim == 2 and k >= _MIN_SOLVED_CATEGORIES:
        chi2, df = _solve_laplacian(laplacian, d)
        return _build_test(chi2, df, has_disagreement, table.sum())
    values, vectors = np.linalg.eigh(laplacian)
    is_nonzero = values > 1e-9 * np.maximum(values.max(axis=-1, keepdims=True), 1e-300)
    coordinates = np.einsum("...ij,...i->...j", vectors, d)
    chi2 = np.where(is_nonzero, coordinates**2 / np.where(is_nonzero, values, 1), 0).sum(axis=-1)
    df = is_nonzero.sum(axis=-1).astype(float)
    return _build_test(chi2, df, has_disagreement, table.sum(axis=(-2, -1)))


def _solve_laplacian(
    laplacian: npt.NDArray[np.float64], d: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return d'V^-d and the rank of a Laplacian V (k, k), faster than from its eigenvalues.

    V is singular in the direction of each connected group of categories. Without one category of
    each group it is regular, and d'V^-d is the same, because d sums to 0 in each group. Most pairs
    of many categories have no disagreement, so V is sparse.
    """
    matrix = sparse.csc_array(laplacian)
    n_groups, group = csgraph.connected_components(matrix, directed=False)
    first_of_group = np.unique(group, return_index=True)[1]
    remaining = np.delete(np.arange(len(d)), first_of_group)
    chi2 = (
        d[remaining] @ sparse.linalg.spsolve(matrix[remaining][:, remaining], d[remaining])
        if remaining.size
        else 0.0
    )
    return np.asarray(chi2), np.asarray(float(len(d) - n_groups))


MCNEMAR = Coefficient(
    name="mcnemar.chi2",
    label=_("McNemar, corrected for continuity"),
    description=_("Tests whether two raters choose the first of two categories equally often."),
    formula="(b - c)^2 / (b + c), df 1; corrected for continuity: chi2_cc, p_cc; exact: p_exact",
    low=0,
    high=None,
    undefined=(*TWO_RATER_REASONS, "needs_2x2", "no_discordant_pairs"),
    error="p value from the chi-square distribution; exact p value from the binomial",
    source="McNemar 1947, Psychometrika 12, 153-157",
    example=Example(
        case="19_agresti_approval_mcnemar",
        name="mcnemar.chi2_cc",
        value="16.818",
        printed_in="R ?mcnemar.test",
    ),
    table_formula=Formula(mcnemar),
    report_format="2x2 test",
    chance_corrected=False,
)

BOWKER = Coefficient(
    name="bowker.chi2",
    label=_("Bowker’s test of symmetry"),
    description=_("Tests whether disagreements between categories go both ways equally often."),
    formula=(
        "sum of (n_jl - n_lj)^2 / (n_jl + n_lj) over pairs with n_jl + n_lj > 0, "
        "df = number of those pairs"
    ),
    low=0,
    high=None,
    undefined=(*TWO_RATER_REASONS, "no_discordant_pairs"),
    error="p value from the chi-square distribution",
    source="Bowker 1948, Journal of the American Statistical Association 43, 572-574",
    example=Example(
        case="05_seed002_custom_weights",
        name="bowker.chi2",
        value="4.4",
        printed_in="R mcnemar.test",
    ),
    table_formula=Formula(bowker),
    report_format="test",
    chance_corrected=False,
)

STUART_MAXWELL = Coefficient(
    name="stuart_maxwell.chi2",
    label=_("Stuart-Maxwell test"),
    description=_("Tests whether two raters use all categories equally often."),
    formula="d'V^-1 d, df = rank of V",
    low=0,
    high=None,
    undefined=(*TWO_RATER_REASONS, "no_discordant_pairs"),
    error="p value from the chi-square distribution",
    source=(
        "Stuart 1955, Biometrika 42, 412-416; "
        "Maxwell 1970, British Journal of Psychiatry 116, 651-655"
    ),
    example=Example(
        case="18_stuart1955_vision_women",
        name="stuart_maxwell.p",
        value="0.00753",
        printed_in="R irr stuart.maxwell.mh",
    ),
    table_formula=Formula(stuart_maxwell),
    report_format="test",
    chance_corrected=False,
)
