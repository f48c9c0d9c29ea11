"""Raters, their true identities while they have pseudonyms, and names that a page hides.

While a page is built under ``hide_names``, people loaded from the database (Rater.from_db) have a
number instead of their key and name, in whatever way the page loads them. Nothing must be saved
meanwhile.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from .project import Project


class Rater(models.Model):
    """A person or a model that rates in a project."""

    class Kind(models.TextChoices):
        HUMAN = "human", _("human")
        MODEL = "model", _("model")

    class GoldNotice(models.TextChoices):
        WARNED = "warned", _("warned about gold answers")
        PAUSED = "paused", _("paused because of gold answers")

    project = models.ForeignKey(Project, models.CASCADE, related_name="raters")
    key = models.CharField(max_length=150)
    name = models.CharField(max_length=200, blank=True)
    kind = models.CharField(max_length=5, choices=Kind.choices, default=Kind.HUMAN)
    # For models: the name, and the version of the prompt. Another version is another rater, with
    # its own trends; the versions of a model are shown side by side.
    model = models.CharField(max_length=150, blank=True, default="", db_default="")
    prompt_version = models.CharField(max_length=100, blank=True, default="", db_default="")
    group = models.CharField(
        max_length=64, blank=True, db_default="", help_text=_("A team or vendor, to filter by.")
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="raters"
    )
    # A paused rater gets no items; existing ratings still count.
    paused = models.BooleanField(default=False)
    # The consequence of wrong gold answers, shown to the rater (quality.gold.services).
    gold_notice = models.CharField(
        max_length=6, choices=GoldNotice.choices, blank=True, default="", db_default=""
    )

    class Meta:
        ordering = ["key"]
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="rater_key_unique"),
            models.UniqueConstraint(
                fields=["project", "user"],
                condition=Q(user__isnull=False),
                name="rater_user_unique",
            ),
            models.CheckConstraint(condition=~Q(key=""), name="rater_key_not_empty"),
            models.CheckConstraint(
                condition=Q(kind__in=["human", "model"]), name="rater_kind_valid"
            ),
            models.CheckConstraint(
                condition=Q(kind="model") | Q(model="", prompt_version=""),
                name="rater_model_fields_only_for_models",
            ),
            models.CheckConstraint(
                condition=Q(gold_notice__in=["", "warned", "paused"]),
                name="rater_gold_notice_valid",
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.key

    @classmethod
    def from_db(cls, *args: Any, **kwargs: Any) -> Rater:
        """Load a rater, without the name where the current page hides it."""
        rater = super().from_db(*args, **kwargs)
        hide_name(rater)
        return rater

    @property
    def model_label(self) -> str:
        """The model's name and the version of its prompt, as far as they are known.

        It is empty for people.
        """
        return " · ".join(part for part in (self.model, self.prompt_version) if part)


class RaterKindVersion(models.Model):
    """An earlier kind of a rater, which applied until ``until``.

    Written once; it lets earlier results be reproduced. The current kind is the rater's own.
    """

    rater = models.ForeignKey(Rater, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=5, choices=Rater.Kind.choices)
    until = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["rater", "until"], name="kind_version_unique"),
            models.CheckConstraint(
                condition=Q(kind__in=["human", "model"]), name="kind_version_valid"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id}: {self.kind}"

    @classmethod
    def get_model_ids_at(cls, raters: Iterable[Rater], moment: datetime.datetime) -> set[int]:
        """Return the ids of the raters that were models at a moment."""
        current_kinds = {rater.pk: rater.kind for rater in raters}
        later_versions = cls.objects.filter(
            rater__in=list(current_kinds), until__gt=moment
        ).order_by("-until")
        kinds = current_kinds | dict(
            later_versions.values_list("rater_id", "kind")
        )  # the earliest change after the moment wins
        return {pk for pk, kind in kinds.items() if kind == Rater.Kind.MODEL}


class RaterIdentity(models.Model):
    """The true key and name of a rater, who has a pseudonym as long as this row exists.

    See projects.services.pseudonyms.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    rater = models.OneToOneField(Rater, models.CASCADE, related_name="identity")
    key = models.CharField(max_length=150)
    name = models.CharField(max_length=200, blank=True)

    class Meta:
        verbose_name_plural = "rater identities"
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="rater_identity_key_unique"),
            models.CheckConstraint(condition=~Q(key=""), name="rater_identity_key_not_empty"),
        ]

    def __str__(self) -> str:
        return f"rater {self.rater_id}"


# --- names that a page hides from its reader


@dataclass(frozen=True)
class HiddenNames:
    """Names shown instead of those of hidden raters, by rater id and by rater key."""

    by_id: Mapping[int, str]
    by_key: Mapping[str, str]


_NOTHING_HIDDEN = HiddenNames({}, {})
_current: ContextVar[HiddenNames] = ContextVar("hidden_names", default=_NOTHING_HIDDEN)


def get_shown_key(key: str) -> str:
    """Return the rater key as the current page shows it: replaced if the rater is hidden."""
    return _current.get().by_key.get(key, key)


def hide_name(rater: Any) -> None:
    """Replace key and name of a loaded rater where the current page hides them."""
    shown_key = _current.get().by_id.get(rater.pk)
    if shown_key is not None:
        for field, value in (("key", shown_key), ("name", "")):
            if field in rater.__dict__:  # not deferred
                rater.__dict__[field] = value


@contextmanager
def hide_names(rows: Mapping[int, str], *, seed: str) -> Iterator[None]:
    """Show person-NUMBER instead of the names of these raters inside the block.

    ``rows``: {rater id: key}. The numbers are in a random order that depends only on ``seed`` and
    the raters' ids.
    """

    def compute_order(rater_id: int) -> bytes:
        return hashlib.sha256(f"{seed}:{rater_id}".encode()).digest()

    width = len(str(len(rows)))
    by_id = {
        rater_id: f"person-{number:0{width}}"
        for number, rater_id in enumerate(sorted(rows, key=compute_order), start=1)
    }
    by_key = {key: by_id[rater_id] for rater_id, key in rows.items()}
    token = _current.set(HiddenNames(by_id, by_key))
    try:
        yield
    finally:
        _current.reset(token)
