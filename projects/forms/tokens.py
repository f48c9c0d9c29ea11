"""Form of API tokens."""

from __future__ import annotations

import datetime
import time
from typing import Any

from allauth.account.authentication import get_authentication_records
from django import forms
from django.contrib.auth import authenticate
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from projects.models import ApiToken, Project

RECENT_LOGIN_SECONDS = 5 * 60
MAX_TOKENS = 20  # active tokens per user


class TokenForm(forms.Form):
    """A new API token. Creating one requires the password, or a recent login through a provider."""

    scope = forms.ChoiceField(
        label=_("Permissions"), choices=[("write", _("read and write")), ("read", _("read only"))]
    )
    project = forms.ModelChoiceField(
        Project.objects.none(), label=_("Project"), required=False, empty_label=_("all my projects")
    )
    days = forms.TypedChoiceField(
        label=_("Expires"),
        coerce=int,
        choices=[
            ("30", _("in 30 days")),
            ("90", _("in 90 days")),
            ("365", _("in 1 year")),
        ],
        initial="90",
    )
    # A session that was left open must not be enough to get a token that is valid for a year.
    password = forms.CharField(
        label=_("Your password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request
        user: Any = request.user
        project: Any = self.fields["project"]
        project.queryset = Project.objects.visible_to(user).order_by("name")
        if not user.has_usable_password():
            del self.fields["password"]

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        user: Any = self.request.user
        if authenticate(self.request, username=user.get_username(), password=password) is None:
            raise forms.ValidationError(_("Wrong password."))
        return password

    def clean(self) -> dict[str, Any]:
        user: Any = self.request.user
        if not user.has_usable_password() and not _has_recent_login(self.request):
            raise forms.ValidationError(_("Sign in again first."))
        unrevoked = ApiToken.objects.filter(user=user.pk, revoked_at=None)
        if unrevoked.exclude(expires_at__lte=timezone.now()).count() >= MAX_TOKENS:
            message = _("At most %(n)s are allowed. Remove one first.")
            raise forms.ValidationError(message % {"n": MAX_TOKENS})
        return self.cleaned_data

    def get_expires_at(self) -> datetime.datetime:
        return timezone.now() + datetime.timedelta(days=self.cleaned_data["days"])


def _has_recent_login(request: HttpRequest) -> bool:
    """Return True if the user signed in recently.

    This replaces the password for users without one.
    """
    records = get_authentication_records(request, request.user)
    return bool(records) and time.time() - records[-1]["at"] < RECENT_LOGIN_SECONDS
