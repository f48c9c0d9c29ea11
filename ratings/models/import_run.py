"""Files on their way into a project."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from projects.models import Project, Question


class ImportRun(models.Model):
    """One file on its way into a project, resumable: ``rows_done`` is committed with the rows it
    speaks of.

    ``project`` and ``question`` are empty until the lead presses Import, when the file is to become
    a new one. ``question`` stays empty where the file answers several, or none.
    """

    class State(models.TextChoices):
        MAPPING = "mapping", _("choosing columns")
        CHECKING = "checking", _("checking")
        REFUSED = "refused", _("has problems")
        CHECKED = "checked", _("ready")
        WRITING = "writing", _("importing")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    project = models.ForeignKey(
        Project, models.CASCADE, null=True, blank=True, related_name="imports"
    )
    question = models.ForeignKey(
        Question, models.CASCADE, null=True, blank=True, related_name="imports"
    )
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    file_name = models.CharField(max_length=200)
    # Server-made path below DATA_DIR; the uploaded name is only shown.
    path = models.CharField(max_length=300)
    state = models.CharField(max_length=8, choices=State.choices, default=State.MAPPING)
    mapping = models.JSONField(default=dict)
    problems = models.JSONField(default=list)
    summary = models.JSONField(default=dict)
    rows_total = models.PositiveIntegerField(default=0)
    rows_done = models.PositiveIntegerField(default=0)
    # How far the check has come in the file.
    bytes_total = models.PositiveBigIntegerField(default=0)
    bytes_read = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    # A run that is being worked on and has not been heard of for a while is taken up again by the
    # sweep.
    heartbeat_at = models.DateTimeField(auto_now_add=True)
    # The worker that has the run in its hands: nobody else may write for it
    # (ratings.imports.leases).
    lease = models.CharField(max_length=32, blank=True)
    # Failures in a row without any progress between them.
    attempts = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    state__in=[
                        "mapping",
                        "checking",
                        "refused",
                        "checked",
                        "writing",
                        "done",
                        "failed",
                    ]
                ),
                name="import_state_known",
            ),
            models.CheckConstraint(
                condition=Q(rows_done__lte=F("rows_total")), name="import_progress_bounded"
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["writing", "done"]) | Q(project__isnull=False),
                name="import_writes_into_project",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.file_name} ({self.state})"
