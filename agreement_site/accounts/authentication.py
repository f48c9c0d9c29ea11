"""Authentication backend: counted password attempts, and the user's preferences in one query."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.http import HttpRequest

from core import security_log

from . import attempt_limits


class ThrottledModelBackend(ModelBackend):
    """Authentication backend that limits password attempts and loads preferences.

    The preferences come with the user, so the language of a page costs no query of its own. Every
    check of a password goes through ``authenticate`` and is counted (attempt_limits).
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **extra: Any,
    ) -> User | None:
        """Return the user, or None for a wrong password.

        Raises attempt_limits.TooManyAttempts; TooManyAttemptsMiddleware answers it with status 429.
        """
        if request is None:  # called by a management command
            return super().authenticate(request, username, password, **extra)
        name, address = (username or "")[:150], security_log.get_client_address(request)
        wait_seconds = attempt_limits.count_attempt_and_get_wait(name, address)
        attempt_limits.raise_if_limited(wait_seconds, name_sha256=security_log.hash_username(name))
        user = super().authenticate(request, username, password, **extra)
        if user is None:
            security_log.log_event(
                "password_rejected", name_sha256=security_log.hash_username(name)
            )
        else:
            attempt_limits.clear_password_attempts(name, address)
        return user

    def get_user(self, user_id: int) -> User | None:
        user = (
            User.objects.select_related("preference", "password_change_required")
            .filter(pk=user_id)
            .first()
        )
        return user if user is not None and self.user_can_authenticate(user) else None
