"""Sign-in by OpenID Connect (OIDC_SERVER_URL), and logout at the provider.

identity_providers.py decides whose account a user of the provider gets.

Back-channel logout: the provider sends a signed logout token, for example when it signs a person
out or disables the account. All sessions of the account end here, and with
OIDC_LOGOUT_REVOKES_TOKENS its API tokens, too.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

import jwt
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialAccount, SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from requests import RequestException

from agreement_site.accounts import attempt_limits
from core import security_log
from projects.models import ApiToken
from projects.services import tokens

NONCES_SESSION_KEY = "oidc_nonces"  # session key
MAX_NONCES = 5  # a browser may start several sign-ins in several windows


class VerifyingOIDCAdapter(OpenIDConnectOAuth2Adapter):
    """Check the signature of ID tokens, and that each one answers a request of this browser.

    allauth relies on TLS instead of the signature. Each nonce is accepted once.
    """

    def _decode_id_token(self, app: SocialApp, id_token: str) -> dict[str, Any]:
        self.did_fetch_access_token = False
        try:
            claims: dict[str, Any] = super()._decode_id_token(app, id_token)
        except (KeyError, TypeError, ValueError) as error:
            raise OAuth2Error("Invalid id_token") from error
        nonces = self.request.session.get(NONCES_SESSION_KEY, [])
        if claims.get("nonce") not in nonces:
            raise OAuth2Error("The id_token does not belong to a request of this browser")
        self.request.session[NONCES_SESSION_KEY] = [
            nonce for nonce in nonces if nonce != claims["nonce"]
        ]
        return claims


def _build_view(view: Any) -> Callable[..., HttpResponse]:
    """Build a view that runs allauth's ``view`` with VerifyingOIDCAdapter.

    It answers with 404 if the provider is not configured, and with an error page if the provider
    does not respond.
    """

    def handle(request: HttpRequest, provider_id: str) -> HttpResponse:
        adapter = VerifyingOIDCAdapter(request, provider_id)
        try:
            response: HttpResponse = view.adapter_view(adapter)(request)
        except SocialApp.DoesNotExist:
            raise Http404 from None
        except (RequestException, ValueError, KeyError) as error:
            return render_authentication_error(request, adapter.get_provider(), exception=error)
        return response

    return handle


_start_login = _build_view(OAuth2LoginView)


def start_oidc_sign_in(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Redirect to the provider, with a nonce that its ID token must contain."""
    nonce = secrets.token_urlsafe(24)
    nonces = request.session.get(NONCES_SESSION_KEY, [])
    request.session[NONCES_SESSION_KEY] = [*nonces, nonce][-MAX_NONCES:]
    query = request.GET.copy()
    query["auth_params"] = urlencode({"nonce": nonce})  # allauth adds these to its request
    request.GET = query  # type: ignore[assignment]
    return _start_login(request, provider_id)


oidc_callback = _build_view(OAuth2CallbackView)


LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
MAX_TOKEN_LENGTH = 10_000


class InvalidLogoutToken(ValueError):
    """The logout token was not issued by the provider for this site."""


@never_cache
@csrf_exempt  # posted by the provider; the signature of the token is checked
@require_POST
def receive_logout(request: HttpRequest, provider_id: str) -> HttpResponse:
    """End the sessions of the account that the provider's logout token names.

    Raises Http404 if the provider is not configured; the response is 400 for an invalid token.
    """
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
    """Return the claims of a logout token that the provider has signed for this site.

    Raises InvalidLogoutToken for another token, and errors of allauth or requests if the provider
    or its keys cannot be read.
    """
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
    """End the sessions of the account, and revoke its tokens if the setting says so."""
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
