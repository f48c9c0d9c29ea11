"""Sign-in by the site's identity provider: OpenID Connect (OIDC_SERVER_URL) or SAML (saml.py).

It also connects an existing account with the provider. Which account a provider's user gets
depends on an earlier connection and on the settings OIDC_ACCOUNTS and SAML_ACCOUNTS.

Back-channel logout: the provider sends a signed logout token, for example when it signs a person
out or disables the account. All sessions of the account end here, and with
OIDC_LOGOUT_REVOKES_TOKENS its API tokens, too.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jwt
from allauth.account.models import EmailAddress
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin
from allauth.socialaccount.providers.base import AuthError
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from allauth.socialaccount.views import ConnectionsView
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from requests import RequestException

from agreement_site.accounts import attempt_limits
from core import security_log
from core.text import describe_saved
from core.web.forms import InvalidFormStatusMixin
from projects.models import ApiToken
from projects.services import tokens

from . import group_roles

OIDC, SAML = "oidc", "saml"  # the provider IDs that allauth stores with an account
MAX_REASON_LENGTH = 200
NONCES_SESSION_KEY = "oidc_nonces"  # session key
MAX_NONCES = 5  # a browser may start several sign-ins in several windows


class IdentityProvider(NamedTuple):
    """An identity provider that is configured for sign-in."""

    provider: str
    name: str
    url: str  # of the page that starts the sign-in


def list_identity_providers() -> list[IdentityProvider]:
    """Return the identity providers that the settings enable."""
    enabled = []
    if settings.OIDC_SERVER_URL:
        url = reverse("openid_connect_login", args=[OIDC])
        enabled.append(IdentityProvider(OIDC, settings.OIDC_NAME, url))
    if settings.SAML_METADATA:
        enabled.append(IdentityProvider(SAML, settings.SAML_NAME, reverse("saml_login")))
    return enabled


def _get_account_policy(account: SocialAccount) -> str:
    """Return the provider's account policy: "connected", "matched" or "created"."""
    is_saml = account.provider == SAML
    return str(settings.SAML_ACCOUNTS if is_saml else settings.OIDC_ACCOUNTS)


class SocialAdapter(DefaultSocialAccountAdapter):
    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Connect the account with the same confirmed e-mail address, if the site allows it.

        Raises PermissionDenied when the ID token and the user info belong to different people.
        """
        claims = sociallogin.account.extra_data
        if sociallogin.account.provider != SAML and _has_mismatched_subject(claims):
            raise PermissionDenied
        if sociallogin.state.get("process") == "connect":
            return
        if sociallogin.is_existing:
            group_roles.apply_groups(sociallogin.user, claims)
            return
        user = (
            _find_matching_user(sociallogin)
            if _get_account_policy(sociallogin.account) != "connected"
            else None
        )
        if user is not None:
            sociallogin.connect(request, user)
            security_log.log_event(
                "sign_in_connected", by=user.pk, after=_build_audit_values(sociallogin.account)
            )
            group_roles.apply_groups(user, claims)

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Return whether this sign-in may create an account.

        It may not if an account has one of its e-mail addresses: the owner of that account can sign
        in and connect the provider.
        """
        emails = [address.email for address in sociallogin.email_addresses]
        return _get_account_policy(sociallogin.account) == "created" and not any(
            map(_find_user_ids, emails)
        )

    @transaction.atomic
    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> Any:
        user = super().save_user(request, sociallogin, form)
        after = {"name": user.get_username(), **_build_audit_values(sociallogin.account)}
        security_log.log_event("account_created", by=user.pk, after=after)
        group_roles.apply_groups(user, sociallogin.account.extra_data)
        return user

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, **details: Any
    ) -> None:
        """Record the failure in the audit log, and limit the failures of a client's network.

        Raises TooManyAttempts.
        """
        if error == AuthError.CANCELLED:
            return
        address = security_log.get_client_address(request)
        attempt_limits.raise_if_limited(attempt_limits.count_network_attempt_and_get_wait(address))
        exception = details.get("exception")
        reason = f"{type(exception).__name__}: {exception}" if exception else ""
        security_log.log_event(
            "sign_in_failed", provider=str(provider), reason=reason[:MAX_REASON_LENGTH]
        )

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: SocialAccount) -> str:
        """Add a message on whether the identity was connected; return the URL to redirect to."""
        if SocialAccount.objects.filter(pk=socialaccount.pk, user=request.user.pk).exists():
            security_log.log_event("sign_in_connected", after=_build_audit_values(socialaccount))
            messages.success(request, describe_saved(_("Connection")))
        else:
            messages.error(request, _("This identity belongs to another account."))
        return super().get_connect_redirect_url(request, socialaccount)


def _has_mismatched_subject(claims: Mapping[str, Any]) -> bool:
    """Return True if there is no ID token, or if its subject differs from that of the user info."""
    token = claims.get("id_token")
    return token is None or claims.get("userinfo", token).get("sub") != token.get("sub")


def _build_audit_values(account: SocialAccount) -> dict[str, str]:
    """Return the provider and user ID of an account as the audit log stores them."""
    name = settings.SAML_NAME if account.provider == SAML else settings.OIDC_NAME
    return {"provider": name, "uid": account.uid}


def _find_user_ids(address: str) -> set[int]:
    """Return the ids of the accounts that have the e-mail address."""
    user_ids = set(User.objects.filter(email__iexact=address).values_list("pk", flat=True))
    verified_addresses = EmailAddress.objects.filter(email__iexact=address, verified=True)
    return user_ids | set(verified_addresses.values_list("user", flat=True))


def _find_matching_user(sociallogin: SocialLogin) -> User | None:
    """Return the only account with an e-mail address that the provider verified, or None.

    Staff and superusers are never matched: otherwise the provider's administrators could sign in as
    an administrator of this site.
    """
    verified_emails = [
        address.email for address in sociallogin.email_addresses if address.verified is True
    ]
    user_ids = set().union(*map(_find_user_ids, verified_emails))
    if len(user_ids) != 1:
        return None
    return User.objects.filter(
        pk=user_ids.pop(), is_active=True, is_staff=False, is_superuser=False
    ).first()


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


class ManageConnections(InvalidFormStatusMixin, ConnectionsView):
    """List the connected identity providers, and disconnect them."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if not list_identity_providers():
            raise Http404
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        connected = list(context["form"].accounts)
        for entry in connected:
            entry.shown_as = _format_account_name(entry)
        connected_ids = {entry.provider for entry in connected}
        unconnected = [
            entry for entry in list_identity_providers() if entry.provider not in connected_ids
        ]
        return {**context, "connected": connected, "further": unconnected}

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        account = form.cleaned_data["account"]
        security_log.log_event("sign_in_disconnected", before=_build_audit_values(account))
        response: HttpResponse
        if any(provider.provider == account.provider for provider in list_identity_providers()):
            response = super().form_valid(form)
        else:  # the provider is no longer configured, and allauth would look it up
            account.delete()
            response = redirect(self.get_success_url())
        messages.success(self.request, _("Removed."))
        return response


def _format_account_name(account: SocialAccount) -> str:
    """Return the name under which the provider knows the user."""
    try:
        name = str(account.get_provider_account())
    except SocialApp.DoesNotExist:  # the provider is no longer configured
        return str(account.uid)
    return f"{account.uid} ({settings.SAML_NAME})" if account.provider == SAML else name


LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
MAX_TOKEN_LENGTH = 10_000


class InvalidLogoutToken(ValueError):
    """The logout token was not issued by the provider for this site."""


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
