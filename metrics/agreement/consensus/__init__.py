"""One label an item from several raters: the majority, Dawid and Skene's model, how far to trust
it."""

from .calibration import TEMPERATURES, Calibration, calibrate
from .fitted_model import DawidSkene, Start
from .labels import (
    TIED,
    certainty_after,
    information,
    label_sets,
    means,
    medians,
    modes,
    tempered,
)
from .model import dawid_skene, dawid_skene_ml, judge
from .voting import Majority, majority, weighted_majority

__all__ = [
    "TEMPERATURES",
    "TIED",
    "Calibration",
    "DawidSkene",
    "Majority",
    "Start",
    "calibrate",
    "certainty_after",
    "dawid_skene",
    "dawid_skene_ml",
    "information",
    "judge",
    "label_sets",
    "majority",
    "means",
    "medians",
    "modes",
    "tempered",
    "weighted_majority",
]
