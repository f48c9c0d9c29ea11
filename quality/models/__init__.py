"""Models of quality control: alerts, gold scores, labels, decisions and escalations."""

from .alert import (
    Alert,
    AlertCause,
    AlertKind,
    AlertMeasure,
    AlertScan,
    AlertSettings,
    AlertState,
    AlertStep,
    DriftState,
    Sensitivity,
)
from .appeal import Appeal
from .consensus import Consensus, ConsensusMethod, ItemLabel, LabelSource, RaterConfusion
from .decision import Decision, NameReveal, ReviewAssignment, ReviewClaim
from .escalation import Escalation, LabelRules
from .gate import (
    MAX_GATE_NAME_LENGTH,
    Gate,
    GateDecision,
    GateState,
    GateVerdict,
    SigningKey,
)
from .gold import GoldItem, GoldReview, GoldScore, GoldState
from .gold_intervention import GoldIntervention
from .rater_comparison import StoredRaterComparison
from .recomputed import RecomputedResult
from .repeats import RepeatScore, RepeatState
from .second_opinion import SecondOpinion

__all__ = [
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
    "GateDecision",
    "GateState",
    "GateVerdict",
    "GoldIntervention",
    "GoldItem",
    "GoldReview",
    "GoldScore",
    "GoldState",
    "ItemLabel",
    "LabelRules",
    "LabelSource",
    "NameReveal",
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
]
