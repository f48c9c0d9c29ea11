"""Drift detection: alerts on raters whose agreement changed, with a bounded false alert rate.

At most one false alert in 5,000 working days of a rater, 20 rater-years. compute_evidence handles
one channel of one rater, detect_drift all raters with the consequences of each alert.

comparisons.py scores ratings against those of their peers and measures what is common to all
raters, daily_scores.py sums the scores by day and estimates the variance of a day, evidence.py
computes the evidence, shift_estimates.py estimates onset and size, control_charts.py builds the
charts of one round, detection.py raises the alerts.

It may import the layers from metrics.agreement.explain down.
"""

from .comparisons import UNDATED
from .control_charts import ControlChart
from .detection import (
    CANNOT_TELL_WHO,
    NO_PEERS,
    TOO_SHORT,
    DriftAlert,
    DriftContext,
    DriftResult,
    ExcusedAlert,
    RaterEvidence,
    detect_drift,
)
from .drift_settings import (
    AGREEMENT,
    BIAS,
    DOWN,
    PRIORS,
    SCORE_OF_CHANNEL,
    SIDE_OF_CHANNEL,
    UP,
    DriftSettings,
    ShiftPrior,
)
from .evidence import ShiftEvidence, compute_evidence
from .shift_estimates import ShiftEstimate, estimate_shift

__all__ = [
    "AGREEMENT",
    "BIAS",
    "CANNOT_TELL_WHO",
    "DOWN",
    "NO_PEERS",
    "PRIORS",
    "SCORE_OF_CHANNEL",
    "SIDE_OF_CHANNEL",
    "TOO_SHORT",
    "UNDATED",
    "UP",
    "ControlChart",
    "DriftAlert",
    "DriftContext",
    "DriftResult",
    "DriftSettings",
    "ExcusedAlert",
    "RaterEvidence",
    "ShiftEstimate",
    "ShiftEvidence",
    "ShiftPrior",
    "compute_evidence",
    "detect_drift",
    "estimate_shift",
]
