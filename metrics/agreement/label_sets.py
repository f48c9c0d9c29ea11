"""Agreement of ratings that are sets of labels: alpha over whole sets, and of each label by itself.

The distinct sets in use are the categories, with distances between them:

    Jaccard  d = 1 - |A & B| / |A | B|
    MASI     d = 1 - J M,  M = 1 equal, 2/3 one inside the other, 1/3 overlapping, 0 disjoint

and d = 0 between two empty sets. Passonneau 2006, LREC, 831-836. The alpha of a label is that of
yes and no: what a lead can act on.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .coefficients import krippendorff
from .counts import tally
from .estimate import Floats, Value

MOST_SETS = 64  # in use at once; with more there are the labels' own alphas only
TOO_MANY = "too_many_sets"

Set = frozenset[Any]


def jaccard(one: Collection[Any], other: Collection[Any]) -> float:
    """1 - |A & B| / |A | B|."""
    a, b = set(one), set(other)
    return 1 - len(a & b) / len(a | b) if a | b else 0.0


def masi(one: Collection[Any], other: Collection[Any]) -> float:
    """1 - J M."""
    a, b = set(one), set(other)
    if a == b:
        return 0.0
    inside = a <= b or b <= a
    # disjoint sets have J = 0, whatever M is
    return 1 - (1 - jaccard(a, b)) * (2 / 3 if inside else 1 / 3)


def distances(sets: Sequence[Collection[Any]], of: Any = jaccard) -> Floats:
    """d (k, k) between sets, `of` jaccard or masi."""
    found = np.zeros((len(sets), len(sets)))
    for row, one in enumerate(sets):
        for column in range(row):
            found[row, column] = found[column, row] = of(one, sets[column])
    return found


@dataclass(frozen=True)
class SetAgreement:
    """alpha of whole sets under both distances, and of each label (yes or no) by name."""

    jaccard: Value
    masi: Value
    labels: dict[Any, Value]


def agreement(
    item: npt.ArrayLike, sets: Iterable[Collection[Any]], labels: Sequence[Any]
) -> SetAgreement:
    """Ratings in long form: item (M,), the set of each (M). ValueError for an undeclared label."""
    said = [frozenset(one) for one in sets]
    for place, one in enumerate(said):
        unknown = sorted(map(str, one - set(labels)))
        if unknown:
            raise ValueError(f"rating {place}: unknown label {unknown[0]!r}")
    keys = np.asarray(item, np.int64)
    of_labels = {}
    for label in labels:
        has = np.array([label in one for one in said], np.int64)
        of_labels[label] = _alpha(keys, has, 1 - np.eye(2))
    distinct = sorted(set(said), key=lambda one: sorted(map(str, one)))
    if len(distinct) > MOST_SETS:
        # nothing is computed; the number of items and ratings is that of any label
        basis = _alpha(keys, np.zeros(len(said), np.int64), 1 - np.eye(2))
        none: Value = {**basis, "observed": None, "expected": None, "reason": TOO_MANY}
        return SetAgreement(none, none, of_labels)
    distinct = distinct or [frozenset()]  # no rating at all: a table of no items
    place_of = {one: place for place, one in enumerate(distinct)}
    code = np.array([place_of[one] for one in said], np.int64)
    return SetAgreement(
        _alpha(keys, code, distances(distinct, jaccard)),
        _alpha(keys, code, distances(distinct, masi)),
        of_labels,
    )


def _alpha(item: npt.NDArray[np.int64], code: npt.NDArray[np.int64], d: Floats) -> Value:
    counted = tally.patterns(item, code, len(d))
    return krippendorff.alpha(counted.counts, counted.n_items, d).reading()
