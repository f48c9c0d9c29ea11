"""OpenID Connect back-channel logout: the provider ends the sessions of an account here.

The provider sends a signed logout token, for example when it signs a person out or disables the
account. All sessions of the account end, and with OIDC_LOGOUT_REVOKES_TOKENS its API tokens, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jwt
from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialAccount, SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from requests import RequestException

from agreement_site.accounts import attempt_limits
from core import security_log
from projects.models import ApiToken
from projects.services import tokens

from .oidc import VerifyingOIDCAdapter

LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
MAX_TOKEN_LENGTH = 10_000


class InvalidLogoutToken(ValueError):
    """The logout token is not one of the provider's for this site."""


@never_cache
@csrf_exempt  # posted by the provider; the signature of the token is checked
@require_POST
def receive_logout(request: HttpRequest, provider_id: str) -> HttpResponse:
    """End the sessions of the account that the logout token names."""
    try:
        claims = _verify_token(request, provider_id, request.POST.get("logout_token", ""))
    except SocialApp.DoesNotExist:
        raise Http404 from None
    except (InvalidLogoutToken, OAuth2Error, RequestException, KeyError, ValueError) as error:
        address = security_log.get_client_address(request)
        attempt_limits.raise_if_limited(attempt_limits.count_network_attempt_and_get_wait(address))
        description = str(error) or type(error).__name__
        return JsonResponse(
            {"error": "invalid_request", "error_description": description}, status=400
        )
    accounts = SocialAccount.objects.filter(provider=provider_id, uid=str(claims["sub"]))
    for account in accounts.select_related("user"):
        _end_access(account.user)
    return HttpResponse(status=200)


def _verify_token(request: HttpRequest, provider_id: str, token: str) -> Mapping[str, Any]:
    """Return the claims of the token. Raises InvalidLogoutToken and errors of allauth."""
    adapter = VerifyingOIDCAdapter(request, provider_id)
    app = adapter.get_provider().app
    if not token or len(token) > MAX_TOKEN_LENGTH:
        raise InvalidLogoutToken("A logout_token is needed.")
    try:
        # Before the provider is asked for its keys: anybody can send a token.
        unverified = jwt.decode(token, options={"verify_signature": False})
        algorithm = jwt.get_unverified_header(token).get("alg")
    except jwt.PyJWTError:
        raise InvalidLogoutToken("The logout_token is no token.") from None
    if app.client_id not in _list_audience(unverified) or algorithm not in ALGORITHMS:
        raise InvalidLogoutToken("The logout_token is not for this site.")
    claims: Mapping[str, Any] = jwtkit.verify_and_decode(
        credential=token,
        keys_url=adapter.openid_config["jwks_uri"],
        issuer=adapter.openid_config["issuer"],
        audience=app.client_id,
        lookup_kid=jwtkit.lookup_kid_jwk,
    )
    events = claims.get("events")
    if not isinstance(events, dict) or LOGOUT_EVENT not in events or "nonce" in claims:
        raise InvalidLogoutToken("The token is no logout token.")
    if not claims.get("sub") or "exp" not in claims:
        raise InvalidLogoutToken("The logout_token needs sub and exp.")
    return claims


def _list_audience(claims: Mapping[str, Any]) -> list[Any]:
    audience = claims.get("aud")
    return audience if isinstance(audience, list) else [audience]


@transaction.atomic
def _end_access(user: User) -> None:
    """End the sessions of the account, and revoke its tokens where the setting says so."""
    for session in UserSession.objects.filter(user=user):
        session.end()
    security_log.log_event(
        "session_revoked",
        target_user_id=user.pk,
        how="provider",
        before={"user": user.get_username()},
    )
    if settings.OIDC_LOGOUT_REVOKES_TOKENS:
        tokens.revoke_tokens(ApiToken.objects.filter(user=user))
