"""The admin of accounts and of the audit log.

Staff manage people; superusers also manage permissions.
"""

from __future__ import annotations

from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp
from allauth.usersessions.models import UserSession
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy

from core import security_log
from projects.admin_base import AuditedAdmin, ReadOnlyAdmin, register_read_only
from projects.services.membership import reject_misleading_username

from .audit_log import selectors
from .models import (
    AuditLogEntry,
    NewsCursor,
    NotificationSettings,
    PasswordChangeRequired,
    QueuedMail,
)

PERMISSION_FIELDS = ("is_staff", "is_superuser", "groups", "user_permissions")

admin.site.unregister([User, Group])
# allauth's own admins show secrets, and let staff take over accounts by changing these rows.
admin.site.unregister([Authenticator, EmailAddress, SocialAccount, SocialApp, UserSession])


class CreateAccountForm(AdminUserCreationForm):
    def clean_username(self) -> Any:
        username = super().clean_username()
        if username is not None:  # None: already rejected
            reject_misleading_username(username)
        return username


class ChangeAccountForm(UserChangeForm):
    def clean_username(self) -> Any:
        username = self.cleaned_data["username"]
        if "username" in self.changed_data:
            reject_misleading_username(username, user=self.instance)
        return username


@admin.register(User)
class AuditedUserAdmin(AuditedAdmin, UserAdmin):
    """Admin of accounts in which staff cannot make themselves superusers, unlike in Django's."""

    add_form = CreateAccountForm
    form = ChangeAccountForm

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = super().get_readonly_fields(request, obj)
        return fields if request.user.is_superuser else (*fields, *PERMISSION_FIELDS)

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        """Mark an account whose password an administrator set, so that its owner must change it."""
        user = form.instance if hasattr(form, "instance") else form.user
        if "password1" in form.cleaned_data and user.pk != request.user.pk:
            PasswordChangeRequired.objects.filter(user=user.pk).delete()
            if user.has_usable_password():
                PasswordChangeRequired.objects.create(user=user)
        return super().construct_change_message(request, form, formsets, add)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and _can_change_account(
            request.user, obj
        )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and _can_change_account(
            request.user, obj
        )


@admin.register(Group)
class AuditedGroupAdmin(AuditedAdmin, GroupAdmin):
    """Admin of groups of permissions; changes are recorded in the audit log."""


def _can_change_account(by: Any, user: Any) -> bool:
    """Return False for an account with more rights than the acting user has."""
    return bool(by.is_superuser or user is None or not user.is_superuser)


@admin.register(Authenticator)
class SecondFactorAdmin(AuditedAdmin, ReadOnlyAdmin):
    """Admin to remove the second factor of a user who lost it; secrets are not shown."""

    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type",)
    list_select_related = ("user",)
    search_fields = ("=user__username",)
    fields = list_display

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)


@admin.register(UserSession)
class SessionAdmin(ReadOnlyAdmin):
    """Admin of all users' open sessions, which superusers can end."""

    list_display = ("user", "ip", "user_agent", "created_at", "last_seen_at")
    list_select_related = ("user",)
    search_fields = ("=user__username", "=ip")
    fields = list_display
    actions = ["end"]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)

    @admin.action(description=gettext_lazy("End these sessions"), permissions=["view"])
    def end(self, request: HttpRequest, sessions: QuerySet[UserSession]) -> None:
        for session in sessions.select_related("user"):
            security_log.log_event("session_revoked", before={"user": session.user.get_username()})
            session.end()


@admin.register(AuditLogEntry)
class AuditLogAdmin(ReadOnlyAdmin):
    """Read-only admin of the audit log."""

    list_display = (
        "created_at",
        "action",
        "actor",
        "project_id",
        "address",
        "before",
        "after",
        "details",
    )
    list_filter = ("action", "created_at")
    search_fields = ("actor", "=project_id", "=address", "=request_id")
    actions = ["export_csv"]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)

    @admin.action(description=gettext_lazy("Download as CSV"), permissions=["view"])
    def export_csv(self, request: HttpRequest, entries: QuerySet[AuditLogEntry]) -> HttpResponse:
        security_log.log_event("export", exported="audit_log", kind="csv")
        response = HttpResponse(content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = 'attachment; filename="concord-audit-log.csv"'
        response.writelines(selectors.iter_csv(entries.order_by("-id")))
        return response


register_read_only(
    NotificationSettings, "user digest next_digest_at at_once personal language", filters="digest"
)


register_read_only(NewsCursor, "last_number")


register_read_only(
    QueuedMail, "created_at kind user project state attempts ended_at", filters="state kind"
)
