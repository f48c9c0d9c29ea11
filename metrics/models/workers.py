"""Worker: the last sweep of each worker process."""

from __future__ import annotations

from django.db import models


class Worker(models.Model):
    """A worker process, with the time of its last sweep.

    Shown to administrators; nothing depends on it.
    """

    name = models.CharField(max_length=200, unique=True)  # hostname:process id
    swept_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name}: {self.swept_at:%Y-%m-%d %H:%M:%S}"
