"""Read-only admin of counts and results, which are computed from the ratings only."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

from projects.admin_base import ReadOnlyAdmin

from .models import (
    Attribution,
    AuditResult,
    BacklogRange,
    CountState,
    Diagnosis,
    FilteredResult,
    PairTally,
    PatternTally,
    PeerTally,
    RaterResult,
    Report,
    Result,
    SavedView,
    ShareLink,
    Worker,
)


@admin.register(CountState)
class CountStateAdmin(ReadOnlyAdmin):
    list_display = (
        "question",
        "ratings",
        "version",
        "scale_version",
        "counted_at",
        "backlog_done",
        "backlog_total",
    )
    list_select_related = ("question",)
    search_fields = ("question__key", "question__project__name")


class CountsAdmin(ReadOnlyAdmin):
    """Admin of rows with large arrays: hides ``hidden_fields`` and does not load them."""

    show_full_result_count = False

    def get_queryset(self, request: Any) -> Any:
        return super().get_queryset(request).defer(*self.hidden_fields)

    def get_fields(self, request: Any, obj: Any = None) -> Any:
        names = [field.name for field in self.model._meta.fields]
        return [name for name in names if name not in self.hidden_fields]

    hidden_fields: tuple[str, ...] = ()


@admin.register(PatternTally)
class PatternTallyAdmin(CountsAdmin):
    list_display = ("question", "day", "width", "stale")
    list_select_related = ("question",)
    search_fields = ("question__key",)
    hidden_fields = ("patterns",)


@admin.register(PairTally)
class PairTallyAdmin(CountsAdmin):
    list_display = ("question", "rater_a", "rater_b", "n_items", "kappa_none", "kappa_quadratic")
    list_select_related = ("question", "rater_a", "rater_b")
    search_fields = ("=rater_a__key", "=rater_b__key")
    hidden_fields = ("table",)


@admin.register(PeerTally)
class PeerTallyAdmin(CountsAdmin):
    list_display = ("question", "rater", "day", "n_items", "n_ratings", "stale")
    list_select_related = ("question", "rater")
    search_fields = ("=rater__key",)
    hidden_fields = ("table", "moments")


@admin.register(Result)
class ResultAdmin(ReadOnlyAdmin):
    list_display = ("question", "period_unit", "start", "computed_at")
    list_filter = ("period_unit",)
    list_select_related = ("question",)
    search_fields = ("question__key",)
    show_full_result_count = False


@admin.register(RaterResult)
class RaterResultAdmin(ReadOnlyAdmin):
    list_display = ("question", "rater", "n_ratings", "computed_at")
    list_select_related = ("question", "rater")
    search_fields = ("=rater__key",)
    show_full_result_count = False


@admin.register(Diagnosis)
class DiagnosisAdmin(ReadOnlyAdmin):
    list_display = ("question", "computed_at")
    list_select_related = ("question",)
    search_fields = ("question__key",)


@admin.register(Attribution)
class AttributionAdmin(ReadOnlyAdmin):
    list_display = (
        "question",
        "period_unit",
        "earlier_start",
        "later_start",
        "weights",
        "pending",
        "computed_at",
    )
    list_filter = ("pending",)
    list_select_related = ("question",)
    search_fields = ("question__key",)


@admin.register(FilteredResult)
class FilteredResultAdmin(CountsAdmin):
    list_display = ("question", "kind", "spec", "pending", "requested_at", "computed_at")
    list_filter = ("kind", "pending")
    list_select_related = ("question",)
    search_fields = ("question__key",)
    hidden_fields = ("body",)


@admin.register(Report)
class ReportAdmin(CountsAdmin):
    list_display = ("question", "as_of", "created_by", "pending", "computed_at")
    list_filter = ("pending",)
    list_select_related = ("question", "created_by")
    search_fields = ("question__key",)
    hidden_fields = ("facts",)


@admin.register(BacklogRange)
class BacklogRangeAdmin(ReadOnlyAdmin):
    list_display = ("question", "first_item_id", "last_item_id", "leased_until")
    list_select_related = ("question",)
    search_fields = ("question__key",)


@admin.register(AuditResult)
class AuditResultAdmin(ReadOnlyAdmin):
    list_display = ("question", "audited_at", "n_ratings", "n_differences")
    list_select_related = ("question",)
    ordering = ("-audited_at",)
    search_fields = ("question__key", "question__project__name")


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    list_display = ("name", "swept_at")
    ordering = ("-swept_at",)


@admin.register(SavedView)
class SavedViewAdmin(ReadOnlyAdmin):
    list_display = ("name", "project", "page", "created_by", "created_at")
    list_filter = ("page",)
    list_select_related = ("project", "created_by")
    search_fields = ("name", "project__name")


@admin.register(ShareLink)
class ShareLinkAdmin(ReadOnlyAdmin):
    list_display = ("view", "created_by", "expires_at", "revoked_at", "opened_at")
    list_select_related = ("view", "created_by")
    search_fields = ("view__name",)
    exclude = ("digest",)
