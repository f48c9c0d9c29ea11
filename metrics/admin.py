"""Read-only admin of counts and results, which are computed from the ratings only."""

from __future__ import annotations

from typing import Any

from projects.admin_base import ReadOnlyAdmin, register_read_only

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

register_read_only(
    CountState,
    "question ratings version scale_version counted_at backlog_done backlog_total",
    search="question__key question__project__name",
)


class CountsAdmin(ReadOnlyAdmin):
    """Read-only admin of rows with large arrays, which it neither shows nor loads.

    ``hidden_fields``: the names of these fields.
    """

    show_full_result_count = False

    def get_queryset(self, request: Any) -> Any:
        return super().get_queryset(request).defer(*self.hidden_fields)

    def get_fields(self, request: Any, obj: Any = None) -> Any:
        names = [field.name for field in self.model._meta.fields]
        return [name for name in names if name not in self.hidden_fields]

    hidden_fields: tuple[str, ...] = ()


register_read_only(
    PatternTally,
    "question day width stale",
    search="question__key",
    hidden_fields=("patterns",),
    base=CountsAdmin,
)


register_read_only(
    PairTally,
    "question rater_a rater_b n_items kappa_none kappa_quadratic",
    search="=rater_a__key =rater_b__key",
    hidden_fields=("table",),
    base=CountsAdmin,
)


register_read_only(
    PeerTally,
    "question rater day n_items n_ratings stale",
    search="=rater__key",
    hidden_fields=("table", "moments"),
    base=CountsAdmin,
)


register_read_only(
    Result,
    "question period_unit start computed_at",
    filters="period_unit",
    search="question__key",
    show_full_result_count=False,
)


register_read_only(
    RaterResult,
    "question rater n_ratings computed_at",
    search="=rater__key",
    show_full_result_count=False,
)


register_read_only(Diagnosis, "question computed_at", search="question__key")


register_read_only(
    Attribution,
    "question period_unit earlier_start later_start weights pending computed_at",
    filters="pending",
    search="question__key",
)


register_read_only(
    FilteredResult,
    "question kind spec pending requested_at computed_at",
    filters="kind pending",
    search="question__key",
    hidden_fields=("body",),
    base=CountsAdmin,
)


register_read_only(
    Report,
    "question as_of created_by pending computed_at",
    filters="pending",
    search="question__key",
    hidden_fields=("facts",),
    base=CountsAdmin,
)


register_read_only(
    BacklogRange, "question first_item_id last_item_id leased_until", search="question__key"
)


register_read_only(
    AuditResult,
    "question audited_at n_ratings n_differences",
    ordering=("-audited_at",),
    search="question__key question__project__name",
)


register_read_only(Worker, "name swept_at", ordering=("-swept_at",))


register_read_only(
    SavedView,
    "name project page created_by created_at",
    filters="page",
    search="name project__name",
)


register_read_only(
    ShareLink,
    "view created_by expires_at revoked_at opened_at",
    search="view__name",
    exclude=("digest",),
)
