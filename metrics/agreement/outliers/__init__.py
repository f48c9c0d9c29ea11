"""Rules that find outliers besides drift: raters, pairs, questions and categories.

Raters who disagree from the start or as newcomers, who always answer alike or too fast, or who copy
from each other; and pairs, questions and categories whose agreement fell.

All rules start from the result of `metrics.agreement.drift`, without the ratings that its alerts
exclude: the ratings of a drifting rater since the onset cause no other alert. Each rule is an
e-value against a stated bound, so that it may be tested as often as one likes;
`settings.alert_level` (5,000) is the evidence that raises an alert, unless the rule states another
level.

finding.py is the result of a rule. rater_rules.py and copies.py examine raters, agreement_falls.py
and category_shifts.py questions, pairs and categories. detection.py examines newcomers and combines
all findings, so that one cause raises one alert.

It may import the layers from metrics.agreement.drift down.
"""

from .detection import (
    OutlierResult,
    detect_alerted_raters,
    detect_outliers,
    get_alerted_raters,
)
from .finding import (
    CATEGORY_COLLAPSED,
    NEWCOMER_BELOW_TEAM,
    PAIR_DIVERGED,
    QUESTION_AGREEMENT_FELL,
    RATER_COPIES,
    RATER_DISAGREES,
    RATER_SAME_ANSWER,
    RATER_TOO_FAST,
    EvidenceSeries,
    OutlierFinding,
)

__all__ = [
    "CATEGORY_COLLAPSED",
    "NEWCOMER_BELOW_TEAM",
    "PAIR_DIVERGED",
    "QUESTION_AGREEMENT_FELL",
    "RATER_COPIES",
    "RATER_DISAGREES",
    "RATER_SAME_ANSWER",
    "RATER_TOO_FAST",
    "EvidenceSeries",
    "OutlierFinding",
    "OutlierResult",
    "detect_alerted_raters",
    "detect_outliers",
    "get_alerted_raters",
]
