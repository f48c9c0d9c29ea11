"""Views to sign in and out, set or reset a password, confirm an address, accept an invitation.

These are Django's views under our URLs and templates. Every sign-in goes through allauth, which
asks for the second factor. Without SMTP_URL the pages that need mail answer with 404.
"""

from __future__ import annotations

import contextvars
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from allauth.account import views as allauth_views
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
from django.db import connection, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agreement_site.accounts import identity_providers
from agreement_site.middleware.base import BaseMiddleware
from agreement_site.models import PasswordChangeRequired
from core import security_log
from core.web.forms import InvalidFormStatusMixin
from projects.models import ApiToken, Member
from projects.permissions import Capability, may
from projects.services import joining, tokens

from . import attempt_limits


def get_landing_url(user: Any) -> str:
    """Return the URL to which the user is redirected after signing in.

    It is the annotation page for users who only rate, in one project, and have no open offer to
    join another one; otherwise the list of projects.
    """
    memberships = list(Member.objects.filter(user=user.pk).values_list("project_id", "role")[:2])
    if user.is_staff or len(memberships) != 1 or joining.list_open_offers(user).exists():
        return reverse("projects")
    [(project_id, role)] = memberships
    if may(role, Capability.SEE_RESULTS):
        return reverse("projects")
    return reverse("rate", args=[project_id])


class SignIn(InvalidFormStatusMixin, views.LoginView):
    """Sign in by name and password.

    An unknown name, a wrong password and a closed account get the same response. Each sign-in
    begins a new session.
    """

    template_name = "registration/sign_in.html"
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        extra_context = {
            "providers": identity_providers.list_identity_providers(),
            "with_mail": bool(settings.SMTP_URL),
        }
        return {**super().get_context_data(**kwargs), **extra_context}

    def get_default_redirect_url(self) -> str:
        return get_landing_url(self.request.user)

    def form_valid(self, form: Any) -> HttpResponse:
        user = form.get_user()
        return perform_password_login(
            self.request, {}, Login(user=user, redirect_url=self.get_redirect_url() or None)
        )


class SignOut(views.LogoutView):
    """Sign out and clear the browser's cache; drafts in its storage stay."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.user.is_authenticated:
            security_log.log_event("sign_out", user_id=request.user.pk)
        response = super().post(request, *args, **kwargs)
        response["Clear-Site-Data"] = '"cache"'
        return response


class TooManyAttemptsMiddleware(BaseMiddleware):
    """Answer TooManyAttempts with status 429, a page, and the header Retry-After."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, attempt_limits.TooManyAttempts):
            return None
        minutes = -(-error.seconds // 60)
        response = render(
            request, "registration/too_many_attempts.html", {"minutes": minutes}, status=429
        )
        response["Retry-After"] = str(error.seconds)
        return response


class ChoosePasswordForm(SetPasswordForm):
    """Form of a new password, which shows errors at the first field instead of the second."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        repeat_field = self.fields["new_password2"]
        repeat_field.label, repeat_field.help_text = _("Confirm new password"), ""

    def validate_password_for_user(self, user: Any, password_field_name: str = "") -> None:
        super().validate_password_for_user(user, "new_password1")


class ChangePasswordForm(ChoosePasswordForm, PasswordChangeForm):
    """Ask for the old password; attempts are limited as at sign-in."""

    revoke_tokens = forms.BooleanField(
        label=gettext_lazy("Revoke my API tokens too"), required=False, initial=True
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request

    def clean_old_password(self) -> str:
        password: str = self.cleaned_data["old_password"]
        username = self.user.get_username()
        if authenticate(self.request, username=username, password=password) is None:
            message = self.error_messages["password_incorrect"]
            raise forms.ValidationError(message, code="password_incorrect")
        return password

    def save(self, commit: bool = True) -> Any:
        if self.cleaned_data["revoke_tokens"]:
            tokens.revoke_tokens(ApiToken.objects.filter(user=self.user.pk))
        security_log.log_event(
            "password_changed", tokens_revoked=self.cleaned_data["revoke_tokens"]
        )
        return super().save(commit)


class ChangePassword(InvalidFormStatusMixin, SuccessMessageMixin, views.PasswordChangeView):
    template_name = "registration/change_password.html"
    form_class = ChangePasswordForm
    success_url = reverse_lazy("tokens")
    success_message = gettext_lazy("Saved. Other sessions were signed out.")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        user: Any = request.user
        if user.is_authenticated and not user.has_usable_password():
            messages.info(request, _("You sign in without a password."))
            return redirect("tokens")
        return super().dispatch(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        PasswordChangeRequired.objects.filter(user=self.request.user.pk).delete()
        UserSession.objects.create_from_request(self.request)  # the session key has changed
        return response


class ConfirmPassword(InvalidFormStatusMixin, ReauthenticateView):
    """Ask for the password again before an action that needs a recent authentication."""


class AcceptInvitation(InvalidFormStatusMixin, views.PasswordResetConfirmView):
    """Let the holder of an invitation link choose the account's password, and sign them in.

    The link works until a password is set.
    """

    template_name = "registration/invitation.html"
    form_class = ChoosePasswordForm
    success_url = "/"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # Django redirects to a URL without the token, so the session keeps the proof.
        if proof := request.GET.get(joining.PROOF, ""):
            request.session[joining.PROOF] = proof
        return super().dispatch(request, *args, **kwargs)

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        security_log.log_event("password_set", by=form.user.pk)
        proof = self.request.session.pop(joining.PROOF, "")
        super().form_valid(form)
        joining.confirm_address(form.user, proof)
        message = _("Password saved. You’re signed in.")
        messages.success(self.request, message)
        return perform_password_login(self.request, {}, Login(user=form.user))

    def get_user(self, uidb64: str) -> Any:
        """Return the link's user, or None if the account has been closed."""
        user = super().get_user(uidb64)
        return user if user is not None and user.is_active else None


def redirect_admin_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect the admin's sign-in page to the site's, which limits attempts.

    Raises PermissionDenied for a user who is signed in, and so is no member of the staff.
    """
    if request.user.is_authenticated:
        raise PermissionDenied(_("Only staff can open the admin site."))
    next_url = request.GET.get("next") or reverse("admin:index")
    return redirect(f"{reverse('sign_in')}?{urlencode({'next': next_url})}")


logger = logging.getLogger(__name__)
# In this process, because the link in the mail is a secret that no queue should keep.
_MAIL_THREADS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="reset-mail")


class MailRequiredMixin:
    """Answer with 404 on a site that cannot send mail."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if not settings.SMTP_URL:
            raise Http404
        view: Any = super()
        return view.dispatch(request, *args, **kwargs)


class RequestPasswordReset(
    MailRequiredMixin, InvalidFormStatusMixin, allauth_views.PasswordResetView
):
    """Send a reset link.

    The response and its time are the same whether or not an account has the address.
    """

    def form_valid(self, form: Any) -> HttpResponse:
        email = form.cleaned_data["email"]
        email_hash = security_log.hash_username(email)
        wait_seconds = attempt_limits.count_network_attempt_and_get_wait(
            security_log.get_client_address(self.request)
        )
        attempt_limits.raise_if_limited(wait_seconds, name_sha256=email_hash)
        attempt_limits.raise_if_limited(
            attempt_limits.count_mail_and_get_wait(email), name_sha256=email_hash
        )
        security_log.log_event("password_forgotten", name_sha256=email_hash)
        # A mail server takes long enough to show which addresses have an account.
        _MAIL_THREADS.submit(contextvars.copy_context().run, _send_reset_mail, form, self.request)
        return redirect(self.get_success_url())


def _send_reset_mail(form: Any, request: HttpRequest) -> None:
    """Send the reset mail if an account has the address; log an error. Runs in a thread."""
    try:
        form.save(request)
    except Exception:
        logger.exception("A mail could not be sent")
    finally:
        connection.close()


class PasswordResetRequested(MailRequiredMixin, allauth_views.PasswordResetDoneView):
    pass


class ResetPassword(
    MailRequiredMixin, InvalidFormStatusMixin, allauth_views.PasswordResetFromKeyView
):
    """Set a new password by the mailed link, which works once.

    A user with a second factor still needs it to sign in.
    """

    success_url = reverse_lazy("sign_in")

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        tokens.revoke_tokens(ApiToken.objects.filter(user=self.reset_user.pk))
        PasswordChangeRequired.objects.filter(user=self.reset_user.pk).delete()
        security_log.log_event("password_reset", by=self.reset_user.pk)
        messages.success(self.request, _("Password saved. Sign in now."))
        response: HttpResponse = super().form_valid(form)
        return response


class ChangeEmailAddress(MailRequiredMixin, InvalidFormStatusMixin, allauth_views.EmailView):
    """Change the account's only e-mail address; a new one takes effect once it is confirmed."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if not request.user.is_authenticated:
            return redirect(f"{settings.LOGIN_URL}")
        if request.method == "POST":
            wait_seconds = attempt_limits.count_mail_and_get_wait(
                f"to confirm of {request.user.pk}"
            )
            attempt_limits.raise_if_limited(wait_seconds, target_user_id=request.user.pk)
        return super().dispatch(request, *args, **kwargs)


class ConfirmEmailAddress(MailRequiredMixin, allauth_views.ConfirmEmailView):
    @transaction.atomic
    def post(self, *args: Any, **kwargs: Any) -> Any:
        response = super().post(*args, **kwargs)
        email_address = self.object.email_address
        security_log.log_event(
            "email_confirmed", by=email_address.user_id, after={"email": email_address.email}
        )
        messages.success(self.request, _("Email address confirmed."))
        return response
