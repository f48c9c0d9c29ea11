"""Explanations of differences between the headline and other statistics.

Findings as in diagnosis.py, from stored results alone.

    weightings         the lowest and highest value under any weights: robust where a scheme has one
                       band for both (the page knows the scheme)
    fleiss_and_pairs   Fleiss' kappa, of any raters, and the mean over these pairs differ: raters
                       use the categories unequally often
    consistent_apart   ICC(C,1) is above ICC(A,1), or explains most of what is missing to 1: raters
                       order items alike on different levels
"""

from collections.abc import Mapping
from typing import Any

from metrics.agreement.weights import WEIGHTINGS, get_weighted_name

from .diagnosis import DiagnosticFinding

PAIRS_GAP = 0.02  # between Fleiss' kappa and the mean over pairs
CONSISTENCY_GAP = 0.05  # ICC(C,1) less ICC(A,1); or a smaller gap that is at least
CONSISTENCY_SHARE = 0.5  # this share of what is missing to full agreement
MIN_CONSISTENCY_GAP = 0.01

Results = Mapping[str, Mapping[str, Any]]


def compare_weightings(
    results: Results, *, base: str = "fleiss_kappa", coefficient: str = "fleiss_kappa"
) -> DiagnosticFinding | None:
    """Return the lowest and the highest value of a coefficient over the computed weightings.

    base: the name of the coefficient in ``results``; coefficient: the name shown. None for fewer
    than two weightings.
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
    """Compare Fleiss' kappa with the mean pairwise kappa under the same weights.
    None if they are close.
    """
    if fleiss is None or mean is None or abs(fleiss - mean) <= PAIRS_GAP:
        return None
    return DiagnosticFinding(
        "fleiss_and_pairs",
        f"Fleiss' kappa is {fleiss:.2f}, the mean over pairs {mean:.2f}: raters use the categories "
        "unequally often, and only the latter takes each rater's own habits as given.",
        {"fleiss": fleiss, "pairs": mean},
    )


def compare_consistency(
    agreement: float | None, consistency_icc: float | None, level_difference: float
) -> DiagnosticFinding | None:
    """Compare ICC(A,1) with ICC(C,1); None if they are close.

    level_difference: the highest less the lowest mean of a rater.
    """
    if agreement is None or consistency_icc is None:
        return None
    gap = consistency_icc - agreement
    if gap < min(CONSISTENCY_GAP, max(CONSISTENCY_SHARE * (1 - agreement), MIN_CONSISTENCY_GAP)):
        return None
    return DiagnosticFinding(
        "consistent_apart",
        f"Raters are consistent (ICC(C,1) {consistency_icc:.2f}) "
        f"but apart (ICC(A,1) {agreement:.2f}): "
        f"their means differ by up to {level_difference:.2g}.",
        {
            "agreement": agreement,
            "consistency": consistency_icc,
            "level_difference": level_difference,
        },
    )
