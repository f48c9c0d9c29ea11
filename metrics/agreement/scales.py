"""Types of scales, and validation of the categories, codes and values that report() is given.

Code that depends on the scale type asks its properties, never the type's name. A ValueError of the
validation names the position of the first invalid entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .estimate import Floats


@dataclass(frozen=True)
class ScaleType:
    """Properties of the categories, and the metric of Krippendorff's alpha that suits them."""

    metric: str
    ordered: bool = False  # "higher" and "lower" mean something
    numeric: bool = False  # each category is a number, and differences mean something


SCALES = {
    "nominal": ScaleType(metric="nominal"),
    "ordinal": ScaleType(metric="ordinal", ordered=True),
    "interval": ScaleType(metric="interval", ordered=True, numeric=True),
    "ratio": ScaleType(metric="ratio", ordered=True, numeric=True),
}


def get_scale_type(name: str) -> ScaleType:
    """Return the properties of the scale with this name.

    Raises ValueError, which lists the valid names, for another one.
    """
    if name not in SCALES:
        raise ValueError(f"unknown scale {name!r}; one of {', '.join(SCALES)}")
    return SCALES[name]


def validate_category_count(categories: int | Sequence[Any]) -> int:
    """Return the number of declared categories; raise ValueError for fewer than two."""
    k = categories if isinstance(categories, (int, np.integer)) else len(categories)
    if k < 2:
        raise ValueError(f"a scale needs at least two categories, not {k}")
    return int(k)


def validate_codes(codes: npt.ArrayLike, k: int) -> npt.NDArray[np.int64]:
    """Return codes (items, raters) as integers 0..k-1, -1 for missing.

    Raises ValueError for another shape; otherwise it names row and column of the first invalid
    code.
    """
    allowed = f"0..{k - 1}, or -1 for a missing rating"
    try:
        table = np.asarray(codes)
    except ValueError:
        raise ValueError(
            "codes must be rows of equal length, one row an item, one column a rater"
        ) from None
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"codes must be an (items x raters) array, not one of shape {table.shape}")
    if table.dtype.kind not in "iu":
        try:
            numbers = table.astype(float)
        except (TypeError, ValueError):
            raise ValueError(f"codes must be integers: {allowed}") from None
    else:
        numbers = table
    invalid = ~((numbers >= -1) & (numbers < k))
    if numbers.dtype.kind == "f":
        invalid |= numbers != np.floor(numbers)
    if invalid.any():
        row, column = np.argwhere(invalid)[0]
        raise ValueError(
            f"row {row}, column {column}: code {table[row, column]} is not allowed; "
            f"one of {allowed}"
        )
    return numbers.astype(np.int64)


def validate_values(values: Sequence[float] | npt.ArrayLike, k: int) -> Floats:
    """Return the values of the categories as floats (k,).

    Raises ValueError unless they are k finite numbers.
    """
    try:
        v = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"values must be {k} numbers, one for each category") from None
    if v.shape != (k,):
        raise ValueError(f"values must be {k} numbers, one for each category, not {v.size}")
    if not np.isfinite(v).all():
        raise ValueError(f"value {int(np.argmin(np.isfinite(v)))} is not a finite number")
    return v
