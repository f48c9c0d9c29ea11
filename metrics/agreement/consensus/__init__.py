"""One label an item from several raters: majority vote, Dawid and Skene's model, calibration.

It may import the layers from metrics.agreement.coefficients down.
"""

from .calibration import (
    MIN_GOLD_ITEMS,
    TEMPERATURES,
    Calibration,
    GoldCalibration,
    calibrate,
    calibrate_on_gold,
)
from .dawid_skene import compute_posterior_from_fit, fit_dawid_skene, fit_dawid_skene_ml
from .fitted_model import DawidSkene, StartingValues
from .labels import (
    TIED,
    MajorityVote,
    credible_label_sets,
    expected_confidence,
    expected_information,
    majority_vote,
    posterior_means,
    posterior_medians,
    posterior_modes,
    raise_to_power,
    select_labels,
    weighted_majority_vote,
)

__all__ = [
    "MIN_GOLD_ITEMS",
    "TEMPERATURES",
    "TIED",
    "Calibration",
    "DawidSkene",
    "GoldCalibration",
    "MajorityVote",
    "StartingValues",
    "calibrate",
    "calibrate_on_gold",
    "compute_posterior_from_fit",
    "credible_label_sets",
    "expected_confidence",
    "expected_information",
    "fit_dawid_skene",
    "fit_dawid_skene_ml",
    "majority_vote",
    "posterior_means",
    "posterior_medians",
    "posterior_modes",
    "raise_to_power",
    "select_labels",
    "weighted_majority_vote",
]
