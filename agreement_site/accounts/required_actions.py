"""What somebody who is signed in has to do before they see any page: choose a password of their
own, and set up a second factor (REQUIRE_SECOND_FACTOR)."""

from __future__ import annotations

from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect

from agreement_site.middleware.base import Around
from core.api.errors import body
from projects.models import Member

# Names of routes that are open all the same: to set one up, to go, and to choose a language.
OPEN = frozenset(
    """
    sign_in sign_out choose_language livez healthz metrics invitation change_password
    account_reauthenticate mfa_reauthenticate mfa_reauthenticate_webauthn
    mfa_index mfa_activate_totp mfa_add_webauthn mfa_view_recovery_codes
    """.split()  # noqa: SIM905 - easier to read as words
)


def holds_for(user: Any) -> bool:
    """Asks the database only where leads are meant."""
    of_whom = settings.REQUIRE_SECOND_FACTOR
    if of_whom == "nobody":
        return False
    if of_whom == "everybody" or user.is_staff or user.is_superuser:
        return True
    leads = Member.objects.filter(user=user.pk, role=Member.Role.LEAD)
    return of_whom == "leads" and leads.exists()


class OwnPassword(Around):
    """Sends whoever came in with a password that others know to where they choose another one. The
    row comes with the user, in the same query."""

    OPEN = frozenset(
        ["sign_in", "sign_out", "choose_language", "livez", "healthz", "metrics", "change_password"]
    )

    def process_view(
        self, request: HttpRequest, view: Any, arguments: Any, named: Any
    ) -> HttpResponse | None:
        match = request.resolver_match
        is_open = match is not None and not match.namespace and match.url_name in self.OPEN
        if is_open or _by_token(request) or not hasattr(request.user, "known_password"):
            return None
        if request.path.startswith("/api/"):
            said = "Choose a password of your own first, in the browser."
            return JsonResponse(body(403, said), status=403)
        return redirect("change_password")  # which says why


class SecondFactor(Around):
    """Sends whoever must have a second factor and has none to where one is set up. Tokens of the
    API are asked for none: they are made behind this door."""

    def process_view(
        self, request: HttpRequest, view: Any, arguments: Any, named: Any
    ) -> HttpResponse | None:
        if settings.REQUIRE_SECOND_FACTOR == "nobody" or _by_token(request):
            return None
        match = request.resolver_match
        if match is not None and not match.namespace and match.url_name in OPEN:
            return None
        if not request.user.is_authenticated or not holds_for(request.user) or _has_one(request):
            return None
        if request.path.startswith("/api/"):
            said = "This site asks for a second factor: set one up in the browser."
            return JsonResponse(body(403, said), status=403)
        return redirect("mfa_index")  # which says why


def _by_token(request: HttpRequest) -> bool:
    """Such a request is a token's or nobody's (projects/authentication.py), never the session's."""
    given = request.headers.get("Authorization", "")
    return request.path.startswith("/api/") and given.lower().startswith("bearer ")


def _has_one(request: HttpRequest) -> bool:
    records = get_authentication_records(request, request.user)
    trusted = {
        "oidc": settings.OIDC_SECOND_FACTOR,
        "saml": settings.SAML_SECOND_FACTOR,
    }
    by_it = any(
        one["method"] == "mfa"
        or (one["method"] == "socialaccount" and trusted.get(one["provider"], False))
        for one in records
    )
    return by_it or is_mfa_enabled(request.user)
