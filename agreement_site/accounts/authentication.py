"""Authentication by password: validators of passwords, and the backend.

The backend counts attempts, and loads the user's preferences in one query.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import MinimumLengthValidator
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext as _
from zxcvbn import zxcvbn

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


MAX_CHECKED_LENGTH = (
    72  # characters: the rest makes no password easier to guess, and zxcvbn is slow
)
SITE_WORDS = ["concord", "labelling", "agreement", "kappa"]  # likely words on this site


class TranslatedMinimumLengthValidator(MinimumLengthValidator):
    """Django's validator with a translated message, which Django 5.2's catalogues lack."""

    def get_error_message(self) -> str:
        message = _("At least %(n)s characters.")
        return message % {"n": self.min_length}


class GuessabilityValidator:
    """Reject passwords that fewer than 10^8 guesses would find, as estimated by zxcvbn.

    It knows lists of common passwords and names, keyboard walks, repeats, dates, the account's own
    words, and combinations of these.
    """

    MIN_SCORE = 3  # zxcvbn's score, 0 to 4

    def validate(self, password: str, user: Any = None) -> None:
        fields = ("username", "first_name", "last_name", "email")
        user_values = [str(getattr(user, name, "") or "") for name in fields]
        result = zxcvbn(
            password[:MAX_CHECKED_LENGTH], user_inputs=[*SITE_WORDS, *filter(None, user_values)]
        )
        if result["score"] < self.MIN_SCORE:
            message = _("Too easy to guess. Try four unrelated words.")
            raise ValidationError(message, code="password_guessable")

    def get_help_text(self) -> str:
        return _("For example, four unrelated words.")
