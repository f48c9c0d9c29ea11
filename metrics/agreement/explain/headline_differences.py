"""Why the number that is read first stands beside others that say something else: findings as in
diagnosis.py, of the readings alone.

    weightings         the lowest and highest value under any weights: robust where a scheme has one
                       word for both (the page knows the scheme)
    fleiss_and_pairs   Fleiss' kappa, of any raters, and the mean over these pairs differ: raters
                       use the categories unequally often
    consistent_apart   ICC(C,1) is above ICC(A,1), or what is missing to 1 is mostly that: raters
                       order items alike on different levels
"""

from collections.abc import Mapping
from typing import Any

from metrics.agreement.weights import WEIGHTINGS, weighted

from .diagnosis import Finding

PAIRS_GAP = 0.02  # between Fleiss' kappa and the mean over pairs
CONSISTENCY_GAP = 0.05  # ICC(C,1) less ICC(A,1); or a smaller one that is
MOST_OF_IT = 0.5  # so much of what is missing to full agreement
LEAST_GAP = 0.01

Readings = Mapping[str, Mapping[str, Any]]


def weightings(
    readings: Readings, *, base: str = "fleiss_kappa", called: str = "fleiss_kappa"
) -> Finding | None:
    """The lowest and the highest value of the coefficient ``called`` over the weightings that were
    made, with their names; ``base``: what it is called in ``readings``."""
    values = {}
    for name in WEIGHTINGS:
        value = readings.get(weighted(base, name), {}).get("value")
        if value is not None:
            values[name] = value
    if len(values) < 2:
        return None
    lowest, highest = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    return Finding(
        "weightings",
        f"{called} is {values[lowest]:.2f} with {lowest} and {values[highest]:.2f} with {highest} "
        "weights.",
        {
            "coefficient": called,
            "lowest": lowest,
            "low": values[lowest],
            "highest": highest,
            "high": values[highest],
        },
    )


def pairs_and_all(fleiss: float | None, mean: float | None) -> Finding | None:
    """Fleiss' kappa and the mean pairwise kappa under the same weights."""
    if fleiss is None or mean is None or abs(fleiss - mean) <= PAIRS_GAP:
        return None
    return Finding(
        "fleiss_and_pairs",
        f"Fleiss' kappa is {fleiss:.2f}, the mean over pairs {mean:.2f}: raters use the categories "
        "unequally often, and only the latter takes each rater's own habits as given.",
        {"fleiss": fleiss, "pairs": mean},
    )


def consistency(agreement: float | None, consistent: float | None, apart: float) -> Finding | None:
    """ICC(A,1), ICC(C,1) and the highest less the lowest mean of a rater."""
    if agreement is None or consistent is None:
        return None
    gap = consistent - agreement
    if gap < min(CONSISTENCY_GAP, max(MOST_OF_IT * (1 - agreement), LEAST_GAP)):
        return None
    return Finding(
        "consistent_apart",
        f"Raters are consistent (ICC(C,1) {consistent:.2f}) but apart (ICC(A,1) {agreement:.2f}): "
        f"their means differ by up to {apart:.2g}.",
        {"agreement": agreement, "consistency": consistent, "apart": apart},
    )
