"""Connections with projects of Label Studio, and their objects that were read or written."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from core.jobs.lease import Leased
from projects.models import Item, Project, Rater

from .import_run import ImportRun


class LabelStudioConnection(Leased):
    """A project of a Label Studio server whose annotations are recorded as ratings.

    A worker holds the connection's lease while it reads or writes.
    """

    class State(models.TextChoices):
        READING = "reading", _("reading the project")
        MAPPING = "mapping", _("waiting for your confirmation")
        ACTIVE = "active", _("active")
        PAUSED = "paused", _("paused")

    class WriteBack(models.TextChoices):
        OFF = "off", _("Write nothing")
        PREDICTIONS = "predictions", _("Write final labels as predictions")
        GROUND_TRUTH = "ground_truth", _("Write final labels as ground truth")

    project = models.ForeignKey(Project, models.CASCADE, related_name="label_studio_connections")
    address = models.CharField(max_length=500)
    remote_project = models.PositiveBigIntegerField()
    title = models.CharField(max_length=200, blank=True)
    # A personal or legacy token, encrypted (core.encryption).
    token = models.TextField()
    state = models.CharField(max_length=8, choices=State.choices, default=State.READING)
    # The import in which the lead decided on questions, labels and raters, and its choices
    # (ImportMapping), which apply to everything that is read later.
    import_run = models.ForeignKey(
        ImportRun, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    mapping = models.JSONField(default=dict)
    # Secret part of the address that webhooks of Label Studio call.
    hint_secret = models.CharField(max_length=43)
    # The cursor: tasks that changed at read_since (null: ever) or later are read in the order of
    # their IDs, up to read_task so far. This pass began at read_started_at by the server's clock.
    read_since = models.DateTimeField(null=True, blank=True)
    read_task = models.PositiveBigIntegerField(default=0)
    read_started_at = models.DateTimeField(null=True, blank=True)
    # The comparison of the IDs of all tasks, annotations and predictions: up to this task; null
    # while none is running.
    compared_task = models.PositiveBigIntegerField(null=True, blank=True)
    compared_at = models.DateTimeField(null=True, blank=True)
    next_at = models.DateTimeField()
    pulled_at = models.DateTimeField(null=True, blank=True)
    # What the last attempt failed with (ratings.label_studio.client), empty after a success.
    error = models.JSONField(default=dict)
    failures = models.PositiveSmallIntegerField(default=0)  # in a row
    # Numbers of ratings: created, changed, withdrawn; labels: written.
    counts = models.JSONField(default=dict)
    write_back = models.CharField(max_length=12, choices=WriteBack.choices, default=WriteBack.OFF)
    # Labels that were computed at this time or later may still have to be written; null: all.
    written_since = models.DateTimeField(null=True, blank=True)
    # The pass that writes them has come to this task, and began at write_started_at.
    written_task = models.PositiveBigIntegerField(default=0, db_default=0)
    write_started_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "address", "remote_project"], name="label_studio_unique"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["reading", "mapping", "active", "paused"]),
                name="label_studio_state_valid",
            ),
            models.CheckConstraint(
                condition=Q(write_back__in=["off", "predictions", "ground_truth"]),
                name="label_studio_write_back_valid",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.address}/projects/{self.remote_project}"


class LabelStudioObject(models.Model):
    """A task, user, annotation or prediction of a connection, with its ID in Label Studio.

    If ``item`` or ``rater`` is null, it was permanently deleted in Concord, and what refers to it
    in Label Studio is ignored.
    """

    class Kind(models.TextChoices):
        TASK = "task"
        USER = "user"
        ANNOTATION = "annotation"
        PREDICTION = "prediction"
        # What Concord wrote: the final labels of a task.
        WRITTEN_ANNOTATION = "our_annotation"
        WRITTEN_PREDICTION = "our_prediction"

    connection = models.ForeignKey(
        LabelStudioConnection, models.CASCADE, related_name="remote_objects", db_index=False
    )
    kind = models.CharField(max_length=14, choices=Kind.choices)
    remote_id = models.PositiveBigIntegerField()
    task = models.PositiveBigIntegerField(default=0)  # 0: a user
    item = models.ForeignKey(Item, models.SET_NULL, null=True, related_name="+")
    rater = models.ForeignKey(Rater, models.SET_NULL, null=True, related_name="+")
    # Ids of the questions that an annotation or prediction answers.
    questions = models.JSONField(default=list)
    # Digest of what was read or written last: what has not changed is not recorded again.
    digest = models.CharField(max_length=32, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["connection", "kind", "remote_id"], name="label_studio_object_unique"
            ),
            # One set of final labels a task, whatever happens to the request that creates it.
            models.UniqueConstraint(
                fields=["connection", "kind", "task"],
                condition=Q(kind__in=["task", "our_annotation", "our_prediction"]),
                name="label_studio_object_one_a_task",
            ),
            models.CheckConstraint(
                condition=Q(
                    kind__in=[
                        "task",
                        "user",
                        "annotation",
                        "prediction",
                        "our_annotation",
                        "our_prediction",
                    ]
                ),
                name="label_studio_object_kind_valid",
            ),
        ]
        indexes = [models.Index(fields=["connection", "task"], name="label_studio_object_by_task")]

    def __str__(self) -> str:
        return f"{self.kind} {self.remote_id}"
