"""Properties of each scale type: whether its categories are ordered, and whether they are numbers.

Code that depends on the scale type asks these properties, never the type's name.
"""

from dataclasses import dataclass


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
    """Return the properties of the scale with this name; ValueError lists the valid names."""
    if name not in SCALES:
        raise ValueError(f"unknown scale {name!r}; one of {', '.join(SCALES)}")
    return SCALES[name]
