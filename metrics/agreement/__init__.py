"""Agreement among raters: exact coefficients with their uncertainty, on NumPy and SciPy alone.

    from metrics.agreement import report
    report([[0, 0, 1], [1, 1, -1]], categories=2)["fleiss_kappa"]

Symbols, the same in formulas, names and shapes throughout the package:

    i, g, j l     item, rater, two categories; k categories are declared, in their declared order
    n_ij          ratings of item i in category j; its row n_i is the item's *pattern*
    m_i           ratings of item i;  M = sum of m_i;  R raters
    n, n2         items with at least one rating, with at least two
    w (k, k)      agreement weights, w_jj = 1 (weights.py); W the matrix, T_w the sum of its entries
    P_o, P_e      observed agreement, agreement expected by chance;
                  kappa = (P_o - P_e) / (1 - P_e)

    codes (N, R)        items are always axis 0; -1 for missing
    item, rater, code   (M,) the same ratings in long form
    counts (P, k)       distinct patterns, shared by all entries of the leading axes
    n_items (..., P)    items of each pattern; the leading axes are days, periods, bootstrap
                        replicates
    tables (..., k, k)  a pair of raters: the first rater's category is the row

Functions are vectorised over the leading axes (...) and return an Estimate of that shape. Undefined
is NaN with a reason inside an Estimate, None with the reason's name in values and reports; a scale
of one category is rejected with ValueError.

counts/ has the counts; coefficients/ the coefficients, a family a module, each with its formula,
source and declaration; registry.py lists them all. consensus/, drift/, outliers/, comparison/ and
rater_quality/ build on them; explain/ says why statistics differ.

It imports no other module of metrics.
"""

from .all_statistics import report
from .coefficients.declaration import Coefficient
from .estimate import REASONS, Estimate, Value
from .outliers import detect_alerted_raters
from .registry import COEFFICIENTS
from .scale_coefficients import estimate_coefficient, pattern_coefficients, table_coefficients

__all__ = [
    "COEFFICIENTS",
    "REASONS",
    "Coefficient",
    "Estimate",
    "Value",
    "detect_alerted_raters",
    "estimate_coefficient",
    "pattern_coefficients",
    "report",
    "table_coefficients",
]
