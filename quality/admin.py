"""Read-only admin of labels, decisions and alerts."""

from __future__ import annotations

from django.contrib import admin

from projects.admin_base import ReadOnlyAdmin

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
    RaterConfusion,
    RepeatScore,
    RepeatState,
    ReviewAssignment,
    ReviewClaim,
    SecondOpinion,
    SigningKey,
    StoredRaterComparison,
)


@admin.register(Consensus)
class ConsensusAdmin(ReadOnlyAdmin):
    list_display = ("question", "method", "n_items", "n_ratings", "expected_errors", "computed_at")
    list_select_related = ("question",)
    search_fields = ("question__key", "question__project__name")


@admin.register(LabelRules)
class LabelRulesAdmin(ReadOnlyAdmin):
    list_display = (
        "question",
        "request_ratings",
        "certain_from",
        "max_ratings",
        "n_requested",
        "budget",
    )
    list_select_related = ("question",)


@admin.register(Appeal)
class AppealAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "rater", "about", "state", "created_at")
    list_select_related = ("question", "item", "rater")
    search_fields = ("item__key",)


@admin.register(SecondOpinion)
class SecondOpinionAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "code", "by", "created_at")
    list_select_related = ("question", "item", "by")
    search_fields = ("item__key",)


@admin.register(Escalation)
class EscalationAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "state", "reason", "n_requested", "changed_at")
    list_select_related = ("question", "item")
    search_fields = ("item__key",)


@admin.register(ItemLabel)
class ItemLabelAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "code", "source", "confidence", "n_ratings")
    list_select_related = ("question", "item")
    search_fields = ("item__key",)


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "number", "code", "by", "created_at")
    list_select_related = ("question", "item", "by")
    search_fields = ("item__key",)


@admin.register(RaterConfusion)
class RaterConfusionAdmin(ReadOnlyAdmin):
    list_display = ("rater", "question", "accuracy", "bias")
    list_select_related = ("question", "rater")


@admin.register(ReviewClaim)
class ReviewClaimAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "by", "expires_at", "postponed")
    list_select_related = ("question", "item", "by")


@admin.register(ReviewAssignment)
class ReviewAssignmentAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "by", "sent_at")
    list_select_related = ("question", "item", "by")


@admin.register(NameReveal)
class NameRevealAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "by", "revealed_at")
    list_select_related = ("question", "item", "by")


@admin.register(Alert)
class AlertAdmin(ReadOnlyAdmin):
    list_display = ("question", "rater", "kind", "measure", "since", "size", "state", "created_at")
    list_select_related = ("question", "rater")
    list_filter = ("state", "kind")


@admin.register(AlertStep)
class AlertStepAdmin(ReadOnlyAdmin):
    list_display = ("alert", "state", "cause", "by", "at")
    list_select_related = ("alert", "by")


@admin.register(DriftState)
class DriftStateAdmin(ReadOnlyAdmin):
    list_display = ("rater", "question", "evidence", "watched", "n", "reason")
    list_select_related = ("question", "rater")


@admin.register(GoldState)
class GoldStateAdmin(ReadOnlyAdmin):
    list_display = (
        "question",
        "pass_mark",
        "n_single",
        "n_several",
        "n_shares",
        "n_answers",
        "computed_at",
    )
    list_select_related = ("question",)
    search_fields = ("question__key", "question__project__name")


@admin.register(GoldScore)
class GoldScoreAdmin(ReadOnlyAdmin):
    list_display = ("rater", "question", "n", "right", "accuracy", "evidence", "max_evidence")
    list_select_related = ("rater", "question")
    search_fields = ("rater__key",)


@admin.register(GoldItem)
class GoldItemAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "exposures", "right", "probability", "suspected", "leaked")
    list_select_related = ("item", "question")
    search_fields = ("item__key",)


@admin.register(GoldReview)
class GoldReviewAdmin(ReadOnlyAdmin):
    list_display = ("gold", "verdict", "by", "created_at")
    list_select_related = ("gold", "by")


@admin.register(GoldIntervention)
class GoldInterventionAdmin(ReadOnlyAdmin):
    list_display = (
        "question",
        "rater",
        "step",
        "state",
        "evidence",
        "n_answers",
        "created_at",
        "by",
    )
    list_select_related = ("question", "rater", "by")
    list_filter = ("step", "state")
    search_fields = ("=rater__key",)


@admin.register(AlertSettings)
class AlertSettingsAdmin(ReadOnlyAdmin):
    list_display = ("project", "sensitivity")
    list_select_related = ("project",)


@admin.register(AlertScan)
class AlertScanAdmin(ReadOnlyAdmin):
    list_display = ("question", "n_ratings", "reason", "computed_at")
    list_select_related = ("question",)
    search_fields = ("question__key",)


@admin.register(RepeatState)
class RepeatStateAdmin(ReadOnlyAdmin):
    list_display = ("question", "n", "same", "low", "high", "computed_at")
    list_select_related = ("question",)
    search_fields = ("question__key",)


@admin.register(RepeatScore)
class RepeatScoreAdmin(ReadOnlyAdmin):
    list_display = ("rater", "question", "n", "same", "low", "high")
    list_select_related = ("rater", "question")
    search_fields = ("=rater__key",)


@admin.register(StoredRaterComparison)
class StoredRaterComparisonAdmin(ReadOnlyAdmin):
    list_display = ("question", "computed_at")
    list_select_related = ("question",)
    search_fields = ("question__key",)


@admin.register(Gate)
class GateAdmin(ReadOnlyAdmin):
    list_display = ("name", "project", "question", "verdict", "changed_at")
    list_select_related = ("project", "question")
    list_filter = ("verdict",)


@admin.register(GateState)
class GateStateAdmin(ReadOnlyAdmin):
    list_display = ("question", "computed_at", "duration_seconds")
    list_select_related = ("question",)


@admin.register(GateVerdict)
class GateVerdictAdmin(ReadOnlyAdmin):
    list_display = ("gate", "as_of", "pending", "computed_at")
    list_select_related = ("gate",)


@admin.register(SigningKey)
class SigningKeyAdmin(ReadOnlyAdmin):
    list_display = ("key_id", "public_key", "created_at")
