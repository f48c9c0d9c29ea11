"""ExportRun: a file that a worker writes."""

from __future__ import annotations

import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from core.jobs.lease import Leased
from projects.models import Project


class ExportRun(Leased):
    """An export to a file, resumable: the position is stored after each piece of the file."""

    class State(models.TextChoices):
        PENDING = "pending", _("pending")
        WRITING = "writing", _("exporting")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    class Error(models.TextChoices):
        DISK_FULL = "disk_full", _("The server's disk is full.")
        ERROR = "error", _("The export failed.")

    UNFINISHED = (State.PENDING, State.WRITING)

    project = models.ForeignKey(Project, models.CASCADE, related_name="exports")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    kind = models.CharField(max_length=20)  # a key of ratings.exports.documents.EXPORT_KINDS
    file_format = models.CharField(max_length=20)
    # Ids of the questions, one for each section of the file, in the order of the file.
    question_ids = models.JSONField(default=list)
    filters = models.JSONField(default=dict)  # of its kind
    # Rows that did not exist at the start have larger ids and are left out.
    last_id = models.BigIntegerField(default=0)
    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    error = models.CharField(max_length=10, choices=Error.choices, blank=True)
    # Token of the folder that gets the file (ratings.files.shared_folders): only a host that has
    # this folder writes the file and offers it.
    folder = models.CharField(max_length=32)
    path = models.CharField(max_length=100, blank=True)  # below DATA_DIR
    file_name = models.CharField(max_length=255)  # of the download
    content_type = models.CharField(max_length=60)
    rows_total = models.PositiveBigIntegerField(default=0)
    rows_done = models.PositiveBigIntegerField(default=0)
    # Of the complete pieces. A file may be longer after a worker was killed.
    bytes_written = models.PositiveBigIntegerField(default=0)
    # Position after the last complete piece (ratings.exports.documents.iter_pieces).
    sections_done = models.PositiveIntegerField(default=0)
    last_item_id = models.BigIntegerField(default=0)
    # Consecutive claims without a complete piece.
    attempts = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["pending", "writing", "done", "failed"]),
                name="export_state_valid",
            ),
            models.CheckConstraint(
                condition=~Q(state="done") | (~Q(path="") & Q(finished_at__isnull=False)),
                name="export_done_has_file",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of project {self.project_id} ({self.state})"

    @property
    def is_unfinished(self) -> bool:
        return self.state in self.UNFINISHED

    @property
    def percent(self) -> int:
        """Return the progress in per cent: 100 only when the file is complete."""
        if self.state == self.State.DONE:
            return 100
        return min(99, 100 * self.rows_done // self.rows_total) if self.rows_total else 0

    @property
    def expires_at(self) -> datetime.datetime | None:
        """Return when the export and its file are deleted; None while unfinished, or if kept."""
        if self.finished_at is None or not settings.KEEP_EXPORTS_DAYS:
            return None
        return self.finished_at + datetime.timedelta(days=settings.KEEP_EXPORTS_DAYS)
