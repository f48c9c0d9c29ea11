"""Row of a project in the list of projects, with the avatars of the people who rate in it."""

from __future__ import annotations

import datetime
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from django.db import models
from django.db.models import Count, F, Window
from django.db.models.functions import RowNumber
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.hooks import Hook
from core.text import get_initials
from metrics.results.question_agreement import QuestionAgreement
from metrics.results.stored_values import Value
from metrics.views.common.getting_started import SetupStep, count_done_steps
from metrics.views.common.number_formats import format_count
from metrics.views.common.question_rows import QuestionRow
from metrics.views.common.trends import recent_weeks
from projects.models import Project, Rater
from projects.models.roles import Capability, may
from ratings.annotation.rater_progress import RaterProject

MAX_AVATARS = 4  # of a project; the number of further people is shown
AVATAR_COLOURS = 6  # CSS classes .person--0 to .person--5


@dataclass(frozen=True)
class Avatar:
    """A person, shown as two letters; their colour depends on the name only."""

    name: str

    @property
    def letters(self) -> str:
        return get_initials(self.name)

    @property
    def colour(self) -> int:
        return zlib.crc32(self.name.encode()) % AVATAR_COLOURS


@dataclass(frozen=True)
class AvatarGroup:
    """Avatars of the first people who rate in a project, and the number of all of them."""

    avatars: list[Avatar] = field(default_factory=list)
    n_people: int = 0

    @property
    def n_more(self) -> int:
        return self.n_people - len(self.avatars)


def get_avatars(projects: Sequence[Project]) -> dict[int, AvatarGroup]:
    """Return {project id: avatars of the people who rate in it}; one query."""
    raters = Rater.objects.filter(project__in=projects, kind=Rater.Kind.HUMAN)
    position = Window(RowNumber(), partition_by=F("project"), order_by="key")
    number = Window(Count("pk"), partition_by=F("project"))
    first = raters.annotate(position=position, number=number).filter(position__lte=MAX_AVATARS)
    avatar_groups: dict[int, AvatarGroup] = {}
    for project, name, key, n in first.order_by("project", "key").values_list(
        "project", "name", "key", "number"
    ):
        avatar_groups.setdefault(project, AvatarGroup(n_people=n)).avatars.append(
            Avatar(name or key)
        )
    return avatar_groups


class ProjectGroup(models.TextChoices):
    """Groups of projects in the list; each project is in one of them."""

    ATTENTION = "attention", gettext_lazy("Needs attention")
    RUNNING = "running", gettext_lazy("In progress")
    FINISHED = "finished", gettext_lazy("Complete")
    EXAMPLES = "examples", gettext_lazy("Examples")
    ARCHIVED = "archived", gettext_lazy("Archived")


class TopEntry(Protocol):
    """The inbox entry with the largest impact in a project; ``n_more``: number of the others."""

    @property
    def text(self) -> str: ...

    @property
    def url(self) -> str: ...

    @property
    def n_more(self) -> int: ...


class ProjectInbox(Protocol):
    """Interface of a user's inbox by project, which quality.inbox.inbox_entries implements."""

    def rank_projects(self, limit: int) -> dict[int, float]:
        """Return {project id: impact} of projects with entries, the largest impact first."""
        ...

    def count_projects(self) -> int: ...

    def get_top_entries(self, project_ids: Collection[int]) -> Mapping[int, TopEntry]:
        """Return {project id: its top entry} of projects that ``rank_projects`` returned."""
        ...


# Creates the inbox of a user, once a package above has registered it at startup.
PROJECT_INBOX: Hook[Callable[[Any], ProjectInbox]] = Hook("inbox_of_projects")


@dataclass
class ProjectRow:
    """A project in the list.

    ``shown_question_id``: the question whose results the row shows; None without questions, and for
    users who don't see results. ``n_complete_items``: number of the question's items that have the
    project's overlap of ratings, or more. ``n_items`` and ``uncounted`` of rows without complete
    items are loaded for the shown page only. ``rating_counts``: {question id: counted ratings}.
    """

    project: Project
    role: str
    is_being_deleted: bool = False  # being deleted: only the name is shown
    starred: bool | None = None  # None: the user is not a member and cannot star
    shown_question_id: int | None = None
    questions: list[QuestionRow] = field(default_factory=list)  # of the rows of the shown page
    shown_question: QuestionRow | None = None
    n_complete_items: int = 0
    rating_counts: Mapping[int, int] = field(default_factory=dict)
    n_items: int = 0
    attention: list[str | SafeString] = field(default_factory=list)
    uncounted: int = 0
    impact: float | None = None  # of the top entry of the inbox; None without any
    top_entry: TopEntry | None = None  # of the rows of the shown page
    steps: list[SetupStep] = field(default_factory=list)  # of a new project
    people: AvatarGroup = field(default_factory=AvatarGroup)
    last_rated: datetime.datetime | None = None
    annotator_state: RaterProject | None = None  # an annotator's own work in the project

    @property
    def group(self) -> ProjectGroup:
        """Group of the project, by its kind, its inbox entries and its progress."""
        if self.project.archived_at is not None:
            return ProjectGroup.ARCHIVED
        if self.project.is_example:
            return ProjectGroup.EXAMPLES
        if self.impact is not None:
            return ProjectGroup.ATTENTION
        is_done = self.has_complete_items_only and not self.uncounted
        return ProjectGroup.FINISHED if is_done else ProjectGroup.RUNNING

    @property
    def has_complete_items_only(self) -> bool:
        """True if the project has items, and each has at least the overlap of ratings."""
        return 0 < self.n_items <= self.n_complete_items

    @property
    def is_single(self) -> bool:
        """True if all rated items have one rating, so that nothing can be compared."""
        if self.agreement is None:
            return False
        details = self.agreement.details
        return bool(details.get("rated")) and not details["with_two_or_more"]

    @cached_property
    def url(self) -> str:
        """URL of the project's dashboard."""
        return reverse("dashboard", args=[self.project.pk])

    @property
    def progress_id(self) -> str:
        return f"progress-{self.project.pk}"

    @property
    def progress_text(self) -> str:
        """Sentence on the items that have the project's overlap of ratings, or more."""
        return _("%(complete)s of %(total)s items have at least %(overlap)s ratings") % {
            "complete": format_count(self.n_complete_items),
            "total": format_count(self.n_items),
            "overlap": self.project.overlap,
        }

    @property
    def setup_text(self) -> str:
        """Number of the setup steps that are done, and of all of them."""
        n_done = count_done_steps(self.steps)
        return _("Setup: %(done)s of %(all)s") % {"done": n_done, "all": len(self.steps)}

    @cached_property
    def sees_results(self) -> bool:
        return may(self.role, Capability.SEE_RESULTS)

    @property
    def is_lead(self) -> bool:
        return may(self.role, Capability.MANAGE)

    @property
    def agreement(self) -> QuestionAgreement | None:
        return self.shown_question.agreement if self.shown_question else None

    @property
    def weekly_trend(self) -> recent_weeks.RecentWeeks | None:
        return self.shown_question.weekly_trend if self.shown_question else None

    @property
    def headline(self) -> Value | None:
        return self.shown_question.headline if self.shown_question else None

    @property
    def unweighted(self) -> Value | None:
        return self.shown_question.unweighted if self.shown_question else None

    @property
    def name(self) -> str:
        """Name of the headline coefficient; empty if there is none."""
        return self.shown_question.name if self.shown_question else ""

    @property
    def is_band_withheld(self) -> bool:
        """True if the findings forbid naming a band for the shown value."""
        return self.shown_question is not None and self.shown_question.is_band_withheld

    @property
    def n_ratings(self) -> int:
        """Number of counted ratings of all questions."""
        return sum(self.rating_counts.values())

    @property
    def has_band_mismatch(self) -> bool:
        return any(question.has_band_mismatch for question in self.questions)
