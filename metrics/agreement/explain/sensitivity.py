"""Does the conclusion depend on the weights? One coefficient under none, linear, quadratic and
custom weights."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy.typing as npt

from metrics.agreement.estimate import Estimate, Value
from metrics.agreement.explain.bands import Band, band_of
from metrics.agreement.weights import NONE, weightings


@dataclass(frozen=True)
class Sensitivity:
    """Per weighting the reading and its band; robust when all defined ones lie in the same band."""

    readings: dict[str, Value]
    bands: dict[str, Band | None]
    spread: float | None  # largest less smallest defined value
    robust: bool | None  # None when fewer than two weightings are defined


def sensitivity(
    coefficient: Callable[[npt.ArrayLike | None], Estimate],
    k: int,
    *,
    weight_matrix: npt.ArrayLike | None = None,
    scheme: str = "landis_koch",
) -> Sensitivity:
    """`coefficient` maps weights (None or (k, k)) to an Estimate (), e.g. lambda w:
    cohen.kappa(table, w)."""
    readings = {}
    for name, weights in weightings(k, weight_matrix).items():
        readings[name] = coefficient(None if name == NONE else weights).reading()
    found = {name: band_of(reading["value"], scheme) for name, reading in readings.items()}
    values = [reading["value"] for reading in readings.values() if reading["value"] is not None]
    robust = len({band.name for band in found.values() if band}) == 1 if len(values) > 1 else None
    return Sensitivity(readings, found, max(values) - min(values) if values else None, robust)
