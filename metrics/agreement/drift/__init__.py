"""Drift of a rater: alarms that hold up, whatever is looked at and how often.

At most one false alarm in 5,000 working days of a rater, 20 rater-years. `evidence` is one channel
of one rater, `alarms` everybody with what follows from an alarm.

comparisons.py scores ratings against those of their peers, days.py sums the scores by day and
says what a day is worth, evidence.py weighs the days, extent.py says since when and by how much,
charts.py puts one round together, alarms.py says who is alarmed and what then.
"""

from .comparisons import UNDATED
from .control_charts import Chart
from .detection import (
    CANNOT_TELL_WHO,
    NO_PEERS,
    NORMAL,
    TOO_SHORT,
    Alarm,
    Drift,
    Excused,
    Known,
    Standing,
    alarms,
)
from .evidence import Evidence, evidence
from .settings import AGREEMENT, BIAS, DOWN, PRIORS, SCORE, SIDE, UP, Prior, Settings
from .shift_estimates import Extent, extent

__all__ = [
    "AGREEMENT",
    "BIAS",
    "CANNOT_TELL_WHO",
    "DOWN",
    "NORMAL",
    "NO_PEERS",
    "PRIORS",
    "SCORE",
    "SIDE",
    "TOO_SHORT",
    "UNDATED",
    "UP",
    "Alarm",
    "Chart",
    "Drift",
    "Evidence",
    "Excused",
    "Extent",
    "Known",
    "Prior",
    "Settings",
    "Standing",
    "alarms",
    "evidence",
    "extent",
]
