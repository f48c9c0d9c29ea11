"""What different rules about missing ratings make of the same ratings, side by side.

available  Fleiss' kappa, pooled: items with two ratings or more are compared, and what is
           expected by chance comes from all ratings, also from single ones
by_item    Fleiss' kappa as Gwet generalises it: the same, but each item counts once in what is
           expected by chance, however many ratings it has
complete   Fleiss' kappa of the items that all raters rated, as programs do that drop the others
paired     Krippendorff's alpha: items with two ratings or more, and nothing else
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.batch import pattern_coefficients
from metrics.agreement.coefficients.declaration import NO_PAIRS
from metrics.agreement.estimate import Value
from metrics.agreement.scales import scale_type
from metrics.agreement.weights import NONE, weighted

POLICIES = ("available", "by_item", "complete", "paired")


@dataclass(frozen=True)
class Policy:
    """One rule: the coefficient that it gives, and how much it leaves out. `single_items` have one
    rating, which is compared with nothing and tells only how often a category is used."""

    name: str
    coefficient: str
    reading: Value
    left_out_items: int
    left_out_ratings: int
    single_items: int


def policies(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    n_raters: int,
    scale: str,
    weighting: str = NONE,
    values: npt.ArrayLike | None = None,
    weight_matrix: npt.ArrayLike | None = None,
) -> list[Policy]:
    """Patterns (P, k) and numbers of items (P,) of `n_raters` raters under each of POLICIES;
    `weighting`: of Fleiss' kappas, one that such a scale knows."""
    patterns, items = np.asarray(counts), np.asarray(n_items)
    sizes = patterns.sum(axis=1)
    alpha = f"krippendorff_alpha_{scale_type(scale).metric}"
    fleiss = weighted("fleiss_kappa", weighting)
    rules = {
        "available": (fleiss, sizes >= 1),
        "by_item": (weighted("fleiss_kappa_gwet", weighting), sizes >= 1),
        "complete": (fleiss, (sizes == n_raters) & (sizes >= 1)),
        "paired": (alpha, sizes >= 2),
    }
    found = []
    for name in POLICIES:
        coefficient, taken = rules[name]
        kept = np.where(taken, items, 0)
        estimates = pattern_coefficients(
            patterns,
            kept,
            scale=scale,
            values=values,
            weight_matrix=weight_matrix,
            names=[coefficient],
        )
        reading = estimates[coefficient].reading()
        if name == "complete" and reading["reason"] == NO_PAIRS and n_raters >= 2:
            reading["reason"] = "needs_complete_items"
        out = np.where((sizes >= 1) & ~taken, items, 0)
        single = int(kept[sizes == 1].sum())
        left_out = int(out.sum()), int(out @ sizes)
        found.append(Policy(name, coefficient, reading, *left_out, single))
    return found
