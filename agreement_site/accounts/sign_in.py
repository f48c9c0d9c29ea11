"""Signing in and out, and choosing a password: Django's own views under our addresses and
templates. Who is let in goes through allauth, which asks for the second factor."""

from __future__ import annotations

from typing import Any

from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login
from allauth.account.views import ReauthenticateView
from allauth.usersessions.models import UserSession
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate, views
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.messages.views import SuccessMessageMixin
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agreement_site.middleware.base import Around
from agreement_site.models import KnownPassword
from core import security_log
from projects import authentication
from projects.models import ApiToken

from . import sign_in_limit
from .identity_providers import oidc
from .landing_page import first_page
from .mixins import InvalidIs400


class SignIn(InvalidIs400, views.LoginView):
    """One answer to an unknown name, a wrong password and a closed account; the session is new
    after each sign-in."""

    template_name = "registration/sign_in.html"
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        told = {"providers": oidc.providers(), "with_mail": bool(settings.SMTP_URL)}
        return {**super().get_context_data(**kwargs), **told}

    def get_default_redirect_url(self) -> str:
        return first_page(self.request.user)

    def form_valid(self, form: Any) -> HttpResponse:
        user = form.get_user()
        return perform_password_login(
            self.request, {}, Login(user=user, redirect_url=self.get_redirect_url() or None)
        )


class SignOut(views.LogoutView):
    """What the browser keeps of pages goes too; a draft that was not sent stays."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.user.is_authenticated:
            security_log.event("sign_out", user_id=request.user.pk)
        answer = super().post(request, *args, **kwargs)
        answer["Clear-Site-Data"] = '"cache"'
        return answer


class TooMany(Around):
    """429 on any page that asked for a password when too many were tried (sign_in_limit)."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, sign_in_limit.TooManyTries):
            return None
        minutes = -(-error.seconds // 60)
        answer = render(
            request, "registration/too_many_tries.html", {"minutes": minutes}, status=429
        )
        answer["Retry-After"] = str(error.seconds)
        return answer


class ChosenPassword(SetPasswordForm):
    """What is wrong with a password is said where it was typed first, not where it was repeated."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        again = self.fields["new_password2"]
        again.label, again.help_text = _("The new password once more"), ""

    def validate_password_for_user(self, user: Any, password_field_name: str = "") -> None:
        super().validate_password_for_user(user, "new_password1")


class NewPasswordForm(ChosenPassword, PasswordChangeForm):
    """Asks for the old password, which may be guessed no more often than at the door."""

    revoke_tokens = forms.BooleanField(
        label=gettext_lazy("Revoke my API tokens too"), required=False, initial=True
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request

    def clean_old_password(self) -> str:
        given: str = self.cleaned_data["old_password"]
        name = self.user.get_username()
        if authenticate(self.request, username=name, password=given) is None:
            wrong = self.error_messages["password_incorrect"]
            raise forms.ValidationError(wrong, code="password_incorrect")
        return given

    def save(self, commit: bool = True) -> Any:
        if self.cleaned_data["revoke_tokens"]:
            authentication.revoke(ApiToken.objects.filter(user=self.user.pk))
        security_log.event("password_changed", tokens_revoked=self.cleaned_data["revoke_tokens"])
        return super().save(commit)


class ChangePassword(InvalidIs400, SuccessMessageMixin, views.PasswordChangeView):
    template_name = "registration/change_password.html"
    form_class = NewPasswordForm
    success_url = reverse_lazy("tokens")
    success_message = gettext_lazy(
        "Your password is changed. Every other session of yours has ended."
    )

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        user: Any = request.user
        if user.is_authenticated and not user.has_usable_password():
            messages.info(request, _("You have no password here: you sign in by a provider."))
            return redirect("tokens")
        return super().dispatch(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}

    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        KnownPassword.objects.filter(user=self.request.user.pk).delete()
        UserSession.objects.create_from_request(self.request)  # it has another key now
        return answer


class ConfirmPassword(InvalidIs400, ReauthenticateView):
    """Once more the password, before what a session left open must not do."""


class Invitation(InvalidIs400, views.PasswordResetConfirmView):
    """A one-time link: whoever opens it chooses the password of a new account and is signed in."""

    template_name = "registration/invitation.html"
    form_class = ChosenPassword
    success_url = "/"

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        security_log.event("password_chosen", by=form.user.pk)
        super().form_valid(form)
        said = _("Welcome. Your password is set and you are signed in.")
        messages.success(self.request, said)
        return perform_password_login(self.request, {}, Login(user=form.user))

    def get_user(self, uidb64: str) -> Any:
        """Nobody for the link of an account that was closed meanwhile."""
        user = super().get_user(uidb64)
        return user if user is not None and user.is_active else None


def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """The admin's own sign-in page is not shown: there is one door, and it counts tries."""
    if request.user.is_authenticated:
        raise PermissionDenied(_("The admin is open to staff accounts only."))
    following = request.GET.get("next") or reverse("admin:index")
    return redirect(f"{reverse('sign_in')}?{urlencode({'next': following})}")
