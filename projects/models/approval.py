"""Approvals of a second person."""

from __future__ import annotations

import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from .project import Project

VALID_FOR = datetime.timedelta(hours=24)  # after the approval, for one use


class Approval(models.Model):
    """A request to approve an action in a project, and what another person decided.

    Rows are needed only with the setting SECOND_PERSON (projects.services.approvals).
    """

    class Action(models.TextChoices):
        DELETE_PROJECT = "delete_project", _("Delete the project")
        DISCLOSE_RATERS = "disclose_raters", _("Show the raters' identities")
        RESTORE_RATERS = "restore_raters", _("Restore rater names")
        SHARE_NAMES = "share_names", _("Share a view with names")

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        APPROVED = "approved", _("Approved")
        REJECTED = "rejected", _("Rejected")

    project = models.ForeignKey(Project, models.CASCADE, related_name="approvals")
    action = models.CharField(max_length=15, choices=Action.choices)
    reason = models.CharField(max_length=500)
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    requested_at = models.DateTimeField()
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    action__in=[
                        "delete_project",
                        "disclose_raters",
                        "restore_raters",
                        "share_names",
                    ]
                ),
                name="approval_action_known",
            ),
            models.CheckConstraint(
                condition=Q(state="open", decided_at=None)
                | Q(state__in=["approved", "rejected"], decided_at__isnull=False),
                name="approval_state_known",
            ),
            models.CheckConstraint(
                condition=Q(used_at=None) | Q(state="approved"), name="approval_used_if_approved"
            ),
            models.UniqueConstraint(
                fields=["project", "action", "requested_by"],
                condition=Q(state="open"),
                name="approval_open_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action}: {self.state}"

    @property
    def valid_until(self) -> datetime.datetime | None:
        """Time until which the approval can be used; None if it was not given."""
        if self.state != self.State.APPROVED or self.decided_at is None:
            return None
        return self.decided_at + VALID_FOR
