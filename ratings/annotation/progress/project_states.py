"""What waits for an annotator in each of their projects, in a fixed number of queries for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.db import bulk
from projects.models import Project, Rater
from ratings.models import Exam, ExamRules
from ratings.services import exam_gate

from . import remaining


@dataclass(frozen=True, slots=True)
class OwnProject:
    """``state``: new (not begun), archived, paused, exam (to begin, or between tries), in_exam,
    exam_over (no try is left), ready, taken (others hold or have all the rest), or done (by the
    rater's own doing). ``left``: up to so many items, where it is ready."""

    project: Project
    state: str
    left: int = 0


def of(user: Any, projects: Sequence[Project]) -> dict[int, OwnProject]:
    """Project -> what waits for the user there."""
    if not projects:
        return {}
    raters = {
        rater.project_id: rater
        for rater in Rater.objects.filter(user=user, project__in=list(projects))
    }
    for project in projects:
        if project.pk in raters:
            raters[project.pk].project = project
    found = {
        project.pk: OwnProject(project, state)
        for project in projects
        if (state := _at_rest(project, raters.get(project.pk)))
    }
    found |= _examined([rater for pk, rater in raters.items() if pk not in found])
    ready = [rater for pk, rater in raters.items() if pk not in found]
    number = remaining.of_raters(ready)
    done = remaining.done_by(user, [rater.project for rater in ready]) if ready else set()
    for rater in ready:
        state = "ready" if number[rater.pk] else "done" if rater.project_id in done else "taken"
        found[rater.project_id] = OwnProject(rater.project, state, number[rater.pk])
    return found


def _at_rest(project: Project, rater: Rater | None) -> str:
    if project.archived_at is not None:
        return "archived"
    if rater is None:
        return "new"
    return "paused" if rater.paused else ""


def _examined(raters: Sequence[Rater]) -> dict[int, OwnProject]:
    """Those with an exam to pass first."""
    if not raters:
        return {}
    [rows] = bulk.several([exam_gate.asking_of_each([rater.pk for rater in raters])])
    due = {rater_id: question_id for rater_id, question_id in rows if question_id is not None}
    if not due:
        return {}
    tries = dict(ExamRules.objects.filter(pk__in=due.values()).values_list("pk", "tries"))
    exams = Exam.objects.filter(rater__in=due, question__in=due.values())
    had: Counter[int] = Counter()
    going = set()
    for rater_id, question_id, state in exams.values_list("rater", "question", "state"):
        if due[rater_id] == question_id:
            had[rater_id] += 1
            if state == Exam.State.OPEN:
                going.add(rater_id)
    found = {}
    for rater in raters:
        if rater.pk not in due:
            continue
        over = had[rater.pk] >= tries[due[rater.pk]]
        state = "in_exam" if rater.pk in going else "exam_over" if over else "exam"
        found[rater.project_id] = OwnProject(rater.project, state)
    return found
