"""Differences between the headline and other statistics, and between rules for missing ratings.

Findings as in diagnosis.py, from stored results alone:

    weightings         the lowest and highest value under any weights: robust where a scheme has one
                       band for both (the page knows the scheme)
    fleiss_and_pairs   Fleiss' kappa, of any raters, and the mean over these pairs differ
    consistent_apart   ICC(C,1) is above ICC(A,1), or explains most of what is missing to 1, and the
                       raters' means differ by more than chance: they order items alike on
                       different levels

Results of the same ratings under different policies for missing ratings (compute_by_policy):

    available  Fleiss' kappa, pooled: items with two ratings or more are compared, and the agreement
               expected by chance comes from all ratings, including single ones
    by_item    Fleiss' kappa as Gwet generalises it: the same, but each item counts once in the
               agreement expected by chance, however many ratings it has
    complete   Fleiss' kappa of the items that all raters rated, as in programs that drop the others
    paired     Krippendorff's alpha: items with two ratings or more, and nothing else
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.coefficients.declaration import NO_PAIRABLE_ITEMS
from metrics.agreement.estimate import Value
from metrics.agreement.scale_coefficients import pattern_coefficients
from metrics.agreement.scales import get_scale_type
from metrics.agreement.weights import UNWEIGHTED, WEIGHTINGS, get_weighted_name

from .diagnosis import SIGNIFICANCE_LEVEL, DiagnosticFinding

PAIRS_GAP = 0.02  # between Fleiss' kappa and the mean over pairs
# Least ICC(C,1) less ICC(A,1). A gap of CONSISTENCY_SHARE of 1 - ICC(A,1) is enough, too, if it is
# at least MIN_CONSISTENCY_GAP.
CONSISTENCY_GAP = 0.05
CONSISTENCY_SHARE = 0.5
MIN_CONSISTENCY_GAP = 0.01
MIN_CONSISTENCY = 0.6  # good by Cicchetti 1994

Results = Mapping[str, Mapping[str, Any]]


def compare_weightings(
    results: Results, *, base: str = "fleiss_kappa", coefficient: str = "fleiss_kappa"
) -> DiagnosticFinding | None:
    """Return the finding with the lowest and the highest value of a coefficient by weighting.

    ``results``: name -> value, as stored; base: the name of the coefficient in them; coefficient:
    the name shown. None for fewer than two computed weightings.
    """
    values = {}
    for name in WEIGHTINGS:
        value = results.get(get_weighted_name(base, name), {}).get("value")
        if value is not None:
            values[name] = value
    if len(values) < 2:
        return None
    lowest, highest = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    return DiagnosticFinding(
        "weightings",
        f"{coefficient} is {values[lowest]:.2f} with {lowest} "
        f"and {values[highest]:.2f} with {highest} weights.",
        {
            "coefficient": coefficient,
            "lowest": lowest,
            "low": values[lowest],
            "highest": highest,
            "high": values[highest],
        },
    )


def compare_with_pair_mean(fleiss: float | None, mean: float | None) -> DiagnosticFinding | None:
    """Return the finding that Fleiss' kappa and the mean pairwise kappa differ, or None.

    Both must have the same weights. There is no finding where one of them is None, or for a
    difference of PAIRS_GAP or less.
    """
    if fleiss is None or mean is None or abs(fleiss - mean) <= PAIRS_GAP:
        return None
    return DiagnosticFinding(
        "fleiss_and_pairs",
        f"Fleiss' kappa is {fleiss:.2f}, the mean over pairs {mean:.2f}. Fleiss' kappa weights "
        "items equally and takes chance from all ratings; the mean weights pairs by their shared "
        "items and takes chance from the two raters.",
        {"fleiss": fleiss, "pairs": mean},
    )


def compare_consistency(
    agreement: float | None,
    consistency_icc: float | None,
    level_difference: float,
    *,
    n_items: int,
    n_raters: int,
) -> DiagnosticFinding | None:
    """Return the finding that raters are consistent on different levels, or None.

    agreement, consistency_icc: ICC(A,1) and ICC(C,1) of complete items; level_difference: the
    highest less the lowest mean of a rater. None where the gap is small, where raters are not
    consistent, or where their means differ no more than by chance (F test of raters).
    """
    if agreement is None or consistency_icc is None or consistency_icc < MIN_CONSISTENCY:
        return None
    gap = consistency_icc - agreement
    if gap < min(CONSISTENCY_GAP, max(CONSISTENCY_SHARE * (1 - agreement), MIN_CONSISTENCY_GAP)):
        return None
    if _test_levels(agreement, consistency_icc, n_items, n_raters) >= SIGNIFICANCE_LEVEL:
        return None
    return DiagnosticFinding(
        "consistent_apart",
        f"Raters are consistent but on different levels: ICC(C,1) is {consistency_icc:.2f}, "
        f"ICC(A,1) {agreement:.2f}, and their means differ by up to {level_difference:.2g}.",
        {
            "agreement": agreement,
            "consistency": consistency_icc,
            "level_difference": level_difference,
        },
    )


def _test_levels(agreement: float, consistency_icc: float, n_items: int, n_raters: int) -> float:
    """Return the p-value of the F test of raters, computed from ICC(A,1) and ICC(C,1).

    With C = ICC(C,1): MSR / MSE = (1 + (R - 1) C) / (1 - C), and C / ICC(A,1) - 1 = R (MSC / MSE -
    1) / n / (MSR / MSE + R - 1).
    """
    if consistency_icc >= 1:  # no error variance: any difference of levels is certain
        return 0.0
    items_ratio = (1 + (n_raters - 1) * consistency_icc) / (1 - consistency_icc)
    excess = consistency_icc / max(agreement, 1e-12) - 1
    f = 1 + excess * n_items / n_raters * (items_ratio + n_raters - 1)
    return float(special.fdtrc(n_raters - 1, (n_items - 1) * (n_raters - 1), f))


@dataclass(frozen=True)
class MissingDataPolicy:
    """A coefficient under one policy for missing ratings, and the items that it leaves out.

    single_items: used items with one rating, which affect only the shares of the categories.
    """

    name: str
    coefficient: str
    estimate: Value
    left_out_items: int
    left_out_ratings: int
    single_items: int


def compute_by_policy(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    n_raters: int,
    scale: str,
    weighting: str = UNWEIGHTED,
    values: npt.ArrayLike | None = None,
    weight_matrix: npt.ArrayLike | None = None,
) -> list[MissingDataPolicy]:
    """Return Fleiss' kappa or alpha of patterns (P, k) under each policy for missing ratings.

    n_items (P,); weighting: of Fleiss' kappas; values (k,) and weight_matrix (k, k), or None.
    """
    patterns, items = np.asarray(counts), np.asarray(n_items)
    sizes = patterns.sum(axis=1)
    rules = _list_policy_rules(sizes, n_raters, scale, weighting)
    # Where rules use the same items, as with complete items, their sums are computed once.
    names_of_items: dict[bytes, list[str]] = {}
    for coefficient, is_used in rules.values():
        names_of_items.setdefault(is_used.tobytes(), []).append(coefficient)
    estimates = {
        key: pattern_coefficients(
            patterns,
            np.where(np.frombuffer(key, bool), items, 0),
            scale=scale,
            values=values,
            weight_matrix=weight_matrix,
            names=names,
        )
        for key, names in names_of_items.items()
    }
    policies = []
    for name, (coefficient, is_used) in rules.items():
        estimate = estimates[is_used.tobytes()][coefficient].to_value()
        if name == "complete" and estimate["reason"] == NO_PAIRABLE_ITEMS and n_raters >= 2:
            estimate["reason"] = "needs_complete_items"
        left_out = items * ((sizes >= 1) & ~is_used)
        single = items[is_used & (sizes == 1)]
        numbers = int(left_out.sum()), int(left_out @ sizes), int(single.sum())
        policies.append(MissingDataPolicy(name, coefficient, estimate, *numbers))
    return policies


def _list_policy_rules(
    sizes: npt.NDArray[np.int64], n_raters: int, scale: str, weighting: str
) -> dict[str, tuple[str, npt.NDArray[np.bool_]]]:
    """Return policy -> (coefficient, mask (P,) of the patterns that it uses).

    sizes (P,): ratings of an item with each pattern.
    """
    alpha = f"krippendorff_alpha_{get_scale_type(scale).metric}"
    fleiss = get_weighted_name("fleiss_kappa", weighting)
    return {
        "available": (fleiss, sizes >= 1),
        "by_item": (get_weighted_name("fleiss_kappa_gwet", weighting), sizes >= 1),
        "complete": (fleiss, (sizes == n_raters) & (sizes >= 1)),
        "paired": (alpha, sizes >= 2),
    }
