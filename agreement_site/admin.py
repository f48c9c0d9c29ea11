"""The admin of accounts and of the trail: staff look after people, superusers after what people may
do."""

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
from projects.admin_base import InTrail, ReadOnly
from projects.services.members.usernames import refuse_misleading

from .audit_log import selectors
from .models import KnownPassword, TrailLine

RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")

admin.site.unregister([User, Group])
# allauth's own show secrets, and let whoever may change them make an account theirs.
admin.site.unregister([Authenticator, EmailAddress, SocialAccount, SocialApp, UserSession])


class NewAccount(AdminUserCreationForm):
    def clean_username(self) -> Any:
        username = super().clean_username()
        if username is not None:  # else it was refused
            refuse_misleading(username)
        return username


class ChangedAccount(UserChangeForm):
    def clean_username(self) -> Any:
        username = self.cleaned_data["username"]
        if "username" in self.changed_data:
            refuse_misleading(username, of=self.instance)
        return username


@admin.register(User)
class Accounts(InTrail, UserAdmin):
    """Django lets who may change users make themselves superusers."""

    add_form = NewAccount
    form = ChangedAccount

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        own = super().get_readonly_fields(request, obj)
        return own if request.user.is_superuser else (*own, *RIGHTS)

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        """Whose password is set here chooses another one when they come."""
        user = form.instance if hasattr(form, "instance") else form.user
        if "password1" in form.cleaned_data and user.pk != request.user.pk:
            KnownPassword.objects.filter(user=user.pk).delete()
            if user.has_usable_password():
                KnownPassword.objects.create(user=user)
        return super().construct_change_message(request, form, formsets, add)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and _may_touch(request.user, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_touch(request.user, obj)


@admin.register(Group)
class Groups(InTrail, GroupAdmin):
    """Rights of many accounts at once."""


def _may_touch(by: Any, user: Any) -> bool:
    """Nobody changes the account, or the password, of somebody who may do more than they."""
    return bool(by.is_superuser or user is None or not user.is_superuser)


@admin.register(Authenticator)
class SecondFactors(InTrail, ReadOnly):
    """To take one away from somebody who has lost it. What it is made of is not shown."""

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
class Sessions(ReadOnly):
    """Who is signed in where; superusers end it."""

    list_display = ("user", "ip", "user_agent", "created_at", "last_seen_at")
    list_select_related = ("user",)
    search_fields = ("=user__username", "=ip")
    fields = list_display
    actions = ["end"]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)

    @admin.action(description=gettext_lazy("End these sessions"), permissions=["view"])
    def end(self, request: HttpRequest, chosen: QuerySet[UserSession]) -> None:
        for session in chosen.select_related("user"):
            security_log.event("session_revoked", before={"of": session.user.get_username()})
            session.end()


@admin.register(TrailLine)
class Trail(ReadOnly):
    """Who did what, when, and from where. Nobody changes it here."""

    list_display = ("at", "what", "actor", "project_id", "address", "before", "after", "details")
    list_filter = ("what", "at")
    search_fields = ("actor", "=project_id", "=address", "=request_id")
    actions = ["as_csv"]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)

    @admin.action(description=gettext_lazy("Download as CSV"), permissions=["view"])
    def as_csv(self, request: HttpRequest, lines: QuerySet[TrailLine]) -> HttpResponse:
        security_log.event("export", what_of="trail", kind="csv")
        response = HttpResponse(content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = 'attachment; filename="concord-trail.csv"'
        response.writelines(selectors.as_csv(lines.order_by("-id")))
        return response
