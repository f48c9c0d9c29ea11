"""What the site itself keeps."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class SignInTries(models.Model):
    """Tries to sign in, counted since ``since``: of one name from one address, or of one address.
    See sign_in_limit."""

    # A digest: people type passwords into the field of the name.
    key = models.CharField(max_length=64, unique=True)
    since = models.DateTimeField(db_index=True)  # read when old rows are removed
    tries = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name_plural = "sign-in tries"

    def __str__(self) -> str:
        return f"{self.tries} since {self.since:%Y-%m-%d %H:%M}"


class Preference(models.Model):
    """What a user has chosen about the site itself; without a row everything is as the browser asks
    for it."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="preference"
    )
    # one of settings.LANGUAGES; a new one there is no migration here
    language = models.CharField(max_length=10)

    def __str__(self) -> str:
        return self.language
