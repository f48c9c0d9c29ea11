"""What is known of each type of scale: whether its categories have an order, and whether numbers.

Everything that depends on the type of a scale asks these properties, never its name.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ScaleType:
    """Properties of the categories, and the metric of Krippendorff's alpha made for them."""

    metric: str
    ordered: bool = False  # "higher" and "lower" mean something
    numeric: bool = False  # each category is a number, and differences mean something


SCALES = {
    "nominal": ScaleType(metric="nominal"),
    "ordinal": ScaleType(metric="ordinal", ordered=True),
    "interval": ScaleType(metric="interval", ordered=True, numeric=True),
    "ratio": ScaleType(metric="ratio", ordered=True, numeric=True),
}


def scale_type(name: str) -> ScaleType:
    """The properties of the scale of that name; ValueError naming the known ones."""
    if name not in SCALES:
        raise ValueError(f"unknown scale {name!r}; one of {', '.join(SCALES)}")
    return SCALES[name]
