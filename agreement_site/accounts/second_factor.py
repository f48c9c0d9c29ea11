"""A second factor beside the password: codes of an app, passkeys, recovery codes.

The views are allauth's, with our templates (templates/mfa). Here stands what they lack: tries are
counted in the database, and each change and each wrong code is a line of the trail.
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

from . import required_actions, sign_in_limit
from .mixins import InvalidIs400

# --- codes


class Counted:
    """A form that asks for a code: no more often than a password may be guessed, and each code
    opens one door, whichever process is asked."""

    user: Any

    def clean_code(self) -> str:
        sign_in_limit.refuse_too_many(sign_in_limit.count_code(self.user.pk), who=self.user.pk)
        form: Any = super()
        code: str = form.clean_code()
        if not sign_in_limit.is_first_use(self.user.pk, code):
            raise get_adapter().validation_error("incorrect_code")
        sign_in_limit.clear_codes(self.user.pk)
        return code


class CodeForm(Counted, base_forms.AuthenticateForm):
    """At the door, after the password."""


class CodeAgainForm(Counted, base_forms.ReauthenticateForm):
    """Before something that a session left open must not do."""


class FirstCodeForm(Counted, totp_forms.ActivateTOTPForm):
    """Shows that the app has the secret."""


class Authenticate(base_views.AuthenticateView):
    """The second step at the door."""

    def form_invalid(self, form: Any) -> HttpResponse:
        security_log.event("second_factor_wrong", by=self.stage.login.user.pk)
        answer: HttpResponse = super().form_invalid(form)
        answer.status_code = 400
        return answer


class AuthenticateAgain(InvalidIs400, base_views.ReauthenticateView):
    def form_invalid(self, form: Any) -> HttpResponse:
        security_log.event("second_factor_wrong")
        return super().form_invalid(form)


class SignInByPasskey(webauthn_views.LoginWebAuthnView):
    """A passkey alone, which asks for a finger or a PIN: both factors at once."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        sign_in_limit.refuse_too_many(sign_in_limit.count_address(security_log.address_of(request)))
        answer: HttpResponse = super().post(request, *args, **kwargs)
        return answer


# --- having one


class Index(base_views.IndexView):
    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        must_have = required_actions.holds_for(self.request.user)
        return {**super().get_context_data(**kwargs), "must_have": must_have}


class Activate(InvalidIs400, totp_views.ActivateTOTPView):
    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        _added(self.request, Authenticator.Type.TOTP)
        return answer


class Deactivate(InvalidIs400, totp_views.DeactivateTOTPView):
    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        _removed(self.request, Authenticator.Type.TOTP)
        return answer


class AddPasskey(InvalidIs400, webauthn_views.AddWebAuthnView):
    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        _added(self.request, Authenticator.Type.WEBAUTHN)
        return answer

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """With the form that was sent, which allauth's own leaves out."""
        return {**super().get_context_data(**kwargs), **kwargs}


class RemovePasskey(webauthn_views.RemoveWebAuthnView):
    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        if not get_adapter().can_delete_authenticator(self.get_object()):
            raise PermissionDenied(_("This site asks for a second factor, and this is your last."))
        answer: HttpResponse = super().form_valid(form)
        _removed(self.request, Authenticator.Type.WEBAUTHN)
        return answer


class NewRecoveryCodes(InvalidIs400, recovery_views.GenerateRecoveryCodesView):
    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        security_log.event("recovery_codes_made")
        messages.success(self.request, _("These are your new codes. The old ones are void."))
        return answer


def _added(request: HttpRequest, kind: str) -> None:
    """A session that was opened with the password alone is not to outlive this."""
    security_log.event("second_factor_added", after={"kind": str(kind)})
    end_other_sessions(request, request.user)
    said = _("You have a second factor now. Every other session of yours has ended.")
    messages.success(request, said)


def _removed(request: HttpRequest, kind: str) -> None:
    security_log.event("second_factor_removed", before={"kind": str(kind)})
    messages.success(request, _("It is removed."))
