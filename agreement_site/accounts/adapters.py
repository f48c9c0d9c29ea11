"""What allauth asks the site: where people go, who may make an account, what is written down.

Everybody who comes in, by whatever key, comes through ``AccountAdapter.login``.
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

from core import security_log
from projects.services.members.usernames import refuse_misleading

from . import required_actions
from .landing_page import first_page
from .sessions import store

logger = logging.getLogger(__name__)

NO_ADDRESS = "0.0.0.0"  # noqa: S104 - stands for "not known", where a column wants an address


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False  # a lead makes accounts

    def login(self, request: HttpRequest, user: Any) -> None:
        records = get_authentication_records(request, user)
        super().login(request, user)
        request.session[store.BEGAN] = int(time.time())
        security_log.event("sign_in", user_id=user.pk, by_way_of=[_step(one) for one in records])

    def populate_username(self, request: HttpRequest, user: Any) -> None:
        """A provider names whom it lets in as it likes: who would be taken for another one here
        gets a name of plain letters instead."""
        try:
            user.username_validator(user.username)
            refuse_misleading(user.username)
        except ValidationError:
            user.username = ""
        super().populate_username(request, user)

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        return first_page(request.user)

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
            return str(ipaddress.ip_address(security_log.address_of(request)))
        except ValueError:  # a socket has none
            return NO_ADDRESS

    def add_message(self, request: HttpRequest, level: int, *args: Any, **kwargs: Any) -> None:
        """Only what somebody wrote for this page: allauth's own sentences speak of other sites."""
        if kwargs.get("message"):
            super().add_message(request, level, *args, **kwargs)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        try:
            super().send_mail(template_prefix, email, context)
        except OSError:  # what smtplib raises is one
            logger.exception("a mail was not sent")
            said = _("The mail could not be sent. Try again later, or ask your administrator.")
            messages.error(self.request, said)

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """Whoever has just shown who they are is not asked again at once."""
        request = context.request
        known = get_authentication_records(request, request.user)
        fresh = known and time.time() - known[-1]["at"] < app_settings.REAUTHENTICATION_TIMEOUT
        return not fresh and super().is_reauthentication_required(app=app, **kwargs)


def _step(record: dict[str, Any]) -> str:
    """How somebody showed who they are, for the trail: "password", "totp", "recovery_codes"."""
    return str(record.get("type") or record["method"])


class FactorAdapter(DefaultMFAAdapter):
    def get_totp_label(self, user: Any) -> str:
        return str(user.get_username())

    def generate_authenticator_name(self, user: Any, type: Authenticator.Type) -> str:
        own = Authenticator.objects.filter(user=user.pk, type=type).count()
        return _("Passkey %(number)s") % {"number": own + 1}

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        """Not the last one, where one must be."""
        own = Authenticator.objects.filter(user=authenticator.user_id)
        others = own.exclude(type=Authenticator.Type.RECOVERY_CODES).exclude(pk=authenticator.pk)
        return others.exists() or not required_actions.holds_for(authenticator.user)
