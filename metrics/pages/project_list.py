"""The list of projects: one row a project, read in a fixed number of queries for all of them, so
that the list can be searched, sorted, and told by what is to be done."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.db import models
from django.db.models import Count
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from metrics.agreement import bands
from metrics.models import Reading, Span
from projects.catalogue.sizes import n_items_by_project
from projects.models import Member, Project, Question, Rater
from ratings.recording import waiting

from . import sparks
from .figures import whole
from .findings import apart_sentences, raters_apart
from .getting_started import Step, starts, steps_of
from .question_rows import Wait

PROJECTS_A_PAGE = 50
MOST = 500  # projects in a list: the newest
LONGEST_SEARCH = 200


# What finds what waits: project -> the reader's role there, to project -> what waits. A higher room
# adds its own when the site starts.
WAITS: list[Callable[[Mapping[int, str]], Mapping[int, Sequence[Wait]]]] = []


class Group(models.TextChoices):
    ATTENTION = "attention", gettext_lazy("needs attention")
    RUNNING = "running", gettext_lazy("running")
    FINISHED = "finished", gettext_lazy("finished")
    ARCHIVED = "archived", gettext_lazy("archived")


@dataclass
class Row:
    project: Project
    role: str
    question: Question | None = None
    starred: bool | None = None  # None: the user is no member, and has no star to give
    n_questions: int = 0
    n_items: int = 0
    reading: Reading | None = None
    course: sparks.Lately | None = None
    attention: list[str | SafeString] = field(default_factory=list)
    apart: bool = False  # some raters agree less than all do
    uncounted: int = 0
    waits: list[Wait] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)  # that a new project still needs

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
    def headline(self) -> dict[str, Any] | None:
        return self.reading.headline.get("value") if self.reading else None

    @property
    def loose(self) -> bool:
        """Whether the project's words for values were made for another coefficient."""
        told = bool(self.name) and self.name != "percent_agreement"
        return told and not bands.fits(self.name, self.project.band_scheme)

    @property
    def drawn(self) -> bool:
        """Whether it rests on what was drawn at random alone (metrics.readings.drawn)."""
        return self.reading is not None and "drawn" in self.reading.headline

    @property
    def name(self) -> str:
        """Of the coefficient that is read first."""
        return self.reading.headline.get("name", "") if self.reading else ""

    @property
    def n_ratings(self) -> int:
        return _n_ratings(self.reading)

    @property
    def enough(self) -> int:
        """Items with at least as many ratings as the project wants."""
        numbers = (self.reading.details if self.reading else {}).get("by_ratings", {})
        return sum(
            items for number, items in numbers.items() if int(number) >= self.project.overlap
        )


def rows(projects: list[Project], user: Any) -> list[Row]:
    """The rows of these projects, in their order."""
    mine = Member.objects.filter(user=user, project__in=projects)
    stars, roles = {}, {}
    for project, role, starred in mine.values_list("project_id", "role", "starred"):
        roles[project], stars[project] = role, starred
    if user.is_superuser:
        roles = {project.pk: Member.Role.LEAD for project in projects}
    found = [
        Row(project, roles.get(project.pk, ""), starred=stars.get(project.pk))
        for project in projects
    ]
    all_questions = list(Question.objects.filter(project__in=projects))
    ids = [question.pk for question in all_questions]
    n_items = n_items_by_project(projects)
    stored = Reading.objects.filter(question__in=ids, span=Span.ALL)
    stored = stored.defer("cumulative", "people_cumulative")
    readings = {row.question_id: row for row in stored}
    questions = _shown(all_questions, readings)
    uncounted = _uncounted(ids)
    of_shown = {one.pk for one in questions.values()} & readings.keys()
    apart = raters_apart({pk: readings[pk] for pk in of_shown})
    seen = {row.project.pk: row.role for row in found if row.sees_results}
    waiting_there = [find(seen) for find in WAITS]
    numbers = Counter(question.project_id for question in all_questions)
    for row in found:
        row.question = questions.get(row.project.pk)
        row.n_questions = numbers[row.project.pk]
        row.n_items = n_items[row.project.pk]
        if row.question is not None and row.sees_results:
            row.reading = readings.get(row.question.pk)
            row.uncounted = uncounted.get(row.project.pk, 0)
            row.waits = [wait for one in waiting_there for wait in one.get(row.project.pk, ())]
            row.apart = row.question.pk in apart
            row.attention = _attention(row, row.question, apart.get(row.question.pk, []))
    _take_steps(found)
    return found


def _take_steps(found: list[Row]) -> None:
    """What new projects still need, for who leads them."""
    new = [row for row in found if row.question and starts(row.project, row.role, row.reading)]
    if not new:
        return
    raters = Rater.objects.filter(project__in=[row.project for row in new])
    numbers = dict(raters.values_list("project").annotate(Count("pk")).order_by())
    for row in new:
        n_raters = numbers.get(row.project.pk, 0)
        row.steps = steps_of(row.project, row.reading, n_items=row.n_items, n_raters=n_raters)


def _shown(questions: list[Question], readings: Mapping[int, Reading]) -> dict[int, Question]:
    """Project -> its first question that has ratings, or its first."""
    found: dict[int, Question] = {}
    for question in questions:
        stood = found.setdefault(question.project_id, question)
        if not _n_ratings(readings.get(stood.pk)) and _n_ratings(readings.get(question.pk)):
            found[question.project_id] = question
    return found


def _n_ratings(reading: Reading | None) -> int:
    categories = reading.details.get("categories", ()) if reading else ()
    return sum(category["ratings"] for category in categories)


def draw(shown: list[Row]) -> None:
    """Give the rows of a page their sparklines."""
    courses = sparks.lately([row.reading for row in shown if row.reading])
    for row in shown:
        row.course = courses.get(row.question.pk) if row.question else None


@dataclass(frozen=True)
class Listed:
    """The part of the list that an address asks for: rows, and how many are in each group."""

    rows: list[Row]
    groups: list[tuple[Group, int]]
    search: str
    sort: str
    group: str


def listed(user: Any, *, search: str, sort: str, group: str) -> Listed:
    """The newest projects of the user whose names hold ``search``, of one group or, where that is
    empty, all that are not archived."""
    visible = Project.objects.visible_to(user).order_by("-id")
    if search:
        visible = visible.filter(name__icontains=search)
    archived = group == Group.ARCHIVED
    chosen = visible.filter(archived_at__isnull=not archived)
    found = rows(list(chosen[:MOST]), user)
    others = visible.filter(archived_at__isnull=archived).count()
    numbers = Counter(row.group for row in found)
    if archived:
        return Listed(_sorted(found, sort), [(Group.ARCHIVED, len(found))], search, sort, group)
    numbers[Group.ARCHIVED] = others
    groups = [(one, numbers[one]) for one in Group if numbers[one]]
    mine = [row for row in found if not group or row.group == group]
    return Listed(_sorted(mine, sort), groups, search, sort, group)


def _lowest(row: Row) -> float:
    value = (row.headline or {}).get("value")
    return math.inf if value is None else value


SORTS: dict[str, tuple[str | Promise, Callable[[Row], Any]]] = {
    "newest": (gettext_lazy("newest first"), lambda row: -row.project.pk),
    "name": (gettext_lazy("by name"), lambda row: row.project.name.casefold()),
    "agreement": (gettext_lazy("lowest agreement first"), _lowest),
    "progress": (
        gettext_lazy("least progress first"),
        lambda row: row.enough / row.n_items if row.n_items else 0,
    ),
}


def _sorted(found: list[Row], sort: str) -> list[Row]:
    """Those with a star first, whatever the order."""
    key = SORTS[sort][1]
    return sorted(found, key=lambda row: (not row.starred, key(row)))


def _uncounted(questions: list[int]) -> dict[int, int]:
    """Project -> how many ratings of these questions are uncounted."""
    rows = waiting.ratings(questions).order_by().values_list("question__project_id")
    return dict(rows.annotate(Count("id")))


def _attention(row: Row, question: Question, apart: list[str]) -> list[str | SafeString]:
    """What a lead should look at, the most pressing first; what is named leads to its page."""
    said: list[str | SafeString] = []
    uncounted = row.uncounted
    query = urlencode({"question": question.key})
    if not row.n_items:
        said.append(_link(reverse("data", args=[row.project.pk]), _("No items yet: import them.")))
    elif not row.n_ratings and not uncounted:
        said.append(_("No ratings yet."))
    if row.is_single:
        said.append(_("No item has two ratings, so nothing can be compared."))
    if uncounted:
        said.append(
            ngettext(
                "%(n)s rating is not counted yet.", "%(n)s ratings are not counted yet.", uncounted
            )
            % {"n": uncounted}
        )
    said += apart_sentences(apart, row.project.pk, query)
    short = row.n_items - row.enough
    if row.n_ratings and short > 0:
        words = ngettext(
            "%(n)s item has fewer than %(overlap)s ratings.",
            "%(n)s items have fewer than %(overlap)s ratings.",
            short,
        ) % {"n": whole(short), "overlap": row.project.overlap}
        missing = f"{reverse('dashboard', args=[row.project.pk])}?{query}#missing"
        said.append(_link(missing, words))
    return said


def _link(url: str, words: str) -> SafeString:
    return format_html('<a href="{}">{}</a>', url, words)
