"""Signing in by a provider of the site's own, of OpenID Connect (OIDC_SERVER_URL) or SAML
(SAML_METADATA, saml.py), and connecting an account with it.

Whose account it is, is said by the account that was connected before, or by ..._ACCOUNTS.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any, NamedTuple

from allauth.account.models import EmailAddress
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin
from allauth.socialaccount.providers.base import AuthError
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from allauth.socialaccount.views import ConnectionsView
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from requests import RequestException

from agreement_site.accounts import sign_in_limit
from agreement_site.accounts.mixins import InvalidIs400
from core import security_log

OIDC, SAML = "oidc", "saml"  # as allauth writes them into accounts
LONGEST_REASON = 200
NONCES = "oidc_nonces"  # in the session
MOST_NONCES = 5  # of a browser that comes and goes in several windows


class Known(NamedTuple):
    """A provider by which people sign in here."""

    provider: str
    name: str
    address: str  # where that begins


def providers() -> list[Known]:
    found = []
    if settings.OIDC_SERVER_URL:
        address = reverse("openid_connect_login", args=[OIDC])
        found.append(Known(OIDC, settings.OIDC_NAME, address))
    if settings.SAML_METADATA:
        found.append(Known(SAML, settings.SAML_NAME, reverse("saml_login")))
    return found


def _accounts(account: SocialAccount) -> str:
    """Whom its provider lets in."""
    by_saml = account.provider == SAML
    return str(settings.SAML_ACCOUNTS if by_saml else settings.OIDC_ACCOUNTS)


class SocialAdapter(DefaultSocialAccountAdapter):
    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Raises PermissionDenied for tokens of two people; connects the account that has the
        same, confirmed address, where the site wants that."""
        told = sociallogin.account.extra_data
        if sociallogin.account.provider != SAML and _of_two(told):
            raise PermissionDenied
        if sociallogin.is_existing or sociallogin.state.get("process") == "connect":
            return
        user = _matching(sociallogin) if _accounts(sociallogin.account) != "connected" else None
        if user is not None:
            sociallogin.connect(request, user)
            security_log.event("sign_in_connected", by=user.pk, after=_told(sociallogin.account))

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Not with an address that somebody here has: they sign in and connect."""
        addresses = [one.email for one in sociallogin.email_addresses]
        return _accounts(sociallogin.account) == "made" and not any(map(_having, addresses))

    @transaction.atomic
    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> Any:
        user = super().save_user(request, sociallogin, form)
        after = {"name": user.get_username(), **_told(sociallogin.account)}
        security_log.event("account_made", by=user.pk, after=after)
        return user

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, **told: Any
    ) -> None:
        """Writes it down; whoever brings it about again and again waits."""
        if error == AuthError.CANCELLED:
            return
        address = security_log.address_of(request)
        sign_in_limit.refuse_too_many(sign_in_limit.count_address(address))
        exception = told.get("exception")
        why = f"{type(exception).__name__}: {exception}" if exception else ""
        security_log.event("sign_in_failed", provider=str(provider), why=why[:LONGEST_REASON])

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: SocialAccount) -> str:
        """Asked when the account is connected, or is another one's."""
        if SocialAccount.objects.filter(pk=socialaccount.pk, user=request.user.pk).exists():
            security_log.event("sign_in_connected", after=_told(socialaccount))
            messages.success(request, _("Connected: you can sign in by it from now on."))
        else:
            messages.error(request, _("It belongs to another account here."))
        return super().get_connect_redirect_url(request, socialaccount)


def _of_two(told: dict[str, Any]) -> bool:
    """Whether token and user info are not surely of one person."""
    token = told.get("id_token")
    return token is None or told.get("userinfo", token).get("sub") != token.get("sub")


def _told(account: SocialAccount) -> dict[str, str]:
    name = settings.SAML_NAME if account.provider == SAML else settings.OIDC_NAME
    return {"provider": name, "uid": account.uid}


def _having(address: str) -> set[int]:
    """Ids of the accounts that have the address."""
    own = set(User.objects.filter(email__iexact=address).values_list("pk", flat=True))
    more = EmailAddress.objects.filter(email__iexact=address, verified=True)
    return own | set(more.values_list("user", flat=True))


def _matching(sociallogin: SocialLogin) -> User | None:
    """The one account with an address that the provider has confirmed. Never one of staff: the
    provider's administrators would be ours."""
    confirmed = [one.email for one in sociallogin.email_addresses if one.verified is True]
    found = set().union(*map(_having, confirmed))
    if len(found) != 1:
        return None
    return User.objects.filter(
        pk=found.pop(), is_active=True, is_staff=False, is_superuser=False
    ).first()


class Provider(OpenIDConnectOAuth2Adapter):
    """Looks at the token's signature too, which allauth leaves to TLS, and that it was made for a
    question of this browser (its nonce), each once."""

    def _decode_id_token(self, app: SocialApp, id_token: str) -> dict[str, Any]:
        self.did_fetch_access_token = False
        try:
            found: dict[str, Any] = super()._decode_id_token(app, id_token)
        except (KeyError, TypeError, ValueError) as error:
            raise OAuth2Error("Invalid id_token") from error
        asked = self.request.session.get(NONCES, [])
        if found.get("nonce") not in asked:
            raise OAuth2Error("The id_token answers no question of this browser")
        self.request.session[NONCES] = [one for one in asked if one != found["nonce"]]
        return found


def _by(view: Any) -> Callable[..., HttpResponse]:
    """allauth's view, with our provider: 404 where there is none, a page where it is silent."""

    def answer(request: HttpRequest, provider_id: str) -> HttpResponse:
        adapter = Provider(request, provider_id)
        try:
            found: HttpResponse = view.adapter_view(adapter)(request)
        except SocialApp.DoesNotExist:
            raise Http404 from None
        except (RequestException, ValueError, KeyError) as error:
            return render_authentication_error(request, adapter.get_provider(), exception=error)
        return found

    return answer


_begin = _by(OAuth2LoginView)


def sign_in(request: HttpRequest, provider_id: str) -> HttpResponse:
    """To the provider, with a nonce that its token has to bring back."""
    nonce = secrets.token_urlsafe(24)
    asked = request.session.get(NONCES, [])
    request.session[NONCES] = [*asked, nonce][-MOST_NONCES:]
    given = request.GET.copy()
    given["auth_params"] = urlencode({"nonce": nonce})  # as allauth reads further parameters
    request.GET = given  # type: ignore[assignment]
    return _begin(request, provider_id)


callback = _by(OAuth2CallbackView)


class Connections(InvalidIs400, ConnectionsView):
    """What one can sign in by, and ending that."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if not providers():
            raise Http404
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        told = super().get_context_data(**kwargs)
        connected = list(told["form"].accounts)
        for one in connected:
            one.shown_as = _shown_as(one)
        has = {one.provider for one in connected}
        further = [one for one in providers() if one.provider not in has]
        return {**told, "connected": connected, "further": further}

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        account = form.cleaned_data["account"]
        security_log.event("sign_in_disconnected", before=_told(account))
        answer: HttpResponse
        if any(one.provider == account.provider for one in providers()):
            answer = super().form_valid(form)
        else:  # the site has left that provider, and allauth would look for it
            account.delete()
            answer = redirect(self.get_success_url())
        messages.success(self.request, _("It is removed."))
        return answer


def _shown_as(account: SocialAccount) -> str:
    try:
        name = str(account.get_provider_account())
    except SocialApp.DoesNotExist:  # the site has left that provider
        return str(account.uid)
    return f"{account.uid} ({settings.SAML_NAME})" if account.provider == SAML else name
