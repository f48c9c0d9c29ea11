"""How the API knows who calls: a bearer token, or the browser's session (with CSRF)."""

from __future__ import annotations

import datetime
import hashlib
import secrets
import time
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import authentication, exceptions
from rest_framework.request import Request

from core import security_log
from core.db import bulk
from projects import permissions
from projects.models import ApiToken

PREFIX = "ccd_"  # so that secret scanners and people recognise one
# how exact last_used_at is; a write a request would be waste
TELL_EVERY = 10  # seconds
USED_EVERY = datetime.timedelta(minutes=5)


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@transaction.atomic
def create(
    *, user: Any, project: Any = None, scope: str = ApiToken.Scope.WRITE, expires_at: Any = None
) -> str:
    """Make a token for ``user`` and return it; it cannot be shown again."""
    token = PREFIX + secrets.token_urlsafe(32)
    made = ApiToken.objects.create(
        user=user,
        project=project,
        scope=scope,
        prefix=token[:12],
        digest=digest(token),
        expires_at=expires_at,
    )
    security_log.event(
        "token_made", project_id=made.project_id, who=user.pk, scope=str(scope), after=_told(made)
    )
    return token


def revoke(living: QuerySet[ApiToken]) -> int:
    """End these tokens, whoever's they are; how many."""
    with transaction.atomic():
        found = list(living.filter(revoked_at=None).select_related("user"))
        ApiToken.objects.filter(pk__in=[one.pk for one in found]).update(revoked_at=timezone.now())
        for one in found:
            security_log.event(
                "token_revoked",
                project_id=one.project_id,
                token_id=one.pk,
                who=one.user_id,
                before=_told(one),
            )
    return len(found)


def _told(token: ApiToken) -> dict[str, Any]:
    """What the trail says of a token: nothing that opens a door."""
    return {
        "token": token.prefix,
        "of": token.user.get_username(),
        "scope": str(token.scope),
        "expires_at": token.expires_at,
    }


# Every request of the API begins here: written out, it costs a tenth of what the ORM takes to build
# it.
_LIVING = (
    "SELECT t.id, t.user_id, t.project_id, t.scope, u.username, u.is_staff, u.is_superuser,"
    " t.last_used_at IS NULL OR t.last_used_at < %s"
    " FROM projects_apitoken t JOIN auth_user u ON u.id = t.user_id"
    " WHERE t.digest = %s AND t.revoked_at IS NULL"
    " AND (t.expires_at IS NULL OR t.expires_at > %s) AND u.is_active"
)


def _living(token_digest: str, asked: int | None) -> ApiToken | None:
    """The token with its user, unless it is unknown, expired, revoked, or its user may not sign in
    any more.

    ``asked`` is the project that the request is about: it is looked up on the same journey to the
    database.
    """
    now = timezone.now()
    moment = connection.ops.adapt_datetimefield_value
    project = [] if asked is None else permissions.for_token(token_digest, asked)
    living = (_LIVING, [moment(now - USED_EVERY), token_digest, moment(now)])
    rows, *projects = bulk.several([living, *project])
    if not rows:
        return None
    pk, user_id, project_id, scope, username, is_staff, is_superuser, unnoticed = rows[0]
    token = _partly(
        ApiToken, {"id": pk, "user_id": user_id, "project_id": project_id, "scope": scope}
    )
    flags = {"is_staff": bool(is_staff), "is_superuser": bool(is_superuser), "is_active": True}
    token.user = _partly(get_user_model(), {"id": user_id, "username": username, **flags})
    if projects:
        token.asked = asked, projects[0]
    if unnoticed:
        ApiToken.objects.filter(pk=pk).update(last_used_at=now)
    return token


def _partly(model: Any, known: dict[str, Any]) -> Any:
    """A row of which these fields are known; the others are read when somebody asks for them."""
    # from_db takes the values in the order of the model's fields.
    names = [field.attname for field in model._meta.concrete_fields if field.attname in known]
    return model.from_db(connection.alias, names, [known[name] for name in names])


class TokenAuthentication(authentication.BaseAuthentication):
    """``Authorization: Bearer TOKEN``. A token dies with its user, its expiry or its revocation:
    401."""

    keyword = "Bearer"

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        header = authentication.get_authorization_header(request).split()
        if not header or header[0].lower() != b"bearer":
            return None
        if len(header) != 2:
            raise exceptions.AuthenticationFailed(
                "The header must be 'Authorization: Bearer TOKEN'."
            )
        match = request.resolver_match
        token = _living(
            digest(header[1].decode("latin-1")), match.kwargs.get("project_id") if match else None
        )
        if token is None:
            _tell_wrong(request)
            raise exceptions.AuthenticationFailed("This token is unknown, expired or revoked.")
        if token.scope == ApiToken.Scope.READ and request.method not in ("GET", "HEAD", "OPTIONS"):
            raise exceptions.PermissionDenied("This token may only read.")
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return self.keyword


_last_told = 0.0


def _tell_wrong(request: Request) -> None:
    """An event for the log, at most one in TELL_EVERY seconds and process: who tries many makes no
    more lines than who tries one. Each try has its request's line, too (401)."""
    global _last_told  # noqa: PLW0603 - a clock of the process
    now = time.monotonic()
    if now - _last_told >= TELL_EVERY:
        _last_told = now
        security_log.event("token_wrong", address=security_log.address_of(request))


class BrowserAuthentication(authentication.SessionAuthentication):
    """The session of the pages. Answers 401, not 403, to a stranger."""

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


# --- how the OpenAPI description says it


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = "projects.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "manage.py create_token USERNAME",
        }


class BrowserScheme(OpenApiAuthenticationExtension):
    target_class = "projects.authentication.BrowserAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "A browser's session, with CSRF",
        }
