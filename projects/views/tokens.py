"""Views of the user's own API tokens, and the form of a new one."""

from __future__ import annotations

import datetime
import time
from typing import Any

from allauth.account.authentication import get_authentication_records
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from projects.models import ApiToken, Project
from projects.services import tokens

RECENT_LOGIN_SECONDS = 5 * 60
MAX_TOKENS = 20  # active tokens per user


class TokenForm(forms.Form):
    """A new API token. Creating one requires the password, or a recent login through a provider."""

    scope = forms.ChoiceField(
        label=gettext_lazy("Permissions"),
        choices=[("write", gettext_lazy("read and write")), ("read", gettext_lazy("read only"))],
    )
    project = forms.ModelChoiceField(
        Project.objects.none(),
        label=gettext_lazy("Project"),
        required=False,
        empty_label=gettext_lazy("all my projects"),
    )
    days = forms.TypedChoiceField(
        label=gettext_lazy("Expires"),
        coerce=int,
        choices=[
            ("30", gettext_lazy("in 30 days")),
            ("90", gettext_lazy("in 90 days")),
            ("365", gettext_lazy("in 1 year")),
        ],
        initial="90",
    )
    # A session that was left open must not be enough to get a token that is valid for a year.
    password = forms.CharField(
        label=gettext_lazy("Your password"),
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


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("new_token")
def manage_tokens(request: HttpRequest) -> HttpResponse:
    """List the user's API tokens; a POST creates one and shows it once."""
    form = TokenForm(request.POST or None, request=request)
    new_token = ""
    if request.method == "POST" and form.is_valid():
        new_token = tokens.create_token(
            user=request.user,
            project=form.cleaned_data["project"],
            scope=form.cleaned_data["scope"],
            expires_at=form.get_expires_at(),
        )
        form = TokenForm(request=request)
    active_tokens = (
        ApiToken.objects.filter(user=request.user.pk, revoked_at=None)
        .select_related("project")
        .order_by("-pk")
    )
    context = {"form": form, "new_token": new_token, "tokens": active_tokens, "now": timezone.now()}
    by_provider = settings.OIDC_SERVER_URL or settings.SAML_METADATA
    context |= {"by_provider": by_provider, "with_mail": settings.SMTP_URL}
    status = 400 if form.errors else 200
    return render(request, "projects/tokens.html", context, status=status)


@login_required
@require_POST
def revoke_token(request: HttpRequest, token_id: int) -> HttpResponse:
    """Revoke one of the user's own tokens.

    Raises Http404 if the user has no unrevoked token with this id.
    """
    if not tokens.revoke_tokens(ApiToken.objects.filter(pk=token_id, user=request.user.pk)):
        raise Http404
    messages.success(request, _("Revoked."))
    return redirect("tokens")
