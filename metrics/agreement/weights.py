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

UNWEIGHTED = "none"
CUSTOM = "custom"
RANK_WEIGHTINGS = (
    UNWEIGHTED,
    "linear",
    "quadratic",
)  # determined by the number of categories alone
WEIGHTINGS = (*RANK_WEIGHTINGS, CUSTOM)


def identity_weights(k: int) -> Floats:
    """Return (k, k) weights with full credit for the same category and none otherwise."""
    return np.eye(k)


def linear_weights(k: int) -> Floats:
    """Return (k, k) weights that fall linearly with the distance in ranks, from 1 to 0."""
    return 1 - _compute_rank_distances(k)


def quadratic_weights(k: int) -> Floats:
    """Return (k, k) weights that fall with the squared distance in ranks, from 1 to 0."""
    return 1 - _compute_rank_distances(k) ** 2


def get_weight_matrix(name: str, k: int) -> Floats:
    """Return the weights by rank (k, k) with this name: none, linear or quadratic.

    Raises ValueError, which lists the valid names, for another one.
    """
    builders = {
        UNWEIGHTED: identity_weights,
        "linear": linear_weights,
        "quadratic": quadratic_weights,
    }
    if name not in builders:
        raise ValueError(f"unknown weights {name!r}; one of {', '.join(RANK_WEIGHTINGS)}")
    return builders[name](k)


def list_applicable_weightings(*, ordered: bool, custom: bool) -> list[str]:
    """Return the names of the weightings that can be used.

    Weightings by rank need ordered categories; the custom one needs a matrix (`custom`).
    """
    names = RANK_WEIGHTINGS if ordered else (UNWEIGHTED,)
    return [*names, CUSTOM] if custom else list(names)


def build_weightings(
    k: int, custom_matrix: npt.ArrayLike | None = None, *, ordered: bool = True
) -> dict[str, Floats]:
    """Return name -> matrix (k, k) of the applicable weightings; `custom_matrix` (k, k) or None."""
    matrices = {}
    for name in list_applicable_weightings(ordered=ordered, custom=custom_matrix is not None):
        matrices[name] = (
            np.asarray(custom_matrix, float) if name == CUSTOM else get_weight_matrix(name, k)
        )
    return matrices


def get_weighted_name(base: str, weighting: str) -> str:
    """Return the name of a coefficient under a weighting; "none" gives the base name unchanged."""
    return base if weighting == UNWEIGHTED else f"{base}_{weighting}"


def score_weights(scores: npt.ArrayLike) -> Floats:
    """Return weights (k, k) that fall with the squared difference of the scores (k,), from 1 to 0.

    Raises ValueError for scores that are not finite or are all equal.
    """
    values = np.asarray(scores, float)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError("scores must be one finite number for each category")
    span = values.max() - values.min()
    if span == 0:
        raise ValueError("scores must not all be equal")
    return 1 - ((values[:, None] - values[None, :]) / span) ** 2


def as_weight_matrix(weights: npt.ArrayLike | None, k: int) -> Floats:
    """Return weights as a float matrix (k, k); identity weights for None."""
    return np.eye(k) if weights is None else np.asarray(weights, float)


def chance_factor(weights: npt.ArrayLike | None, k: int) -> float:
    """Return T_w / (k (k - 1)), the factor of weights in AC1 and AC2; 0 for one category.

    weights (k, k) or None. The chance agreement of AC1 and AC2 is this factor times sum p_j (1 -
    p_j).
    """
    return float(np.sum(as_weight_matrix(weights, k))) / (k * (k - 1)) if k > 1 else 0.0


def validate_weight_matrix(weights: npt.ArrayLike, k: int) -> Floats:
    """Return the matrix (k, k) as floats if it is symmetric in 0..1 with ones on the diagonal.

    Otherwise raises ValueError, which names the first invalid row and column, from 1.
    """
    try:
        values = np.array(weights, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"the weight matrix must be {k} rows of {k} numbers") from None
    if values.shape != (k, k):
        shape = " x ".join(map(str, values.shape)) or "a single number"
        raise ValueError(
            f"the weight matrix must be square, {k} x {k} for {k} categories, not {shape}"
        )
    _raise_at_first(~np.isfinite(values), values, "must be a finite number")
    _raise_at_first(
        np.eye(k, dtype=bool) & (values != 1), values, "is on the diagonal and must be 1"
    )
    _raise_at_first((values < 0) | (values > 1), values, "must lie in 0..1")
    row, column = _find_first(values != values.T)
    if row:
        upper_value, lower_value = values[row - 1, column - 1], values[column - 1, row - 1]
        raise ValueError(
            f"the weight matrix must be symmetric: row {row}, column {column} is {upper_value:g}, "
            f"but row {column}, column {row} is {lower_value:g}"
        )
    return values


def _raise_at_first(invalid: npt.NDArray[np.bool_], values: Floats, requirement: str) -> None:
    """Raise ValueError with the position and value of the first invalid entry (k, k), if any."""
    row, column = _find_first(invalid)
    if row:
        value = values[row - 1, column - 1]
        raise ValueError(
            f"row {row}, column {column} of the weight matrix {requirement}, not {value:g}"
        )


def _find_first(mask: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Return row and column, from 1, of the first True; (0, 0) when there is none."""
    positions = np.argwhere(mask)
    return (int(positions[0, 0]) + 1, int(positions[0, 1]) + 1) if len(positions) else (0, 0)


def _compute_rank_distances(k: int) -> Floats:
    """Return |j - l| / (k - 1), in 0..1, as a matrix (k, k)."""
    rank = np.arange(k)
    distance: Floats = np.abs(rank[:, None] - rank[None, :]) / max(k - 1, 1)
    return distance
