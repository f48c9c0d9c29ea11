"""What waits for somebody in projects: cases that nobody has looked at yet, and what only whoever
leads decides (proposed warnings and pauses, raters without a try left, appeals)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, QuerySet, Value
from django.urls import reverse
from django.utils.translation import ngettext

from metrics.views.common import number_formats
from projects.models import Member, Question
from quality.models import (
    Alarm,
    Appeal,
    Escalation,
    GoldAct,
    ItemLabel,
    Source,
    State,
)
from quality.models.consensus import DOUBT
from ratings.models import Exam

CASES, ACTS, EXAMS, APPEALS = "alarms", "gold", "exams", "appeals"  # the pages' names
DISPUTED = "adjudicate"
LEAD = Member.Role.LEAD
DECIDE = (LEAD, Member.Role.ADJUDICATOR)


@dataclass(frozen=True)
class Wait:
    """So many of a kind in a project; ``question``, its key, where the page shows one at a time."""

    what: str
    number: int
    project_id: int
    question: str = ""

    @property
    def words(self) -> str:
        n = self.number
        forms = {
            CASES: ngettext("%(number)s open case", "%(number)s open cases", n),
            ACTS: ngettext(
                "%(number)s proposed warning or pause", "%(number)s proposed warnings or pauses", n
            ),
            EXAMS: ngettext(
                "%(number)s rater has no try of the exam left",
                "%(number)s raters have no try of the exam left",
                n,
            ),
            APPEALS: ngettext("%(number)s open appeal", "%(number)s open appeals", n),
            DISPUTED: ngettext("%(number)s item in doubt", "%(number)s items in doubt", n),
        }
        return forms[self.what] % {"number": number_formats.whole(n)}

    @property
    def url(self) -> str:
        page = reverse(self.what, args=[self.project_id])
        return f"{page}?question={self.question}" if self.question else page


def by_project(roles: Mapping[int, str]) -> dict[int, list[Wait]]:
    """Project -> what waits there for somebody of this role, where anything does; one query."""
    seen = list(roles)
    led = [project for project, role in roles.items() if role == LEAD]
    rows = _numbers(CASES, Alarm.objects.filter(state=State.OPEN), seen).union(
        _numbers(ACTS, GoldAct.objects.filter(state=GoldAct.State.PROPOSED), led, each=True),
        _numbers(EXAMS, _without_a_try(), led, each=True),
        _numbers(APPEALS, Appeal.objects.filter(state=Appeal.State.OPEN), led),
        all=True,
    )
    found: dict[int, list[Wait]] = {}
    for what, project, question, number in _in_order(rows):
        found.setdefault(project, []).append(Wait(what, number, project, question))
    return found


def by_question(project: Any, questions: Sequence[Question]) -> dict[int, list[Wait]]:
    """The same of each question of a project (with the reader's role) by itself, and to whoever
    decides the items that are worth a decision; one query."""
    seen, role = [project.pk], project.role
    led, decided = ([project.pk] if role in may else [] for may in ((LEAD,), DECIDE))
    rows = _numbers(CASES, Alarm.objects.filter(state=State.OPEN), seen, each=True).union(
        _numbers(ACTS, GoldAct.objects.filter(state=GoldAct.State.PROPOSED), led, each=True),
        _numbers(EXAMS, _without_a_try(), led, each=True),
        _numbers(APPEALS, Appeal.objects.filter(state=Appeal.State.OPEN), led, each=True),
        _numbers(DISPUTED, _doubtful(), decided, each=True),
        all=True,
    )
    ids = {question.key: question.pk for question in questions}
    found: dict[int, list[Wait]] = {}
    for what, _project, question, number in _in_order(rows):
        found.setdefault(ids[question], []).append(Wait(what, number, project.pk, question))
    return found


def _in_order(rows: Iterable[Any]) -> list[Any]:
    order = [CASES, ACTS, EXAMS, APPEALS, DISPUTED]
    return sorted(rows, key=lambda row: order.index(row[0]))


def _without_a_try() -> QuerySet[Exam]:
    """The last try of each rater who did not pass it, has none left and is not paused, where an
    exam is asked for. What a lead grants or waives comes after it, and so ends the waiting."""
    later = Exam.objects.filter(
        question=OuterRef("question"), rater=OuterRef("rater"), number__gt=OuterRef("number")
    )
    return Exam.objects.filter(
        ~Exists(later),
        state=Exam.State.FAILED,
        number__gte=F("question__exam_rules__tries"),
        question__exam_rules__required=True,
        rater__paused=False,
    )


def _doubtful() -> QuerySet[ItemLabel]:
    """Labels that are worth a decision for their doubt (adjudication.deciding.worth_deciding)."""
    asked = Escalation.objects.filter(
        question=OuterRef("question"), item=OuterRef("item"), state=Escalation.State.WAITING
    )
    found = ItemLabel.objects.filter(source=Source.CONSENSUS, n_ratings__gte=2, doubt__gt=DOUBT)
    return found.filter(~Exists(asked))


def _numbers(what: str, rows: QuerySet[Any], projects: list[int], *, each: bool = False) -> Any:
    """(what, project, question's key, number); ``each`` question by itself, or all together."""
    question = F("question__key") if each else Value("")
    chosen = rows.filter(question__project__in=projects).order_by()
    named = chosen.annotate(what=Value(what), at=question)
    return named.values_list("what", "question__project_id", "at").annotate(number=Count("pk"))
