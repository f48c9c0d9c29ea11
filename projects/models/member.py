"""Memberships, offered roles, API tokens, and responses kept for requests that are repeated."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from . import roles
from .project import Project


class Member(models.Model):
    """A user with a role in a project."""

    Role = roles.Role

    project = models.ForeignKey(Project, models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=11, choices=Role.choices)
    # True to list the project first in the member's own list of projects.
    starred = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="member_user_unique"),
            models.CheckConstraint(
                condition=Q(role__in=["lead", "annotator", "viewer", "adjudicator"]),
                name="member_role_valid",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"


class ApiToken(models.Model):
    """A token for the API, of which only the SHA-256 is stored.

    It acts as its user, optionally restricted to one project and to reading.
    """

    class Scope(models.TextChoices):
        READ = "read", _("read")
        WRITE = "write", _("write")

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    project = models.ForeignKey(
        Project, models.CASCADE, null=True, blank=True, related_name="api_tokens"
    )
    scope = models.CharField(max_length=5, choices=Scope.choices, default=Scope.WRITE)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(scope__in=["read", "write"]), name="token_scope_valid"
            ),
            models.CheckConstraint(
                condition=Q(expires_at__isnull=True) | Q(expires_at__gt=F("created_at")),
                name="token_expires_later",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.scope})"


class MemberOffer(models.Model):
    """A role in a project that is offered to the owner of an account.

    It gives no access until it is accepted.

    There is a row for each username that was entered, even without such an account, so that
    leads do not learn who has an account (projects/services/joining.py).
    """

    project = models.ForeignKey(
        Project, models.CASCADE, related_name="member_offers", db_index=False
    )
    username = models.CharField(max_length=150)
    # The owner of the name when the role was offered; a later owner of it gets no offer.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="member_offers"
    )
    role = models.CharField(max_length=11, choices=Member.Role.choices)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    # A declined row stays as if open, so that it does not disclose that there is an account.
    declined_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "username"], name="member_offer_unique"),
            models.CheckConstraint(
                condition=Q(role__in=Member.Role.values), name="member_offer_role_valid"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.username} ({self.role}), offered"


class IdempotentResponse(models.Model):
    """The response to a POST, which a repeated request gets again (api/idempotency.py).

    ``digest`` is of the caller and the key. ``content`` is encrypted, because a response may
    contain a secret; its key is derived from the caller's token and is not stored.
    """

    # Null in rows of releases that did not limit the rows of a user.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, db_index=False, related_name="+"
    )
    digest = models.CharField(max_length=64, primary_key=True)
    request_digest = models.CharField(max_length=64)
    content = models.BinaryField(null=True)  # null: too large to keep
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    is_complete = models.BooleanField(default=False)  # true in every committed row

    class Meta:
        indexes = [models.Index(fields=["user", "created_at"], name="idempotent_user_created")]

    def __str__(self) -> str:
        return f"{self.digest[:8]}, {self.created_at:%Y-%m-%d %H:%M:%S}"
