"""Second factors: codes of an app, passkeys and recovery codes.

The views are allauth's with our templates (templates/mfa). This module adds what they lack:
attempts are counted in the database, and each change and each wrong code is an entry in the
audit log.
"""

from __future__ import annotations

from typing import Any

from allauth.mfa.adapter import get_adapter
from allauth.mfa.base import forms as base_forms
from allauth.mfa.base import views as base_views
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes import views as recovery_views
from allauth.mfa.totp import forms as totp_forms
from allauth.mfa.totp import views as totp_views
from allauth.mfa.webauthn import views as webauthn_views
from allauth.usersessions.internal.flows.sessions import end_other_sessions
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from core import security_log
from core.web.forms import InvalidFormStatusMixin

from . import attempt_limits, required_actions

# --- codes


class ThrottledCodeMixin:
    """Limit the attempts of a form that asks for a code, and accept each code once.

    The attempts of an account are counted in the database, for all web processes together.
    """

    user: Any

    def clean_code(self) -> str:
        attempt_limits.raise_if_limited(
            attempt_limits.count_code_and_get_wait(self.user.pk), target_user_id=self.user.pk
        )
        form: Any = super()
        code: str = form.clean_code()
        if not attempt_limits.record_code_use(self.user.pk, code):
            raise get_adapter().validation_error("incorrect_code")
        attempt_limits.clear_code_attempts(self.user.pk)
        return code


class CodeForm(ThrottledCodeMixin, base_forms.AuthenticateForm):
    """Ask for a second-factor code at sign-in."""


class CodeAgainForm(ThrottledCodeMixin, base_forms.ReauthenticateForm):
    """Ask for a code again before an action that needs a recent authentication."""


class FirstCodeForm(ThrottledCodeMixin, totp_forms.ActivateTOTPForm):
    """Ask for the first code, which proves that the authenticator app has stored the secret."""


class SignInSecondStep(base_views.AuthenticateView):
    """Show the second step of signing in; answer a rejected code with 400 and log it."""

    def form_invalid(self, form: Any) -> HttpResponse:
        security_log.log_event("second_factor_rejected", by=self.stage.login.user.pk)
        response: HttpResponse = super().form_invalid(form)
        response.status_code = 400
        return response


class ReauthenticateByCode(InvalidFormStatusMixin, base_views.ReauthenticateView):
    def form_invalid(self, form: Any) -> HttpResponse:
        security_log.log_event("second_factor_rejected")
        return super().form_invalid(form)


class SignInByPasskey(webauthn_views.LoginWebAuthnView):
    """Sign in by a passkey alone.

    The device asks for a finger or a PIN, so a passkey is both factors at once.
    """

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        attempt_limits.raise_if_limited(
            attempt_limits.count_network_attempt_and_get_wait(
                security_log.get_client_address(request)
            )
        )
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response


# --- setting up and removing factors


class SecondFactorIndex(base_views.IndexView):
    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        must_have = required_actions.requires_second_factor(self.request.user)
        return {**super().get_context_data(**kwargs), "must_have": must_have}


class ActivateTotp(InvalidFormStatusMixin, totp_views.ActivateTOTPView):
    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)
        _finish_adding_factor(self.request, Authenticator.Type.TOTP)
        return response


class DeactivateTotp(InvalidFormStatusMixin, totp_views.DeactivateTOTPView):
    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)
        _record_factor_removed(self.request, Authenticator.Type.TOTP)
        return response


class AddPasskey(InvalidFormStatusMixin, webauthn_views.AddWebAuthnView):
    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)
        _finish_adding_factor(self.request, Authenticator.Type.WEBAUTHN)
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the keyword arguments, such as the invalid form, which allauth's view drops."""
        return {**super().get_context_data(**kwargs), **kwargs}


class RemovePasskey(webauthn_views.RemoveWebAuthnView):
    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        if not get_adapter().can_delete_authenticator(self.get_object()):
            raise PermissionDenied(_("This site requires a second factor."))
        response: HttpResponse = super().form_valid(form)
        _record_factor_removed(self.request, Authenticator.Type.WEBAUTHN)
        return response


class GenerateRecoveryCodes(InvalidFormStatusMixin, recovery_views.GenerateRecoveryCodesView):
    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)
        security_log.log_event("recovery_codes_created")
        messages.success(self.request, _("New recovery codes were created."))
        return response


def _finish_adding_factor(request: HttpRequest, kind: str) -> None:
    """Record the new factor and end the user's other sessions, which were opened without it."""
    security_log.log_event("second_factor_added", after={"kind": str(kind)})
    end_other_sessions(request, request.user)
    message = _("Saved. Other sessions were signed out.")
    messages.success(request, message)


def _record_factor_removed(request: HttpRequest, kind: str) -> None:
    """Record that a factor was removed, and confirm it to the user."""
    security_log.log_event("second_factor_removed", before={"kind": str(kind)})
    messages.success(request, _("Removed."))
