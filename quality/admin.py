"""Read-only admin of labels, decisions and alerts."""

from __future__ import annotations

from projects.admin_base import register_read_only

from .models import (
    Alert,
    AlertScan,
    AlertSettings,
    AlertStep,
    Appeal,
    Consensus,
    Decision,
    DriftState,
    Escalation,
    Gate,
    GateState,
    GateVerdict,
    GoldIntervention,
    GoldItem,
    GoldReview,
    GoldScore,
    GoldState,
    ItemLabel,
    LabelRules,
    NameReveal,
    RaterCheck,
    RaterConfusion,
    RepeatScore,
    RepeatState,
    ReviewAssignment,
    ReviewClaim,
    SecondOpinion,
    SigningKey,
    StoredRaterComparison,
)

register_read_only(
    Consensus,
    "question method n_items n_ratings expected_errors computed_at",
    search="question__key question__project__name",
)


register_read_only(
    LabelRules, "question request_ratings certain_from max_ratings n_requested budget"
)


register_read_only(Appeal, "item question rater about state created_at", search="item__key")


register_read_only(SecondOpinion, "item question code by created_at", search="item__key")


register_read_only(
    Escalation, "item question state reason n_requested changed_at", search="item__key"
)


register_read_only(ItemLabel, "item question code source confidence n_ratings", search="item__key")


register_read_only(Decision, "item question number code by created_at", search="item__key")


register_read_only(RaterConfusion, "rater question accuracy bias")


register_read_only(ReviewClaim, "item question by expires_at postponed")


register_read_only(ReviewAssignment, "item question by sent_at")


register_read_only(NameReveal, "item question by revealed_at")


register_read_only(
    Alert, "question rater kind measure since size state created_at", filters="state kind"
)


register_read_only(AlertStep, "alert state cause by at")


register_read_only(DriftState, "rater question evidence watched n reason")


register_read_only(
    GoldState,
    "question pass_mark n_single n_several n_shares n_answers computed_at",
    search="question__key question__project__name",
)


register_read_only(
    GoldScore, "rater question n right accuracy evidence max_evidence", search="rater__key"
)


register_read_only(
    GoldItem, "item question exposures right probability suspected leaked", search="item__key"
)


register_read_only(GoldReview, "gold verdict by created_at")


register_read_only(
    GoldIntervention,
    "question rater step state evidence n_answers created_at by",
    filters="step state",
    search="=rater__key",
)


register_read_only(AlertSettings, "project sensitivity")


register_read_only(RaterCheck, "rater question by checked_at", search="=rater__key")


register_read_only(AlertScan, "question n_ratings reason computed_at", search="question__key")


register_read_only(RepeatState, "question n same low high computed_at", search="question__key")


register_read_only(RepeatScore, "rater question n same low high", search="=rater__key")


register_read_only(StoredRaterComparison, "question computed_at", search="question__key")


register_read_only(Gate, "name project question verdict changed_at", filters="verdict")


register_read_only(GateState, "question computed_at duration_seconds")


register_read_only(GateVerdict, "gate as_of pending computed_at")


register_read_only(SigningKey, "key_id public_key created_at")
