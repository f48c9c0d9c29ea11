"""Responses to POST requests with an Idempotency-Key, kept to answer a repeated request."""

from __future__ import annotations

from django.conf import settings
from django.db import models


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
