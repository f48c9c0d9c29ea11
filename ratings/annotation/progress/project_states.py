"""State of each of an annotator's projects, in a fixed number of queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from projects.models import Project, Rater
from ratings.models import Exam, ExamRules
from ratings.services import exam_gate

from . import remaining


@dataclass(frozen=True, slots=True)
class RaterProject:
    """A project from the view of one of its raters.

    ``state``: new (not started), archived, paused, exam (to start, or between attempts), in_exam,
    exam_over (no attempt left), ready, taken (other raters hold or have all remaining items), or
    done (the rater has handled every item). ``remaining``: maximum number of items, where it is
    ready.
    """

    project: Project
    state: str
    remaining: int = 0


def get_rater_projects(user: Any, projects: Sequence[Project]) -> dict[int, RaterProject]:
    """Return project id -> the project's state for the user."""
    if not projects:
        return {}
    raters = {
        rater.project_id: rater
        for rater in Rater.objects.filter(user=user, project__in=list(projects))
    }
    for project in projects:
        if project.pk in raters:
            raters[project.pk].project = project
    rater_projects = {
        project.pk: RaterProject(project, state)
        for project in projects
        if (state := _get_inactive_state(project, raters.get(project.pk)))
    }
    rater_projects |= _get_exam_states(
        [rater for project_id, rater in raters.items() if project_id not in rater_projects]
    )
    ready = [rater for project_id, rater in raters.items() if project_id not in rater_projects]
    remaining_by_rater = remaining.count_remaining_by_rater(ready)
    finished_ids = (
        remaining.get_finished_project_ids(user, [rater.project for rater in ready])
        if ready
        else set()
    )
    for rater in ready:
        state = (
            "ready"
            if remaining_by_rater[rater.pk]
            else "done"
            if rater.project_id in finished_ids
            else "taken"
        )
        rater_projects[rater.project_id] = RaterProject(
            rater.project, state, remaining_by_rater[rater.pk]
        )
    return rater_projects


def _get_inactive_state(project: Project, rater: Rater | None) -> str:
    """Return archived, new or paused; empty if the rater can work."""
    if project.archived_at is not None:
        return "archived"
    if rater is None:
        return "new"
    return "paused" if rater.paused else ""


def _get_exam_states(raters: Sequence[Rater]) -> dict[int, RaterProject]:
    """Return project id -> state of the projects in which the rater has an exam to pass first."""
    if not raters:
        return {}
    due_question_ids = exam_gate.get_due_question_ids_by_rater([rater.pk for rater in raters])
    if not due_question_ids:
        return {}
    max_attempts = dict(
        ExamRules.objects.filter(pk__in=due_question_ids.values()).values_list("pk", "max_attempts")
    )
    exams = Exam.objects.filter(rater__in=due_question_ids, question__in=due_question_ids.values())
    n_attempts: Counter[int] = Counter()
    in_exam_ids = set()
    for rater_id, question_id, state in exams.values_list("rater", "question", "state"):
        if due_question_ids[rater_id] == question_id:
            n_attempts[rater_id] += 1
            if state == Exam.State.OPEN:
                in_exam_ids.add(rater_id)
    rater_projects = {}
    for rater in raters:
        if rater.pk not in due_question_ids:
            continue
        has_no_attempt_left = n_attempts[rater.pk] >= max_attempts[due_question_ids[rater.pk]]
        state = (
            "in_exam" if rater.pk in in_exam_ids else "exam_over" if has_no_attempt_left else "exam"
        )
        rater_projects[rater.project_id] = RaterProject(rater.project, state)
    return rater_projects
