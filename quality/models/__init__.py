"""Models of quality control: alerts, gold scores, labels, decisions and escalations."""

from .alert import (
    Alarm,
    AlarmRules,
    AlarmStep,
    Answer,
    DriftRun,
    DriftStanding,
    Kind,
    Measure,
    Sensitivity,
    State,
)
from .appeal import Appeal
from .consensus import Consensus, ItemLabel, Method, RaterConfusion, Source
from .decision import Claim, Decision, NamesSeen, Sent
from .escalation import Escalation, LabelRules
from .gold import GoldItem, GoldReview, GoldScore, GoldState
from .gold_intervention import GoldAct
from .rater_comparison import Triage
from .recomputed import Renewed
from .repeats import RepeatScore, RepeatState
from .second_opinion import SecondOpinion

__all__ = [
    "Alarm",
    "AlarmRules",
    "AlarmStep",
    "Answer",
    "Appeal",
    "Claim",
    "Consensus",
    "Decision",
    "DriftRun",
    "DriftStanding",
    "Escalation",
    "GoldAct",
    "GoldItem",
    "GoldReview",
    "GoldScore",
    "GoldState",
    "ItemLabel",
    "Kind",
    "LabelRules",
    "Measure",
    "Method",
    "NamesSeen",
    "RaterConfusion",
    "Renewed",
    "RepeatScore",
    "RepeatState",
    "SecondOpinion",
    "Sensitivity",
    "Sent",
    "Source",
    "State",
    "Triage",
]
