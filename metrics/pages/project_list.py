"""The list of projects: one row a project, read in a fixed number of queries for the whole page."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Max, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.agreement import bands
from metrics.models import Reading, Span
from projects.catalogue.sizes import n_items_by_project
from projects.models import Member, Project, Question
from ratings.recording import waiting

from .findings import apart_sentences, raters_apart

PROJECTS_A_PAGE = 50
SPARK_DAYS = 30


@dataclass
class Row:
    project: Project
    role: str
    question: Question | None = None
    n_items: int = 0
    reading: Reading | None = None
    spark: list[float | None] = field(default_factory=list)
    attention: list[str] = field(default_factory=list)

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
    def name(self) -> str:
        """Of the coefficient that is read first."""
        return self.reading.headline.get("name", "") if self.reading else ""

    @property
    def n_ratings(self) -> int:
        categories = (self.reading.details if self.reading else {}).get("categories", ())
        return sum(category["ratings"] for category in categories)

    @property
    def enough(self) -> int:
        """Items with at least as many ratings as the project wants."""
        numbers = (self.reading.details if self.reading else {}).get("by_ratings", {})
        return sum(
            items for number, items in numbers.items() if int(number) >= self.project.overlap
        )


def rows(projects: list[Project], user: Any) -> list[Row]:
    """The rows of these projects, in their order."""
    roles = dict(
        Member.objects.filter(user=user, project__in=projects).values_list("project_id", "role")
    )
    if user.is_superuser:
        roles = {project.pk: Member.Role.LEAD for project in projects}
    found = [Row(project, roles.get(project.pk, "")) for project in projects]
    questions: dict[int, Question] = {}
    all_questions = list(Question.objects.filter(project__in=projects))
    for question in all_questions:
        questions.setdefault(question.project_id, question)
    n_items = n_items_by_project(projects)
    ids = [question.pk for question in questions.values()]
    readings = {
        row.question_id: row for row in Reading.objects.filter(question__in=ids, span=Span.ALL)
    }
    lines = _sparks(ids)
    uncounted = _uncounted([question.pk for question in all_questions])
    apart = raters_apart(readings)
    for row in found:
        row.question = questions.get(row.project.pk)
        row.n_items = n_items[row.project.pk]
        if row.question is not None and row.sees_results:
            row.reading = readings.get(row.question.pk)
            row.spark = lines.get(row.question.pk, [])
            row.attention = _attention(
                row, uncounted.get(row.project.pk, 0), apart.get(row.question.pk, [])
            )
    return found


def _sparks(questions: list[int]) -> dict[int, list[float | None]]:
    """Question -> what is read first on the days among the 30 up to its newest."""
    daily = Reading.objects.filter(question__in=questions, span=Span.DAY).order_by()
    recent = Q(pk__in=[])
    for question, newest in daily.values_list("question_id").annotate(Max("start")):
        recent |= Q(question_id=question, start__gt=newest - datetime.timedelta(days=SPARK_DAYS))
    found: dict[int, list[float | None]] = {}
    values = daily.filter(recent).order_by("question_id", "start")
    for question, value in values.values_list("question_id", "headline__value"):
        found.setdefault(question, []).append(value)
    return found


def _uncounted(questions: list[int]) -> dict[int, int]:
    """Project -> how many ratings of these questions are uncounted."""
    rows = waiting.ratings(questions).order_by().values_list("question__project_id")
    return dict(rows.annotate(Count("id")))


def _attention(row: Row, uncounted: int, apart: list[str]) -> list[str]:
    """What a lead should look at, the most pressing first."""
    said = []
    if not row.n_items:
        said.append(_("No items yet: import them."))
    elif not row.n_ratings and not uncounted:
        said.append(_("No ratings yet."))
    if uncounted:
        said.append(
            ngettext(
                "%(n)s rating is not counted yet.", "%(n)s ratings are not counted yet.", uncounted
            )
            % {"n": uncounted}
        )
    said += apart_sentences(apart)
    short = row.n_items - row.enough
    if row.n_ratings and short > 0:
        said.append(
            ngettext("%(n)s item has fewer than %(overlap)s ratings.",
                     "%(n)s items have fewer than %(overlap)s ratings.", short)
            % {"n": short, "overlap": row.project.overlap}
        )  # fmt: skip
    return said
