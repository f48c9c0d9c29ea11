"""Agreement on sets of labels (several per rating): alpha of whole sets and of each label.

The distinct sets in use are the categories, with distances between them:

    Jaccard  d = 1 - |A & B| / |A | B|
    MASI     d = 1 - J M,  M = 1 equal, 2/3 one inside the other, 1/3 overlapping, 0 disjoint

and d = 0 between two empty sets. Passonneau 2006, LREC, 831-836. The alpha of a label treats each
rating as yes or no; it shows which label needs a better guideline.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .coefficients import krippendorff
from .counts import tally
from .estimate import Floats, Value

MAX_SETS = 64  # distinct sets in use; beyond that only the alpha of each label is computed
TOO_MANY = "too_many_sets"


def jaccard_distance(first: Collection[Any], second: Collection[Any]) -> float:
    """Return the Jaccard distance 1 - |A & B| / |A | B| of two sets, 0 for two empty ones."""
    a, b = set(first), set(second)
    return 1 - len(a & b) / len(a | b) if a | b else 0.0


def masi_distance(first: Collection[Any], second: Collection[Any]) -> float:
    """Return the MASI distance 1 - J M of two sets (see the module), 0 for two empty ones."""
    a, b = set(first), set(second)
    if a == b:
        return 0.0
    is_nested = a <= b or b <= a
    # Disjoint sets have J = 0, so M does not matter.
    return 1 - (1 - jaccard_distance(a, b)) * (2 / 3 if is_nested else 1 / 3)


def compute_distances(sets: Sequence[Collection[Any]], distance: Any = jaccard_distance) -> Floats:
    """Return the distances (k, k) between k sets; distance: jaccard_distance or masi_distance."""
    matrix = np.zeros((len(sets), len(sets)))
    for row, label_set in enumerate(sets):
        for column in range(row):
            matrix[row, column] = matrix[column, row] = distance(label_set, sets[column])
    return matrix


@dataclass(frozen=True)
class SetAgreement:
    """Alpha of whole sets under both distances, and label -> alpha of having it (yes or no).

    Those of whole sets are undefined for more than MAX_SETS distinct sets.
    """

    jaccard: Value
    masi: Value
    labels: dict[Any, Value]


def compute_agreement(
    item: npt.ArrayLike, sets: Iterable[Collection[Any]], labels: Sequence[Any]
) -> SetAgreement:
    """Return the agreement of label sets: item (M,) and label set (M) of each rating.

    labels: the declared labels; raise ValueError for another one.
    """
    rating_sets = [frozenset(label_set) for label_set in sets]
    for position, label_set in enumerate(rating_sets):
        unknown = sorted(map(str, label_set - set(labels)))
        if unknown:
            raise ValueError(f"rating {position}: unknown label {unknown[0]!r}")
    keys = np.asarray(item, np.int64)
    label_alphas = {}
    for label in labels:
        has_label = np.array([label in label_set for label_set in rating_sets], np.int64)
        label_alphas[label] = _compute_alpha(keys, has_label, 1 - np.eye(2))
    distinct = sorted(set(rating_sets), key=lambda label_set: sorted(map(str, label_set)))
    if len(distinct) > MAX_SETS:
        # No alpha is computed; the numbers of items and ratings are those of any label.
        basis = _compute_alpha(keys, np.zeros(len(rating_sets), np.int64), 1 - np.eye(2))
        undefined: Value = {**basis, "observed": None, "expected": None, "reason": TOO_MANY}
        return SetAgreement(undefined, undefined, label_alphas)
    distinct = distinct or [frozenset()]  # without ratings the table has no items
    code_of = {label_set: position for position, label_set in enumerate(distinct)}
    code = np.array([code_of[label_set] for label_set in rating_sets], np.int64)
    return SetAgreement(
        _compute_alpha(keys, code, compute_distances(distinct, jaccard_distance)),
        _compute_alpha(keys, code, compute_distances(distinct, masi_distance)),
        label_alphas,
    )


def _compute_alpha(item: npt.NDArray[np.int64], code: npt.NDArray[np.int64], d: Floats) -> Value:
    pattern_counts = tally.count_patterns(item, code, len(d))
    return krippendorff.alpha_from_distances(
        pattern_counts.counts, pattern_counts.n_items, d
    ).to_value()
