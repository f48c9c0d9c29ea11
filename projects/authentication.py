"""Authentication of API requests by token, or by browser session with CSRF."""

from __future__ import annotations

import datetime
import time
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import authentication, exceptions
from rest_framework.request import Request

from core import security_log
from core.db import bulk
from projects import permissions
from projects.models import ApiToken
from projects.services import tokens

LOG_INTERVAL_SECONDS = 10
# last_used_at is updated at most this often, to avoid a write with each request.
LAST_USED_RESOLUTION = datetime.timedelta(minutes=5)


def _use_active_token(token_digest: str, requested_id: int | None) -> ApiToken | None:
    """Return the token with its user and record its use; None if it is not valid.

    A token is not valid if it is unknown, expired or revoked, or its user inactive. The project
    ``requested_id``, if any, is fetched in the same round trip to the database.
    """
    now = timezone.now()
    queries = permissions.build_token_queries(
        token_digest, requested_id, now=now, used_before=now - LAST_USED_RESOLUTION
    )
    rows, *projects = bulk.execute_statements(queries)
    if not rows:
        return None
    token_id, user_id, project_id, scope, username, is_staff, is_superuser, needs_update = rows[0]
    token = _build_deferred_object(
        ApiToken, {"id": token_id, "user_id": user_id, "project_id": project_id, "scope": scope}
    )
    flags = {"is_staff": bool(is_staff), "is_superuser": bool(is_superuser), "is_active": True}
    token.user = _build_deferred_object(
        get_user_model(), {"id": user_id, "username": username, **flags}
    )
    if projects:
        token.prefetched_project = requested_id, projects[0]
    if needs_update:
        ApiToken.objects.filter(pk=token_id).update(last_used_at=now)
    return token


def _build_deferred_object(model: Any, values: dict[str, object]) -> Any:
    """Return a model object with these fields; the others are deferred."""
    # from_db expects the values in the order of the model's fields.
    names = [field.attname for field in model._meta.concrete_fields if field.attname in values]
    return model.from_db(connection.alias, names, [values[name] for name in names])


class TokenAuthentication(authentication.BaseAuthentication):
    """Authenticate ``Authorization: Bearer TOKEN``.

    A token whose user is inactive, or that is expired or revoked, is answered with 401.
    """

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
        token = _use_active_token(
            tokens.compute_digest(header[1].decode("latin-1")),
            match.kwargs.get("project_id") if match else None,
        )
        if token is None:
            _log_invalid_token(request)
            raise exceptions.AuthenticationFailed("This token is unknown, expired or revoked.")
        if token.scope == ApiToken.Scope.READ and request.method not in ("GET", "HEAD", "OPTIONS"):
            raise exceptions.PermissionDenied("This token may only read.")
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return self.keyword


_last_logged = 0.0


def _log_invalid_token(request: Request) -> None:
    """Log an invalid token, at most once in LOG_INTERVAL_SECONDS per process.

    Many invalid requests thus do not flood the security log; each has its line in the request log.
    """
    global _last_logged  # noqa: PLW0603 - one clock per process
    now = time.monotonic()
    if now - _last_logged >= LOG_INTERVAL_SECONDS:
        _last_logged = now
        security_log.log_event("token_rejected", address=security_log.get_client_address(request))


class BrowserAuthentication(authentication.SessionAuthentication):
    """Authenticate by the session of the pages. Strangers get 401, not 403."""

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


# --- OpenAPI description


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
