"""Read-only admin pages of ratings: they are history, and the stored counts depend on them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

from projects.admin_base import ReadOnlyAdmin
from ratings.services.judgement import STORED_TEXTS

from .models import (
    Assignment,
    CheckAnswer,
    Exam,
    ExamRules,
    ImportRun,
    LabelStudioConnection,
    LabelStudioObject,
    RaterMessage,
    RaterQueue,
    Rating,
    Revision,
    TimezoneBackfill,
    UncountedItem,
)


class RevisionInline(admin.TabularInline):
    model = Revision
    fields = readonly_fields = (
        "recorded_at",
        "code",
        "rated_at",
        "by",
        "source",
        "superseded",
        *STORED_TEXTS,
    )
    can_delete = False

    def has_add_permission(self, request: Any, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: Any) -> Any:
        return super().get_queryset(request).select_related("by")


@admin.register(Rating)
class RatingAdmin(ReadOnlyAdmin):
    list_display = ("item", "rater", "question", "code", "counted", "rated_at", "changed_at")
    list_select_related = ("item", "rater", "question")
    search_fields = ("=item__key", "=rater__key")
    inlines = (RevisionInline,)
    ordering = ("-pk",)
    # Counting all ratings takes seconds in a large installation.
    show_full_result_count = False


@admin.register(Revision)
class RevisionAdmin(ReadOnlyAdmin):
    list_display = ("rating_id", "code", "rated_at", "recorded_at", "by", "source", "superseded")
    list_filter = ("source", "superseded")
    list_select_related = ("by",)
    search_fields = ("=rating__item__key", "=rating__rater__key")
    ordering = ("-pk",)
    show_full_result_count = False
    raw_id_fields = ("rating",)


@admin.register(CheckAnswer)
class CheckAnswerAdmin(ReadOnlyAdmin):
    list_display = (
        "item",
        "rater",
        "question",
        "kind",
        "code",
        "rated_code",
        "rated_at",
        "is_current",
    )
    list_filter = ("kind",)
    list_select_related = ("item", "rater", "question")
    search_fields = ("=item__key", "=rater__key")
    ordering = ("-pk",)
    show_full_result_count = False


@admin.register(ExamRules)
class ExamRulesAdmin(ReadOnlyAdmin):
    list_display = ("question", "required", "p_fail", "p_pass", "max_answers", "max_attempts")
    list_filter = ("required",)
    list_select_related = ("question",)
    search_fields = ("=question__key",)


@admin.register(Exam)
class ExamAdmin(ReadOnlyAdmin):
    list_display = ("rater", "question", "number", "state", "started_at", "ended_at", "reason")
    list_filter = ("state",)
    list_select_related = ("rater", "question")
    search_fields = ("=rater__key",)
    ordering = ("-pk",)
    show_full_result_count = False


@admin.register(Assignment)
class AssignmentAdmin(ReadOnlyAdmin):
    list_display = (
        "item",
        "rater",
        "state",
        "kind",
        "leased_until",
        "closed_at",
        "flagged",
        "skip_reason",
    )
    list_filter = ("state", "flagged")
    list_select_related = ("item", "rater")
    search_fields = ("=item__key", "=rater__key")
    show_full_result_count = False


@admin.register(RaterQueue)
class RaterQueueAdmin(ReadOnlyAdmin):
    list_display = ("rater", "last_item_id", "n_assigned", "last_closed_at")
    list_select_related = ("rater",)
    search_fields = ("=rater__key",)


@admin.register(ImportRun)
class ImportRunAdmin(ReadOnlyAdmin):
    list_display = (
        "file_name",
        "project",
        "question",
        "by",
        "state",
        "rows_done",
        "rows_total",
        "created_at",
    )
    list_filter = ("state",)
    list_select_related = ("project", "question", "by")
    search_fields = ("file_name", "project__name")


@admin.register(LabelStudioConnection)
class LabelStudioConnectionAdmin(ReadOnlyAdmin):
    list_display = ("address", "remote_project", "project", "state", "pulled_at", "write_back")
    list_filter = ("state",)
    list_select_related = ("project",)
    exclude = ("token", "hint_secret", "lease")


@admin.register(LabelStudioObject)
class LabelStudioObjectAdmin(ReadOnlyAdmin):
    list_display = ("connection", "kind", "remote_id", "item", "rater")
    list_filter = ("kind",)
    list_select_related = ("connection", "item", "rater")
    search_fields = ("=remote_id", "=task")
    show_full_result_count = False


@admin.register(TimezoneBackfill)
class TimezoneBackfillAdmin(ReadOnlyAdmin):
    list_display = ("project", "last_question_id", "last_item_id", "last_rater_id")
    list_select_related = ("project",)


@admin.register(UncountedItem)
class UncountedItemAdmin(ReadOnlyAdmin):
    list_display = ("question_id", "item_id", "n_ratings")
    ordering = ("question_id", "item_id")
    show_full_result_count = False


@admin.register(RaterMessage)
class RaterMessageAdmin(ReadOnlyAdmin):
    list_display = ("rater", "sender", "sent_at", "read_at")
    list_select_related = ("rater", "sender")
    search_fields = ("=rater__key",)
