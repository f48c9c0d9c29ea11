"""Adapters of allauth: sign-in, redirects, messages and mail of this site.

Every sign-in, by password, passkey or identity provider, passes through ``AccountAdapter.login``.
"""

from __future__ import annotations

import ipaddress
import logging
import time
from typing import Any

from allauth.account import app_settings
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.authentication import get_authentication_records
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agreement_site.accounts import sessions
from core import security_log
from projects.services.membership import reject_misleading_username

from . import required_actions
from .sign_in import get_landing_url

logger = logging.getLogger(__name__)

UNKNOWN_ADDRESS = "0.0.0.0"  # noqa: S104 - placeholder: the column needs an IP address

# Template of allauth's mail -> what it tells the owner of the account.
ACCOUNT_CHANGES = {
    "account/email/email_changed": gettext_lazy("Your email address is now %(to_email)s."),
    "account/email/email_deleted": gettext_lazy("%(deleted_email)s was removed."),
    "account/email/password_reset": gettext_lazy("Your password was reset by email."),
    "mfa/email/recovery_codes_generated": gettext_lazy("New recovery codes were created."),
    "mfa/email/totp_activated": gettext_lazy("An authenticator app was added."),
    "mfa/email/totp_deactivated": gettext_lazy("The authenticator app was removed."),
    "mfa/email/webauthn_added": gettext_lazy("A passkey was added."),
    "mfa/email/webauthn_removed": gettext_lazy("A passkey was removed."),
    "socialaccount/email/account_connected": gettext_lazy("Sign-in with %(provider)s was added."),
    "socialaccount/email/account_disconnected": gettext_lazy(
        "Sign-in with %(provider)s was removed."
    ),
}


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False  # leads create accounts

    def login(self, request: HttpRequest, user: Any) -> None:
        records = get_authentication_records(request, user)
        super().login(request, user)
        request.session[sessions.STARTED_AT_KEY] = int(time.time())
        security_log.log_event(
            "sign_in", user_id=user.pk, methods=[_get_method_name(record) for record in records]
        )

    def populate_username(self, request: HttpRequest, user: Any) -> None:
        """Set a username that cannot be mistaken for another account's.

        Usernames at providers are chosen freely; a misleading one is replaced by a plain name.
        """
        try:
            user.username_validator(user.username)
            reject_misleading_username(user.username)
        except ValidationError:
            user.username = ""
        super().populate_username(request, user)

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        return get_landing_url(request.user)

    def is_safe_url(self, url: str | None) -> bool:
        request = context.request
        return url_has_allowed_host_and_scheme(
            url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
        )

    def respond_user_inactive(self, request: HttpRequest, user: Any) -> HttpResponseRedirect:
        messages.error(request, _("This account is closed."))
        return HttpResponseRedirect(reverse("sign_in"))

    def get_client_ip(self, request: HttpRequest) -> str:
        try:
            return str(ipaddress.ip_address(security_log.get_client_address(request)))
        except ValueError:  # a Unix socket has no address
            return UNKNOWN_ADDRESS

    def add_message(self, request: HttpRequest, level: int, *args: Any, **kwargs: Any) -> None:
        """Show only messages passed as ``message``; allauth's default messages are dropped."""
        if kwargs.get("message"):
            super().add_message(request, level, *args, **kwargs)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail in this request; log an error instead of raising it.

        The user is shown that the mail could not be sent, unless it is about a password reset.
        """
        try:
            super().send_mail(template_prefix, email, context)
        except OSError:  # the base of smtplib's errors
            logger.exception("A mail could not be sent")
            if "password_reset" in template_prefix:
                return  # a message would show that an account has the address
            message = _("The email wasn’t sent. Try again later.")
            messages.error(self.request, message)

    def render_mail(
        self,
        template_prefix: str,
        email: Any,
        context: dict[str, object],
        headers: dict[str, str] | None = None,
    ) -> Any:
        """Build the mail; notices of an account change use this site's template, not allauth's."""
        if change := ACCOUNT_CHANGES.get(template_prefix):
            template_prefix = "account/email/notification"
            context = {**context, "change": change % context}
        return super().render_mail(template_prefix, email, context, headers)

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """Return False for a recently authenticated user; otherwise ask allauth."""
        request = context.request
        records = get_authentication_records(request, request.user)
        is_fresh = (
            records and time.time() - records[-1]["at"] < app_settings.REAUTHENTICATION_TIMEOUT
        )
        return not is_fresh and super().is_reauthentication_required(app=app, **kwargs)


def _get_method_name(record: dict[str, object]) -> str:
    """Return the method of an authentication record, for the audit log.

    For example "password", "totp" or "recovery_codes".
    """
    return str(record.get("type") or record["method"])


class FactorAdapter(DefaultMFAAdapter):
    def get_totp_label(self, user: Any) -> str:
        return str(user.get_username())

    def generate_authenticator_name(self, user: Any, type: Authenticator.Type) -> str:
        n_existing = Authenticator.objects.filter(user=user.pk, type=type).count()
        return _("Passkey %(number)s") % {"number": n_existing + 1}

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        """Return False for the last factor of a user who must have one, else True."""
        authenticators = Authenticator.objects.filter(user=authenticator.user_id)
        remaining = authenticators.exclude(type=Authenticator.Type.RECOVERY_CODES).exclude(
            pk=authenticator.pk
        )
        return remaining.exists() or not required_actions.requires_second_factor(authenticator.user)
