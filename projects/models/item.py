"""What is judged, what it said before, and what its right answers are."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from projects.querysets import GoldQuerySet

from .item_content import HasContent
from .project import Project
from .question import Question

# Also conditions of partial indexes: each and its index must be one. The queue says the first one
# in SQL (ratings.annotation.assignments.candidates).
ASKED = Q(has_content=True, withdrawn_at__isnull=True)
PLANNED = ASKED & Q(turn__isnull=False)
WAITING = Q(has_content=False, withdrawn_at__isnull=True)  # for something to show
WITHDRAWN = Q(withdrawn_at__isnull=False)


class Item(models.Model):
    project = models.ForeignKey(Project, models.CASCADE, related_name="items", db_index=False)
    key = models.CharField(max_length=255)
    body = models.JSONField(default=dict, blank=True)
    attributes = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # When the lead last changed anything of it: content, attributes, gold answers, withdrawal.
    changed_at = models.DateTimeField(default=timezone.now, db_default=Now(), editable=False)
    # How many raters have rated the item or are rating it now, less ``extra_places`` (at least 0):
    # kept by ratings.services.slots alone, exact below the overlap.
    places_taken = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    # Ratings that the item is asked for beyond the project's overlap.
    extra_places = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    # Where it stands in a planned order, the lowest first; null: not among those planned now.
    turn = models.PositiveIntegerField(null=True, editable=False)
    # Whether the body shows anything. An item that does not is never asked for.
    has_content = HasContent(default=False, db_default=False, editable=False)
    # A withdrawn item is not asked for any more; what was said of it stays.
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    # The number of the version that ``body`` is, and since when where it is not the first; moved by
    # projects.services.items alone.
    version = models.PositiveIntegerField(default=1, db_default=1, editable=False)
    version_since = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="item_key_unique"),
            models.CheckConstraint(condition=~Q(key=""), name="item_key_given"),
            models.CheckConstraint(condition=Q(version__gte=1), name="item_version_counted"),
        ]
        indexes = [
            models.Index(fields=["project", "id"], name="item_of_project"),
            # "Which items with so many places taken come after this one?" (ratings.annotation.assignments.queue)
            models.Index(
                fields=["project", "places_taken", "id"], condition=ASKED, name="item_to_ask"
            ),
            # "What comes next by plan?"
            models.Index(fields=["project", "turn"], condition=PLANNED, name="item_by_turn"),
            # The lead's lists of what is never asked for.
            models.Index(fields=["project", "id"], condition=WAITING, name="item_waiting"),
            models.Index(fields=["project", "id"], condition=WITHDRAWN, name="item_withdrawn"),
        ]

    def __str__(self) -> str:
        return self.key


class ItemVersion(models.Model):
    """What an item's body was as version ``number``, until it became another one. Written once,
    never changed; the version in force is the item's own body."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    body = models.JSONField(default=dict, blank=True)
    until = models.DateTimeField()
    # Who replaced it.
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["item", "number"], name="item_version_unique"),
            models.CheckConstraint(condition=Q(number__gte=1), name="item_version_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A version of an item is written once and never changed.")
        super().save(*args, **kwargs)


class GoldAnswer(models.Model):
    """The right answer of an item to a question, as somebody set it. Another answer is a new
    version; the one that is in force has no ``retired_at`` (projects.services.items.gold).

    ``answer`` is a list of the codes that are right, in ascending order, or an object of shares by
    code (its keys are texts, as JSON has them) that add up to 1.
    """

    item = models.ForeignKey(Item, models.CASCADE, related_name="gold_answers", db_index=False)
    question = models.ForeignKey(
        Question, models.CASCADE, related_name="gold_answers", db_index=False
    )
    version = models.PositiveIntegerField()
    answer = models.JSONField()
    explanation = models.TextField(blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    made_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True, blank=True)
    retired_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    objects = GoldQuerySet.as_manager()

    class Meta:
        ordering = ["question", "item", "version"]
        constraints = [
            models.UniqueConstraint(
                fields=["item", "question", "version"], name="gold_version_unique"
            ),
            # Also serves: all gold answers of a question that are in force.
            models.UniqueConstraint(
                fields=["question", "item"],
                condition=Q(retired_at__isnull=True),
                name="gold_one_in_force",
            ),
            models.CheckConstraint(condition=Q(version__gte=1), name="gold_version_from_one"),
            models.CheckConstraint(
                condition=Q(retired_at__isnull=True) | Q(retired_at__gte=F("made_at")),
                name="gold_retired_later",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.item_id}, {self.question_id}: {self.version}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A gold answer is written once and never changed.")
        super().save(*args, **kwargs)
