"""Saved views, and share links that open one of them without an account."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from projects.models import Project
from projects.models.roles import Capability, may
from projects.permissions import get_role


class SavedView(models.Model):
    """A filtered and sorted results page that was saved under a name.

    ``query`` is the query string of its URL.
    """

    class Page(models.TextChoices):
        DASHBOARD = "dashboard", _("Overview")
        RATERS = "raters", _("Raters")
        ITEMS = "items", _("Items")

    project = models.ForeignKey(Project, models.CASCADE, related_name="saved_views", db_index=False)
    page = models.CharField(max_length=9, choices=Page.choices)
    name = models.CharField(max_length=80)
    query = models.CharField(max_length=1000, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="saved_view_unique"),
            models.CheckConstraint(
                condition=Q(page__in=["dashboard", "raters", "items"]), name="saved_view_page_valid"
            ),
            models.CheckConstraint(condition=~Q(name=""), name="saved_view_has_name"),
        ]

    def __str__(self) -> str:
        return self.name


class ShareLinkQuerySet(models.QuerySet["ShareLink"]):
    """Filters of share links by whether they still work."""

    def unexpired(self) -> ShareLinkQuerySet:
        """Return the links that are neither revoked nor expired."""
        return self.filter(revoked_at=None, expires_at__gt=timezone.now())


class ShareLink(models.Model):
    """A share link: anybody who has it may read the view until it expires.

    Only the SHA-256 of its secret is stored. It ends when its creator no longer leads the project.
    """

    view = models.ForeignKey(SavedView, models.CASCADE, related_name="links")
    digest = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    # Whether the page shows the names and keys of people, or a number for each.
    shows_names = models.BooleanField(default=False, db_default=False)
    revoked_at = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(null=True, blank=True)  # last time, to within an hour

    objects = ShareLinkQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("created_at")), name="share_link_expires_later"
            )
        ]

    def __str__(self) -> str:
        return f"{self.view} until {self.expires_at:%Y-%m-%d}"

    @property
    def is_active(self) -> bool:
        """True while the link opens its view.

        The link is neither revoked nor expired, the site allows links (setting SHARE_LINKS), and
        the creator of the link leads the project.
        """
        return (
            settings.SHARE_LINKS
            and self.revoked_at is None
            and self.expires_at > timezone.now()
            and self.has_lead
        )

    @property
    def is_expired(self) -> bool:
        """True after the last day of the link."""
        return self.expires_at <= timezone.now()

    @property
    def has_lead(self) -> bool:
        """True while the creator's account is open and leads the project of the view."""
        creator = self.created_by
        return creator is not None and may(get_role(self.view.project, creator), Capability.MANAGE)
