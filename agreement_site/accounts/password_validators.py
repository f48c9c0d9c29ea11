"""Password validators: minimum length, and resistance to guessing."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.password_validation import MinimumLengthValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from zxcvbn import zxcvbn

MAX_CHECKED_LENGTH = (
    72  # characters: the rest makes no password easier to guess, and zxcvbn is slow
)
SITE_WORDS = ["concord", "labelling", "agreement", "kappa"]  # likely words on this site


class TranslatedMinimumLengthValidator(MinimumLengthValidator):
    """Django's validator with a translated message, which Django 5.2's catalogues lack."""

    def get_error_message(self) -> str:
        message = _("Use at least %(n)s characters.")
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
        return _("Tip: use four unrelated words.")
