"""The identity providers of the site: whose account their users get, and roles by their groups.

OpenID Connect (OIDC_SERVER_URL, oidc.py) and SAML (SAML_METADATA, saml.py) say who signs in. Which
account that is depends on an earlier connection and on the settings OIDC_ACCOUNTS and
SAML_ACCOUNTS. With PROVIDER_GROUP_ROLES the account gets, at each sign-in, the roles of its groups
in the projects that the setting names, and loses those that it had there without a group. Other
projects are not touched.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from allauth.account.models import EmailAddress
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin
from allauth.socialaccount.providers.base import AuthError
from allauth.socialaccount.views import ConnectionsView
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from agreement_site.accounts import attempt_limits
from core import security_log
from core.text import describe_saved
from core.web.forms import InvalidFormStatusMixin
from projects.models import Member, Project
from projects.services import membership
from projects.services.joining import join_project
from projects.services.project_validation import InvalidProjectChange

logger = logging.getLogger(__name__)

OIDC, SAML = "oidc", "saml"  # the provider IDs that allauth stores with an account
MAX_REASON_LENGTH = 200
# Of several groups the first of these roles counts.
ROLES = (Member.Role.LEAD, Member.Role.ADJUDICATOR, Member.Role.VIEWER, Member.Role.ANNOTATOR)


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
            apply_group_roles(sociallogin.user, claims)
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
            apply_group_roles(user, claims)

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
        apply_group_roles(user, sociallogin.account.extra_data)
        return user

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, **details: Any
    ) -> None:
        """Record the failure in the audit log, unless the user cancelled the sign-in.

        Raises TooManyAttempts if the client's network has failed too often.
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


# --- the page of connected providers


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


# --- roles by groups


def get_groups(claims: Mapping[str, Any]) -> set[str] | None:
    """Return the user's groups from the claims, or None if the provider does not report groups.

    OpenID Connect reports them in the user info or the ID token, SAML as an attribute.
    """
    for part in (claims.get("userinfo"), claims.get("id_token"), claims):
        groups = part.get(settings.PROVIDER_GROUPS_CLAIM) if isinstance(part, dict) else None
        if isinstance(groups, list):
            return {group for group in groups if isinstance(group, str)}
    return None


@transaction.atomic
def apply_group_roles(user: User, claims: Mapping[str, Any]) -> None:
    """Give the user the roles of their groups at the provider, and take away those without a group.

    ``claims``: what the provider says of the user. Nothing changes if the site has no such rules
    (PROVIDER_GROUP_ROLES) or the provider reports no groups.
    """
    groups = get_groups(claims)
    if not settings.PROVIDER_GROUP_ROLES or groups is None:
        return
    entries = settings.PROVIDER_GROUP_ROLES
    if any(target is None for _group, target, _role in entries):
        _set_administrator(
            user, any(target is None and group in groups for group, target, _role in entries)
        )
    for project in Project.objects.filter(pk__in={target for _group, target, _role in entries}):
        roles = {
            role for group, target, role in entries if target == project.pk and group in groups
        }
        highest_role = next((role for role in ROLES if role in roles), None)
        try:
            _set_role(user, project, highest_role)
        except InvalidProjectChange as error:  # the last lead stays one
            logger.warning("project %s keeps its member %s: %s", project.pk, user.pk, error)


def _set_role(user: User, project: Project, role: str | None) -> None:
    member = Member.objects.filter(project=project, user=user).first()
    if member is None and role is not None:
        join_project(project, user, role, user)
    elif member is not None and role is None:
        membership.remove_member(member=member, by=user)
    elif member is not None and role is not None and member.role != role:
        membership.change_role(member=member, role=role, by=user)


def _set_administrator(user: User, is_administrator: bool) -> None:
    """Make the user an administrator (staff and superuser), or revoke that.

    The last active superuser stays one.
    """
    remaining = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    if user.is_superuser == is_administrator or (not is_administrator and not remaining.exists()):
        return
    user.is_staff = user.is_superuser = is_administrator
    user.save(update_fields=["is_staff", "is_superuser"])
    security_log.log_event(
        "admin_changed",
        by=user.pk,
        model=user._meta.label,
        target=user.pk,
        name=user.get_username(),
        before={"is_superuser": not is_administrator},
        after={"is_superuser": is_administrator},
        how="provider",
    )
