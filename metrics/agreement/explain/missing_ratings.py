"""Results of the same ratings under different policies for missing ratings.

available  Fleiss' kappa, pooled: items with two ratings or more are compared, and the agreement
           expected by chance comes from all ratings, including single ones
by_item    Fleiss' kappa as Gwet generalises it: the same, but each item counts once in the
           agreement expected by chance, however many ratings it has
complete   Fleiss' kappa of the items that all raters rated, as in programs that drop the others
paired     Krippendorff's alpha: items with two ratings or more, and nothing else
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.batch import pattern_coefficients
from metrics.agreement.coefficients.declaration import NO_PAIRABLE_ITEMS
from metrics.agreement.estimate import Value
from metrics.agreement.scales import get_scale_type
from metrics.agreement.weights import UNWEIGHTED, get_weighted_name

POLICIES = ("available", "by_item", "complete", "paired")


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

    n_items (P,): numbers of items; weighting: of Fleiss' kappas, one that applies on the scale.
    """
    patterns, items = np.asarray(counts), np.asarray(n_items)
    sizes = patterns.sum(axis=1)
    alpha = f"krippendorff_alpha_{get_scale_type(scale).metric}"
    fleiss = get_weighted_name("fleiss_kappa", weighting)
    rules = {
        "available": (fleiss, sizes >= 1),
        "by_item": (get_weighted_name("fleiss_kappa_gwet", weighting), sizes >= 1),
        "complete": (fleiss, (sizes == n_raters) & (sizes >= 1)),
        "paired": (alpha, sizes >= 2),
    }
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
    for name in POLICIES:
        coefficient, is_used = rules[name]
        used_items = np.where(is_used, items, 0)
        estimate = estimates[is_used.tobytes()][coefficient].to_value()
        if name == "complete" and estimate["reason"] == NO_PAIRABLE_ITEMS and n_raters >= 2:
            estimate["reason"] = "needs_complete_items"
        left_out_counts = np.where((sizes >= 1) & ~is_used, items, 0)
        single_items = int(used_items[sizes == 1].sum())
        left_out = int(left_out_counts.sum()), int(left_out_counts @ sizes)
        policies.append(MissingDataPolicy(name, coefficient, estimate, *left_out, single_items))
    return policies
