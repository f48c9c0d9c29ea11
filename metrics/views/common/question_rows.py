"""What is read first of questions, one row each: all of a project side by side, or those of many
projects beneath each other. Read from what is stored, in a number of queries that does not grow
with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.safestring import SafeString

from metrics.agreement.explain import bands
from metrics.models import CountState, Diagnosis, Reading, Span
from projects.models import Project, Question

from .confused_categories import Confusion, told
from .insights import apart_sentences, raters_apart
from .trends import recent_weeks


class Wait(Protocol):
    """What waits for somebody: said in words, and the page where it is dealt with."""

    @property
    def words(self) -> str: ...

    @property
    def url(self) -> str: ...


# What finds what waits for somebody of the reader's role (``project.role``) in these questions of a
# project: question -> what waits there. A higher room adds its own when the site starts.
WAITS: list[Callable[[Any, Sequence[Question]], Mapping[int, Sequence[Wait]]]] = []


@dataclass
class QuestionRow:
    project: Project
    question: Question
    reading: Reading | None
    n_ratings: int = 0
    course: recent_weeks.Lately | None = None
    confused: Confusion | None = None
    attention: list[SafeString] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)

    @property
    def headline(self) -> dict[str, Any] | None:
        return self.reading.headline.get("value") if self.reading else None

    @property
    def drawn(self) -> bool:
        """Whether it rests on what was drawn at random alone (metrics.results.headline.random_sample)."""
        return self.reading is not None and "drawn" in self.reading.headline

    @property
    def name(self) -> str:
        """Of the coefficient that is read first."""
        return self.reading.headline.get("name", "") if self.reading else ""

    @property
    def enough(self) -> int:
        """Items with at least as many ratings as the project wants."""
        numbers = (self.reading.details if self.reading else {}).get("by_ratings", {})
        return sum(
            items for number, items in numbers.items() if int(number) >= self.project.overlap
        )

    @property
    def loose(self) -> bool:
        """Whether the project's words for values were made for another coefficient."""
        told = bool(self.name) and self.name != "percent_agreement"
        return told and not bands.fits(self.name, self.project.band_scheme)

    @property
    def url(self) -> str:
        """Its dashboard."""
        query = urlencode({"question": self.question.key})
        return f"{reverse('dashboard', args=[self.project.pk])}?{query}"


def read(questions: Sequence[Question]) -> dict[int, Reading]:
    """Question -> its reading of the whole time."""
    stored = Reading.objects.filter(question__in=questions, span=Span.ALL)
    return {row.question_id: row for row in stored.defer("cumulative", "people_cumulative")}


def numbers_of_ratings(questions: Sequence[Question]) -> dict[int, int]:
    """Question -> how many of its ratings are counted."""
    rows = CountState.objects.filter(question__in=questions)
    return dict(rows.values_list("question_id", "ratings"))


def of_project(
    project: Any, questions: Sequence[Question], numbers: Mapping[int, int]
) -> list[QuestionRow]:
    """All questions of a project, whose categories are at hand, as are their numbers of ratings."""
    readings = read(questions)
    courses, apart = recent_weeks.lately(readings.values()), raters_apart(readings)
    confused, waiting = _confused(questions), [find(project, questions) for find in WAITS]
    return [
        QuestionRow(
            project,
            question,
            readings.get(question.pk),
            numbers.get(question.pk, 0),
            courses.get(question.pk),
            confused.get(question.pk),
            apart_sentences(
                apart.get(question.pk, []), project.pk, urlencode({"question": question.key})
            ),
            [wait for one in waiting for wait in one.get(question.pk, ())],
        )
        for question in questions
    ]


def _confused(questions: Sequence[Question]) -> dict[int, Confusion]:
    """Question -> what is confused most."""
    stored = Diagnosis.objects.filter(question__in=questions)
    found = dict(stored.values_list("question_id", "confusions"))
    first = {one.pk: told(one, found.get(one.pk, ())[:1]) for one in questions}
    return {pk: said[0] for pk, said in first.items() if said}
