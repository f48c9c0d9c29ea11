"""Sensitivity of a coefficient to the weights: none, linear, quadratic and custom weights."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy.typing as npt

from metrics.agreement.estimate import Estimate, Value
from metrics.agreement.explain.bands import Band, find_band
from metrics.agreement.weights import UNWEIGHTED, build_weightings


@dataclass(frozen=True)
class WeightingSensitivity:
    """Value and band of a coefficient under each weighting.

    Robust when all defined ones lie in the same band.
    """

    values: dict[str, Value]
    bands: dict[str, Band | None]
    value_range: float | None  # the largest less the smallest defined value
    robust: bool | None  # None when fewer than two weightings are defined


def compute_sensitivity(
    coefficient: Callable[[npt.ArrayLike | None], Estimate],
    k: int,
    *,
    weight_matrix: npt.ArrayLike | None = None,
    scheme: str = "landis_koch",
) -> WeightingSensitivity:
    """Return the values of a coefficient under no, linear, quadratic and custom weights.

    It returns an Estimate (), e.g. lambda w: cohen.kappa(table, w).
    """
    results = {}
    for name, weights in build_weightings(k, weight_matrix).items():
        results[name] = coefficient(None if name == UNWEIGHTED else weights).to_value()
    bands = {name: find_band(value["value"], scheme) for name, value in results.items()}
    values = [value["value"] for value in results.values() if value["value"] is not None]
    robust = len({band.name for band in bands.values() if band}) == 1 if len(values) > 1 else None
    return WeightingSensitivity(
        results, bands, max(values) - min(values) if values else None, robust
    )
