"""Passwords that somebody with a list of common ones would soon have tried."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.password_validation import MinimumLengthValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from zxcvbn import zxcvbn

LONGEST_LOOKED_AT = 72  # what follows makes nothing easier to guess, and takes long to look at
OURS = ["concord", "labelling", "agreement", "kappa"]  # words that are near at hand here


class LongEnough(MinimumLengthValidator):
    """Django's own, whose refusal is in English for everybody: its catalogues lack it in 5.2."""

    def get_error_message(self) -> str:
        said = _("This password is too short. It needs %(n)s characters at least.")
        return said % {"n": self.min_length}


class NotGuessable:
    """Refuses what fewer than 10^8 guesses find, by zxcvbn's estimate: lists of common passwords
    and names, keyboard walks, repeats, dates, the account's own words, and how these are joined."""

    FEWEST = 3  # zxcvbn's score

    def validate(self, password: str, user: Any = None) -> None:
        names = ("username", "first_name", "last_name", "email")
        own = [str(getattr(user, name, "") or "") for name in names]
        found = zxcvbn(password[:LONGEST_LOOKED_AT], user_inputs=[*OURS, *filter(None, own)])
        if found["score"] < self.FEWEST:
            said = _("This password is guessed too easily. Take some words of different fields.")
            raise ValidationError(said, code="password_guessable")

    def get_help_text(self) -> str:
        return _("Some words of different fields are hard to guess, and easy to keep in mind.")
