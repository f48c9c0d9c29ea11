"""Admin of projects, questions, items, raters and members.

Scales are changed on the settings pages, which keep ratings consistent.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from projects.services import pseudonyms
from projects.services.rater_changes import record_previous_kinds

from .admin_base import AuditedAdmin, ReadOnlyAdmin, register_read_only
from .models import (
    ApiToken,
    Approval,
    Category,
    Deletion,
    GoldAnswer,
    GuidelineVersion,
    Item,
    ItemVersion,
    Member,
    MemberOffer,
    Project,
    Question,
    Rater,
    RaterIdentity,
    RaterKindVersion,
    ScaleVersion,
)
from .services import tokens


class CategoryInline(admin.TabularInline):
    model = Category
    fields = readonly_fields = ("code", "label", "position", "value", "hotkey", "retired")
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class MemberInline(admin.TabularInline):
    model = Member
    autocomplete_fields = ("user",)
    extra = 0


@admin.register(Project)
class ProjectAdmin(AuditedAdmin):
    list_display = ("name", "overlap", "time_zone", "created_by", "created_at")
    list_select_related = ("created_by",)
    search_fields = ("name",)
    # A new time zone moves the days of all ratings, and new guidelines create a version: both are
    # changed on the settings page.
    readonly_fields = ("time_zone", "guidelines", "created_at")
    autocomplete_fields = ("created_by",)
    inlines = (MemberInline,)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


register_read_only(GuidelineVersion, "project number by created_at", search="project__name")


@admin.register(Question)
class QuestionAdmin(ReadOnlyAdmin):
    list_display = ("key", "text", "project", "scale", "weights", "scale_version")
    list_filter = ("scale", "weights")
    list_select_related = ("project",)
    search_fields = ("key", "text", "project__name")
    inlines = (CategoryInline,)


register_read_only(
    Category,
    "label question code position value hotkey retired",
    filters="retired",
    search="label question__key",
)


register_read_only(
    Item,
    "key project slots_taken has_content withdrawn_at created_at",
    search="=key project__name",
    show_full_result_count=False,
)


register_read_only(ItemVersion, "item number until by", search="=item__key")


register_read_only(RaterKindVersion, "rater kind until", filters="kind", search="rater__key")


register_read_only(ScaleVersion, "question number until by", search="=question__key")


register_read_only(
    Approval, "action project requested_by state decided_by used_at", filters="action state"
)


register_read_only(
    Deletion, "kind target project by requested_at finished_at counts", search="=kind"
)


register_read_only(
    GoldAnswer,
    "item question version answer by created_at retired_at",
    search="=item__key =question__key",
)


@admin.register(Rater)
class RaterAdmin(AuditedAdmin):
    list_display = ("key", "name", "project", "kind", "group", "user", "paused")
    list_filter = ("kind", "paused")
    list_select_related = ("project", "user")
    search_fields = ("key", "name", "=group", "project__name")
    readonly_fields = ("project", "key")
    autocomplete_fields = ("user",)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if "kind" in form.changed_data:
            record_previous_kinds({obj.pk: form.initial["kind"]})
        super().save_model(request, obj, form, change)
        pseudonyms.assign_pseudonyms(obj.project_id)
        Project.objects.filter(pk=obj.project_id).increment_items_and_raters_version()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(RaterIdentity)
class RaterIdentityAdmin(ReadOnlyAdmin):
    """Admin for superusers only: leads of the project see pseudonyms."""

    list_display = ("rater", "key", "name", "project")
    list_select_related = ("rater", "project")
    search_fields = ("key", "name", "=rater__key")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)


@admin.register(Member)
class MemberAdmin(AuditedAdmin):
    list_display = ("user", "project", "role")
    list_filter = ("role",)
    list_select_related = ("user", "project")
    search_fields = ("user__username", "project__name")
    autocomplete_fields = ("user", "project")


@admin.register(MemberOffer)
class MemberOfferAdmin(ReadOnlyAdmin):
    """Admin for superusers only: leads of the project do not learn whether an account exists."""

    list_display = ("username", "user", "project", "role", "by", "created_at", "declined_at")
    list_select_related = ("user", "project", "by")
    search_fields = ("=username", "project__name")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """Tokens, which their users create and revoke under /tokens/; the digest is not shown."""

    list_display = (
        "prefix",
        "user",
        "project",
        "scope",
        "created_at",
        "expires_at",
        "last_used_at",
        "revoked_at",
    )
    list_filter = ("scope",)
    list_select_related = ("user", "project")
    search_fields = ("prefix", "user__username")
    fields = list_display
    actions = ("revoke",)

    @admin.action(description=gettext_lazy("Revoke selected tokens"), permissions=["view"])
    def revoke(self, request: HttpRequest, queryset: Any) -> None:
        if not request.user.is_superuser:
            self.message_user(
                request, _("Only superusers can revoke others' tokens."), level="error"
            )
            return
        n_revoked = tokens.revoke_tokens(queryset)
        message = ngettext("%(count)s token revoked.", "%(count)s tokens revoked.", n_revoked) % {
            "count": n_revoked
        }
        self.message_user(request, message)
