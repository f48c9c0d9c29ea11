"""Agreement weights w (k, k): w_jl is the credit for a pair of ratings j and l, w_jj = 1.

By rank of the declared categories (Cicchetti & Allison 1971; Fleiss & Cohen 1973):

    none       w_jl = [j = l]
    linear     w_jl = 1 - |j - l| / (k - 1)
    quadratic  w_jl = 1 - ((j - l) / (k - 1))^2

or `custom`: any symmetric matrix with ones on the diagonal and values in 0..1 (Cohen 1968), or
quadratic in numeric scores of the categories.
"""

import numpy as np
import numpy.typing as npt

from .estimate import Floats

NONE = "none"
CUSTOM = "custom"
NAMES = (NONE, "linear", "quadratic")  # those that follow from the number of categories
WEIGHTINGS = (*NAMES, CUSTOM)  # all


def none(k: int) -> Floats:
    """Full credit for the same category, nothing otherwise."""
    return np.eye(k)


def linear(k: int) -> Floats:
    """Credit falls evenly with the distance in ranks."""
    return 1 - _distance(k)


def quadratic(k: int) -> Floats:
    """Credit falls with the squared distance in ranks: near misses cost little."""
    return 1 - _distance(k) ** 2


def matrix(name: str, k: int) -> Floats:
    """The weights (k, k) of that name."""
    made = {NONE: none, "linear": linear, "quadratic": quadratic}
    if name not in made:
        raise ValueError(f"unknown weights {name!r}; one of {', '.join(NAMES)}")
    return made[name](k)


def applicable(*, ordered: bool, custom: bool) -> list[str]:
    """The weightings that can be used: those by rank where categories are ordered, custom where
    there is a matrix."""
    by_rank = NAMES if ordered else (NONE,)
    return [*by_rank, CUSTOM] if custom else list(by_rank)


def weightings(
    k: int, own: npt.ArrayLike | None = None, *, ordered: bool = True
) -> dict[str, Floats]:
    """Name -> matrix (k, k) of the applicable weightings; ``own`` is the custom matrix."""
    found = {}
    for name in applicable(ordered=ordered, custom=own is not None):
        found[name] = np.asarray(own, float) if name == CUSTOM else matrix(name, k)
    return found


def weighted(base: str, weighting: str) -> str:
    """The name of a coefficient under a weighting: ("fleiss_kappa", "none") is the plain one."""
    return base if weighting == NONE else f"{base}_{weighting}"


def scored(scores: npt.ArrayLike) -> Floats:
    """Quadratic in numeric scores of the categories (k,): 1 - (s_j - s_l)^2 / (max s - min s)^2."""
    values = np.asarray(scores, float)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError("scores must be one finite number for each category")
    span = values.max() - values.min()
    if span == 0:
        raise ValueError("scores must not all be equal")
    return 1 - ((values[:, None] - values[None, :]) / span) ** 2


def weighting(weights: npt.ArrayLike | None, k: int) -> Floats:
    """Weights as a float matrix; None means full credit for the same category only."""
    return np.eye(k) if weights is None else np.asarray(weights, float)


def chance_factor(weights: npt.ArrayLike | None, k: int) -> float:
    """T_w / (k (k - 1)): the chance agreement of AC1 and AC2 is this times sum p_j (1 - p_j)."""
    return float(np.sum(weighting(weights, k))) / (k * (k - 1)) if k > 1 else 0.0


def check_weight_matrix(weights: npt.ArrayLike, k: int) -> Floats:
    """The matrix as floats; ValueError naming the first place that is wrong (rows and columns count
    from 1)."""
    try:
        values = np.array(weights, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"the weight matrix must be {k} rows of {k} numbers") from None
    if values.shape != (k, k):
        shape = " x ".join(map(str, values.shape)) or "a single number"
        raise ValueError(
            f"the weight matrix must be square, {k} x {k} for {k} categories, not {shape}"
        )
    _refuse(~np.isfinite(values), values, "must be a finite number")
    _refuse(np.eye(k, dtype=bool) & (values != 1), values, "is on the diagonal and must be 1")
    _refuse((values < 0) | (values > 1), values, "must lie in 0..1")
    row, column = _first(values != values.T)
    if row:
        one, other = values[row - 1, column - 1], values[column - 1, row - 1]
        raise ValueError(
            f"the weight matrix must be symmetric: row {row}, column {column} is {one:g}, "
            f"but row {column}, column {row} is {other:g}"
        )
    return values


def _refuse(wrong: npt.NDArray[np.bool_], values: Floats, complaint: str) -> None:
    row, column = _first(wrong)
    if row:
        found = values[row - 1, column - 1]
        raise ValueError(
            f"row {row}, column {column} of the weight matrix {complaint}, not {found:g}"
        )


def _first(wrong: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Row and column, from 1, of the first True; (0, 0) when there is none."""
    places = np.argwhere(wrong)
    return (int(places[0, 0]) + 1, int(places[0, 1]) + 1) if len(places) else (0, 0)


def _distance(k: int) -> Floats:
    """|j - l| / (k - 1), in 0..1."""
    rank = np.arange(k)
    distance: Floats = np.abs(rank[:, None] - rank[None, :]) / max(k - 1, 1)
    return distance
