"""Items, whether they have anything to show, their earlier versions, and their gold answers."""

from __future__ import annotations

import datetime
import unicodedata
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from core.web.safe_html import clean_html, extract_text

from .project import Project
from .question import Question


class GoldQuerySet(models.QuerySet):
    def in_force(self) -> GoldQuerySet:
        """Return the gold answers that have not been retired."""
        return self.filter(retired_at__isnull=True)

    def in_force_at(self, moment: datetime.datetime) -> GoldQuerySet:
        """Return the gold answers that were in force at a past moment."""
        not_retired = models.Q(retired_at__isnull=True) | models.Q(retired_at__gt=moment)
        return self.filter(not_retired, created_at__lte=moment)


# Fields of a turn that name the speaker, which is not content.
SPEAKER_FIELDS = ("role", "speaker", "name")
CONVERSATION_FIELDS = ("turns", "messages")
# Unicode categories of blanks, line ends, control characters and invisible joiners.
INVISIBLE_CATEGORIES = {"Cc", "Cf", "Zl", "Zp", "Zs"}


def has_content(body: Any) -> bool:
    """Return True if anything in an item's body is visible.

    Visible are a text that is more than blanks, a number, a boolean, an address, and HTML with
    words or an image. Null, and lists and objects without any of these, are not.
    """
    if not isinstance(body, dict):
        return _is_visible(body)
    for name, value in body.items():
        if name == "html" and isinstance(value, str):
            cleaned = clean_html(value)
            visible = "<img src=" in cleaned or _is_visible(extract_text(cleaned))
        elif name in CONVERSATION_FIELDS and isinstance(value, list):
            visible = any(_is_turn_visible(turn) for turn in value)
        else:
            visible = _is_visible(value)
        if visible:
            return True
    return False


def _is_turn_visible(turn: Any) -> bool:
    if not isinstance(turn, dict):
        return _is_visible(turn)
    return any(_is_visible(value) for name, value in turn.items() if name not in SPEAKER_FIELDS)


def _is_visible(value: Any) -> bool:
    if value is None:
        return False
    if isinstance(value, str):
        return any(
            unicodedata.category(character) not in INVISIBLE_CATEGORIES for character in value
        )
    if isinstance(value, dict):
        return any(map(_is_visible, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_is_visible, value))
    return True


class HasContentField(models.BooleanField):
    """A field that records whether the row's ``body`` has visible content.

    It is set on save, like ``auto_now``; code that writes a body by plain SQL or ``update`` must
    set it as well.
    """

    def pre_save(self, model_instance: Any, add: bool) -> bool:
        visible = has_content(model_instance.body)
        setattr(model_instance, self.attname, visible)
        return visible


# Also the conditions of partial indexes: each must be the same as that of its index. The queue
# repeats the first one in SQL (ratings.annotation.assignments.candidates).
AVAILABLE = Q(has_content=True, withdrawn_at__isnull=True)
PLANNED = AVAILABLE & Q(planned_position__isnull=False)
WITHOUT_CONTENT = Q(has_content=False, withdrawn_at__isnull=True)
WITHDRAWN = Q(withdrawn_at__isnull=False)


class Item(models.Model):
    """Something to rate: a body to show, with a key that is unique in the project."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="items", db_index=False)
    key = models.CharField(max_length=255)
    body = models.JSONField(default=dict, blank=True)
    attributes = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # Last change of content, attributes, gold answers or withdrawal by a lead.
    changed_at = models.DateTimeField(default=timezone.now, db_default=Now(), editable=False)
    # Number of raters that have rated the item or are rating it now, minus ``extra_slots`` (at
    # least 0). Written by ratings.services.slots only; exact below the overlap.
    slots_taken = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    # Ratings wanted in addition to the project's overlap.
    extra_slots = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    # Position in a planned order, lowest first; null: not planned now.
    planned_position = models.PositiveIntegerField(null=True, editable=False)
    # True if the body shows anything. An item without content is never given to raters.
    has_content = HasContentField(default=False, db_default=False, editable=False)
    # A withdrawn item is not given to raters any more; its ratings stay.
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    # Version number of ``body``, and the time of its last change (null for version 1); written by
    # projects.services.item_upsert only.
    version = models.PositiveIntegerField(default=1, db_default=1, editable=False)
    version_since = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="item_key_unique"),
            models.CheckConstraint(condition=~Q(key=""), name="item_key_not_empty"),
            models.CheckConstraint(condition=Q(version__gte=1), name="item_version_counted"),
        ]
        indexes = [
            models.Index(fields=["project", "id"], name="item_of_project"),
            # The queue: the next item with this many slots taken
            # (ratings.annotation.assignments.queue).
            models.Index(
                fields=["project", "slots_taken", "id"], condition=AVAILABLE, name="item_to_assign"
            ),
            # The queue: the next item of the plan.
            models.Index(
                fields=["project", "planned_position"], condition=PLANNED, name="item_by_plan"
            ),
            # The lead's lists of items that are not given to raters.
            models.Index(
                fields=["project", "id"], condition=WITHOUT_CONTENT, name="item_without_content"
            ),
            models.Index(fields=["project", "id"], condition=WITHDRAWN, name="item_withdrawn"),
        ]

    def __str__(self) -> str:
        return self.key


class ItemVersion(models.Model):
    """An earlier body of an item, which was version ``number`` until ``until``.

    Written once, never changed; the current version is the item's own body.
    """

    item = models.ForeignKey(Item, models.CASCADE, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    body = models.JSONField(default=dict, blank=True)
    until = models.DateTimeField()
    # The user that replaced it.
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
    """The correct answer of an item to a question.

    Another answer is a new version; the current version has no ``retired_at``
    (projects.services.gold).

    ``answer`` is a list of the correct codes in ascending order, or an object of shares by code
    (its keys are texts, as JSON requires) that add up to 1.
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
    created_at = models.DateTimeField()
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
            # Its index also serves the query for a question's current gold answers.
            models.UniqueConstraint(
                fields=["question", "item"],
                condition=Q(retired_at__isnull=True),
                name="gold_unique_in_force",
            ),
            models.CheckConstraint(condition=Q(version__gte=1), name="gold_version_from_one"),
            models.CheckConstraint(
                condition=Q(retired_at__isnull=True) | Q(retired_at__gte=F("created_at")),
                name="gold_retired_after_created",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.item_id}, {self.question_id}: {self.version}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A gold answer is written once and never changed.")
        super().save(*args, **kwargs)
