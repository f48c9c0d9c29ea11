"""What the site itself keeps."""

from __future__ import annotations

from django.db import models


class SignInTries(models.Model):
    """Tries to sign in, counted since ``since``: of one name from one address, or of one address. See sign_in_limit."""

    # A digest: people type passwords into the field of the name.
    key = models.CharField(max_length=64, unique=True)
    since = models.DateTimeField(db_index=True)  # read when old rows are removed
    tries = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name_plural = "sign-in tries"

    def __str__(self) -> str:
        return f"{self.tries} since {self.since:%Y-%m-%d %H:%M}"
