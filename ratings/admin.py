"""Read-only admin pages of ratings, which are history and on which the stored counts depend."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

from projects.admin_base import ReadOnlyAdmin, register_read_only
from ratings.services.judgement import STORED_TEXTS

from .models import (
    Assignment,
    CheckAnswer,
    Exam,
    ExamRules,
    ExportRun,
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


register_read_only(
    CheckAnswer,
    "item rater question kind code rated_code rated_at is_current",
    filters="kind",
    search="=item__key =rater__key",
    ordering=("-pk",),
    show_full_result_count=False,
)


register_read_only(
    ExamRules,
    "question required p_fail p_pass max_answers max_attempts",
    filters="required",
    search="=question__key",
)


register_read_only(
    Exam,
    "rater question number state started_at ended_at reason",
    filters="state",
    search="=rater__key",
    ordering=("-pk",),
    show_full_result_count=False,
)


register_read_only(
    Assignment,
    "item rater state kind leased_until closed_at flagged skip_reason",
    filters="state flagged",
    search="=item__key =rater__key",
    show_full_result_count=False,
)


register_read_only(RaterQueue, "rater last_item_id n_assigned last_closed_at", search="=rater__key")


register_read_only(
    ExportRun,
    "file_name project kind by state rows_done rows_total created_at",
    filters="state kind",
    search="file_name project__name",
    exclude=("lease",),
)


register_read_only(
    ImportRun,
    "file_name project question by state rows_done rows_total created_at",
    filters="state",
    search="file_name project__name",
)


register_read_only(
    LabelStudioConnection,
    "address remote_project project state pulled_at write_back",
    filters="state",
    exclude=("token", "hint_secret", "lease"),
)


register_read_only(
    LabelStudioObject,
    "connection kind remote_id item rater",
    filters="kind",
    search="=remote_id =task",
    show_full_result_count=False,
)


register_read_only(TimezoneBackfill, "project last_question_id last_item_id last_rater_id")


register_read_only(
    UncountedItem,
    "question_id item_id n_ratings",
    ordering=("question_id", "item_id"),
    show_full_result_count=False,
)


register_read_only(RaterMessage, "rater sender sent_at read_at", search="=rater__key")
