"""Actions required of a signed-in user before any other page.

These are choosing a password of their own, and setting up a second factor
(REQUIRE_SECOND_FACTOR).
"""

from __future__ import annotations

from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from agreement_site.middleware.base import BaseMiddleware
from core.api.errors import build_error_response
from projects.permissions import get_led_memberships

# URL names that stay open: to set up a second factor, sign out and choose a language.
SECOND_FACTOR_EXEMPT = frozenset(
    """
    sign_in sign_out choose_language livez healthz metrics invitation change_password
    account_reauthenticate mfa_reauthenticate mfa_reauthenticate_webauthn
    mfa_index mfa_activate_totp mfa_add_webauthn mfa_view_recovery_codes
    """.split()  # noqa: SIM905 - easier to read as words
)


def requires_second_factor(user: Any) -> bool:
    """Return True for a user who must have a second factor.

    Asks the database only when the setting is "leads".
    """
    policy = settings.REQUIRE_SECOND_FACTOR
    if policy == "nobody":
        return False
    if policy == "everybody" or user.is_staff or user.is_superuser:
        return True
    return policy == "leads" and get_led_memberships(user).exists()


class OwnPasswordMiddleware(BaseMiddleware):
    """Redirect users with a password set by somebody else to the page to change it.

    The ``password_change_required`` row is loaded with the user, in the same query.
    """

    EXEMPT = frozenset(
        ["sign_in", "sign_out", "choose_language", "livez", "healthz", "metrics", "change_password"]
    )

    def process_view(
        self, request: HttpRequest, view: Any, view_args: Any, view_kwargs: Any
    ) -> HttpResponse | None:
        match = request.resolver_match
        is_exempt = match is not None and not match.namespace and match.url_name in self.EXEMPT
        if (
            is_exempt
            or _is_token_request(request)
            or not hasattr(request.user, "password_change_required")
        ):
            return None
        if request.path.startswith("/api/"):
            message = "Choose a password of your own first, in the browser."
            return build_error_response(403, message)
        return redirect("change_password")  # the page explains why


class SecondFactorMiddleware(BaseMiddleware):
    """Redirect users who lack a required second factor to the page where they set one up.

    API tokens need none: they can only be created by a user who passed this check.
    """

    def process_view(
        self, request: HttpRequest, view: Any, view_args: Any, view_kwargs: Any
    ) -> HttpResponse | None:
        if settings.REQUIRE_SECOND_FACTOR == "nobody" or _is_token_request(request):
            return None
        match = request.resolver_match
        if match is not None and not match.namespace and match.url_name in SECOND_FACTOR_EXEMPT:
            return None
        if (
            not request.user.is_authenticated
            or not requires_second_factor(request.user)
            or _has_second_factor(request)
        ):
            return None
        if request.path.startswith("/api/"):
            message = "This site asks for a second factor: set one up in the browser."
            return build_error_response(403, message)
        return redirect("mfa_index")  # the page explains why


def _is_token_request(request: HttpRequest) -> bool:
    """Return True for an API request with a bearer token (projects/authentication.py).

    Such a request never uses the session.
    """
    authorization = request.headers.get("Authorization", "")
    return request.path.startswith("/api/") and authorization.lower().startswith("bearer ")


def _has_second_factor(request: HttpRequest) -> bool:
    """Return whether the user has a second factor, or signed in at a provider that checks one."""
    records = get_authentication_records(request, request.user)
    trusted = {
        "oidc": settings.OIDC_SECOND_FACTOR,
        "saml": settings.SAML_SECOND_FACTOR,
    }
    signed_in_by_factor = any(
        record["method"] == "mfa"
        or (record["method"] == "socialaccount" and trusted.get(record["provider"], False))
        for record in records
    )
    return signed_in_by_factor or is_mfa_enabled(request.user)
