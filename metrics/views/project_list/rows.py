"""What the list tells of one project."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any

from django.db import models
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from metrics.models import Reading
from metrics.views.common.getting_started import Step
from metrics.views.common.question_rows import QuestionRow, Wait
from metrics.views.common.trends import recent_weeks
from projects.models import Member, Project
from ratings.annotation.progress.project_states import OwnProject

from .avatars import People


class Group(models.TextChoices):
    ATTENTION = "attention", gettext_lazy("needs attention")
    RUNNING = "running", gettext_lazy("running")
    FINISHED = "finished", gettext_lazy("finished")
    ARCHIVED = "archived", gettext_lazy("archived")


@dataclass
class Row:
    project: Project
    role: str
    going: bool = False  # it is being deleted: nothing is told of it
    starred: bool | None = None  # None: the user is no member, and has no star to give
    questions: list[QuestionRow] = field(default_factory=list)
    shown: QuestionRow | None = None  # the question whose numbers stand in the project's own line
    n_items: int = 0
    attention: list[str | SafeString] = field(default_factory=list)
    apart: bool = False  # some raters agree less than all do
    uncounted: int = 0
    waits: list[Wait] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)  # that a new project still needs
    people: People = field(default_factory=People)
    last_rated: datetime.datetime | None = None
    own: OwnProject | None = None  # what waits there for who only rates

    @property
    def group(self) -> Group:
        """What is to be done with the project."""
        if self.project.archived_at is not None:
            return Group.ARCHIVED
        if self.waits or self.apart or self.is_single:
            return Group.ATTENTION
        done = self.n_items and self.enough >= self.n_items and not self.uncounted
        return Group.FINISHED if done else Group.RUNNING

    @property
    def is_single(self) -> bool:
        """Whether all items that were rated have one rating: nothing can be compared."""
        details = self.reading.details if self.reading else {}
        return bool(details.get("rated")) and not details["with_two_or_more"]

    @property
    def sees_results(self) -> bool:
        return self.role != Member.Role.ANNOTATOR

    @property
    def leads(self) -> bool:
        return self.role == Member.Role.LEAD

    @property
    def reading(self) -> Reading | None:
        return self.shown.reading if self.shown else None

    @property
    def course(self) -> recent_weeks.Lately | None:
        return self.shown.course if self.shown else None

    @property
    def headline(self) -> dict[str, Any] | None:
        return self.shown.headline if self.shown else None

    @property
    def name(self) -> str:
        """Of the coefficient that is read first."""
        return self.shown.name if self.shown else ""

    @property
    def loose(self) -> bool:
        return any(one.loose for one in self.questions)

    @property
    def n_ratings(self) -> int:
        """Of all questions."""
        return sum(one.n_ratings for one in self.questions)

    @property
    def enough(self) -> int:
        """Items with at least as many ratings as the project wants."""
        return self.shown.enough if self.shown else 0
