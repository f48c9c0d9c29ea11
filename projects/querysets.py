"""Querysets of projects and gold answers."""

from __future__ import annotations

import datetime
from typing import Any

from django.db import models


class ProjectQuerySet(models.QuerySet):
    def increment_items_and_raters_version(self) -> None:
        """Record that items or raters of these projects changed.

        Call this in the transaction that changes them.
        """
        self.update(items_and_raters_version=models.F("items_and_raters_version") + 1)

    def visible_to(self, user: Any) -> ProjectQuerySet:
        """Return the projects that ``user`` is a member of.

        These are all for a superuser, and none for a stranger.
        """
        if not user.is_authenticated:
            return self.none()
        if user.is_superuser:
            return self
        return self.filter(members__user=user)


class GoldQuerySet(models.QuerySet):
    def in_force(self) -> GoldQuerySet:
        """Return the gold answers that have not been retired."""
        return self.filter(retired_at__isnull=True)

    def in_force_at(self, moment: datetime.datetime) -> GoldQuerySet:
        """Return the gold answers that were in force at a past moment."""
        not_retired = models.Q(retired_at__isnull=True) | models.Q(retired_at__gt=moment)
        return self.filter(not_retired, created_at__lte=moment)
