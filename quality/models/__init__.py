"""Models of quality control: alerts, gold scores, labels, decisions and escalations.

It imports no other module of quality.
"""

from .alert import (
    CHECKED_DAYS,
    Alert,
    AlertCause,
    AlertKind,
    AlertMeasure,
    AlertScan,
    AlertSettings,
    AlertState,
    AlertStep,
    DriftState,
    RaterCheck,
    Sensitivity,
)
from .consensus import Consensus, ConsensusMethod, ItemLabel, LabelSource, RaterConfusion
from .gate import (
    MAX_GATE_NAME_LENGTH,
    Gate,
    GateState,
    GateVerdict,
    SigningKey,
    VerdictValue,
)
from .gold_and_repeats import (
    GoldIntervention,
    GoldItem,
    GoldResult,
    GoldReview,
    GoldScore,
    GoldState,
    RepeatScore,
    RepeatState,
)
from .recomputed import RecomputedResult, StoredRaterComparison
from .review import (
    Appeal,
    Decision,
    Escalation,
    LabelRules,
    NameReveal,
    ReviewAssignment,
    ReviewClaim,
    SecondOpinion,
)

__all__ = [
    "CHECKED_DAYS",
    "MAX_GATE_NAME_LENGTH",
    "Alert",
    "AlertCause",
    "AlertKind",
    "AlertMeasure",
    "AlertScan",
    "AlertSettings",
    "AlertState",
    "AlertStep",
    "Appeal",
    "Consensus",
    "ConsensusMethod",
    "Decision",
    "DriftState",
    "Escalation",
    "Gate",
    "GateState",
    "GateVerdict",
    "GoldIntervention",
    "GoldItem",
    "GoldResult",
    "GoldReview",
    "GoldScore",
    "GoldState",
    "ItemLabel",
    "LabelRules",
    "LabelSource",
    "NameReveal",
    "RaterCheck",
    "RaterConfusion",
    "RecomputedResult",
    "RepeatScore",
    "RepeatState",
    "ReviewAssignment",
    "ReviewClaim",
    "SecondOpinion",
    "Sensitivity",
    "SigningKey",
    "StoredRaterComparison",
    "VerdictValue",
]
