"""Create and revoke API tokens, of which only a digest is stored."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from core import security_log
from projects.models import ApiToken

TOKEN_PREFIX = "ccd_"  # noqa: S105  # so that secret scanners and people recognize one


def compute_digest(token: str) -> str:
    """Return the SHA-256 digest of a token in hexadecimal digits, which is stored in its place."""
    return hashlib.sha256(token.encode()).hexdigest()


@transaction.atomic
def create_token(
    *, user: Any, project: Any = None, scope: str = ApiToken.Scope.WRITE, expires_at: Any = None
) -> str:
    """Create a token for ``user`` and return it; it cannot be shown again.

    ``project``: the only one that it may access, None for all of the user's; ``expires_at``: None
    for a token that does not expire.
    """
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    created = ApiToken.objects.create(
        user=user,
        project=project,
        scope=scope,
        prefix=token[:12],
        digest=compute_digest(token),
        expires_at=expires_at,
    )
    security_log.log_event(
        "token_created",
        project_id=created.project_id,
        target_user_id=user.pk,
        scope=str(scope),
        after=_serialize_token(created),
    )
    return token


def revoke_tokens(tokens: QuerySet[ApiToken]) -> int:
    """Revoke those of the tokens that are not revoked yet; return their number."""
    with transaction.atomic():
        active = list(tokens.filter(revoked_at=None).select_related("user"))
        ApiToken.objects.filter(pk__in=[token.pk for token in active]).update(
            revoked_at=timezone.now()
        )
        for token in active:
            security_log.log_event(
                "token_revoked",
                project_id=token.project_id,
                token_id=token.pk,
                target_user_id=token.user_id,
                before=_serialize_token(token),
            )
    return len(active)


def _serialize_token(token: ApiToken) -> dict[str, object]:
    """Return a token as the audit log stores it, without any secret."""
    return {
        "token": token.prefix,
        "user": token.user.get_username(),
        "scope": str(token.scope),
        "expires_at": token.expires_at,
    }
