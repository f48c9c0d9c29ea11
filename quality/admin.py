"""Read-only admin of labels, decisions and alerts."""

from __future__ import annotations

from django.contrib import admin

from projects.admin_base import ReadOnlyAdmin

from .models import (
    Alert,
    AlertSettings,
    AlertStep,
    Appeal,
    ReviewClaim,
    Consensus,
    Decision,
    AlertScan,
    DriftState,
    Escalation,
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
    SecondOpinion,
    ReviewAssignment,
    StoredRaterComparison,
)


@admin.register(Consensus)
class ConsensusAdmin(ReadOnlyAdmin):
    list_display = ("question", "method", "n_items", "n_ratings", "expected_errors", "made_at")
    list_select_related = ("question",)
    search_fields = ("question__key", "question__project__name")


@admin.register(LabelRules)
class LabelRulesAdmin(ReadOnlyAdmin):
    list_display = ("question", "escalate", "sure_from", "most", "used", "budget")
    list_select_related = ("question",)


@admin.register(Appeal)
class AppealAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "rater", "about", "state", "made_at")
    list_select_related = ("question", "item", "rater")
    search_fields = ("item__key",)


@admin.register(SecondOpinion)
class SecondOpinionAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "code", "by", "made_at")
    list_select_related = ("question", "item", "by")
    search_fields = ("item__key",)


@admin.register(Escalation)
class EscalationAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "state", "why", "asked", "changed_at")
    list_select_related = ("question", "item")
    search_fields = ("item__key",)


@admin.register(ItemLabel)
class ItemLabelAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "code", "source", "confidence", "n_ratings")
    list_select_related = ("question", "item")
    search_fields = ("item__key",)


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "number", "code", "by", "made_at")
    list_select_related = ("question", "item", "by")
    search_fields = ("item__key",)


@admin.register(RaterConfusion)
class RaterConfusionAdmin(ReadOnlyAdmin):
    list_display = ("rater", "question", "accuracy", "bias")
    list_select_related = ("question", "rater")


@admin.register(ReviewClaim)
class ClaimAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "by", "until", "passed")
    list_select_related = ("question", "item", "by")


@admin.register(ReviewAssignment)
class SentAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "by", "sent_at")
    list_select_related = ("question", "item", "by")


@admin.register(NameReveal)
class NamesSeenAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "by", "seen_at")
    list_select_related = ("question", "item", "by")


@admin.register(Alert)
class AlarmAdmin(ReadOnlyAdmin):
    list_display = ("question", "rater", "kind", "measure", "since", "size", "state", "raised_at")
    list_select_related = ("question", "rater")
    list_filter = ("state", "kind")


@admin.register(AlertStep)
class AlarmStepAdmin(ReadOnlyAdmin):
    list_display = ("alarm", "state", "answer", "by", "at")
    list_select_related = ("alarm", "by")


@admin.register(DriftState)
class DriftStandingAdmin(ReadOnlyAdmin):
    list_display = ("rater", "question", "evidence", "watched", "n", "reason")
    list_select_related = ("question", "rater")


@admin.register(GoldState)
class GoldStateAdmin(ReadOnlyAdmin):
    list_display = ("question", "bar", "n_single", "n_several", "n_shares", "n_answers", "made_at")
    list_select_related = ("question",)
    search_fields = ("question__key", "question__project__name")


@admin.register(GoldScore)
class GoldScoreAdmin(ReadOnlyAdmin):
    list_display = ("rater", "question", "n", "right", "accuracy", "evidence", "highest")
    list_select_related = ("rater", "question")
    search_fields = ("rater__key",)


@admin.register(GoldItem)
class GoldItemAdmin(ReadOnlyAdmin):
    list_display = ("item", "question", "exposures", "right", "probability", "suspected", "leaked")
    list_select_related = ("item", "question")
    search_fields = ("item__key",)


@admin.register(GoldReview)
class GoldReviewAdmin(ReadOnlyAdmin):
    list_display = ("gold", "verdict", "by", "made_at")
    list_select_related = ("gold", "by")


@admin.register(GoldIntervention)
class GoldActAdmin(ReadOnlyAdmin):
    list_display = ("question", "rater", "step", "state", "evidence", "answers", "made_at", "by")
    list_select_related = ("question", "rater", "by")
    list_filter = ("step", "state")
    search_fields = ("=rater__key",)


@admin.register(AlertSettings)
class AlarmRulesAdmin(ReadOnlyAdmin):
    list_display = ("project", "sensitivity")
    list_select_related = ("project",)


@admin.register(AlertScan)
class DriftRunAdmin(ReadOnlyAdmin):
    list_display = ("question", "n_ratings", "reason", "made_at")
    list_select_related = ("question",)
    search_fields = ("question__key",)


@admin.register(RepeatState)
class RepeatStateAdmin(ReadOnlyAdmin):
    list_display = ("question", "n", "same", "low", "high", "made_at")
    list_select_related = ("question",)
    search_fields = ("question__key",)


@admin.register(RepeatScore)
class RepeatScoreAdmin(ReadOnlyAdmin):
    list_display = ("rater", "question", "n", "same", "low", "high")
    list_select_related = ("rater", "question")
    search_fields = ("=rater__key",)


@admin.register(StoredRaterComparison)
class TriageAdmin(ReadOnlyAdmin):
    list_display = ("question", "made_at")
    list_select_related = ("question",)
    search_fields = ("question__key",)
