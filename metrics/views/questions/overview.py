"""All questions of a project side by side: what its address shows where there are several and it
names none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse

from core.web import tables
from metrics.views.common import getting_started, live_updates, question_rows
from metrics.views.common.freshness import SeveralFreshness
from metrics.views.common.live_updates import Live
from projects.models import Member, Question

TITLE = "questions-title"  # of the table, by which its file is asked for
PLACES = "questions"  # what the page has a place for begins so
LIVE = Live(seconds=2, summary=True, fragments=("questions", "getting-started"))


def is_asked(request: HttpRequest) -> bool:
    """Whether the address says nothing but the project. Whatever it says more is of the dashboard
    of one question; so is one that was opened when there was one, and now asks what is new."""
    if live_updates.asks(request) and not request.headers.get("X-Places", "").startswith(PLACES):
        return False
    return request.GET.dict() in ({}, {tables.PARAMETER: TITLE})


def page(
    request: HttpRequest, project: Any, questions: Sequence[Question], *, heading: str = ""
) -> HttpResponse:
    """``heading``: what the page is called where it is not the first of the project."""
    fresh = SeveralFreshness.of(questions)
    unchanged = live_updates.unchanged(request, project, fresh, LIVE)
    if unchanged is not None:
        return unchanged
    numbers = {pk: state.ratings for pk, state in fresh.states.items()}
    rows = question_rows.of_project(project, questions, numbers)
    furthest = max((row.reading for row in rows), key=getting_started.n_double)
    steps = getting_started.steps(project, furthest)
    context = {
        "project": project,
        "heading": heading,
        "rows": rows,
        "title": TITLE,
        "loose": any(row.loose for row in rows),
        "steps": steps,
        "may_add": project.role == Member.Role.LEAD and not project.archived_at,
        "fresh": fresh,
        "live": LIVE,
        "places": f"{PLACES}{'-first' if steps else ''}",
    }
    return live_updates.answer(request, "metrics/questions/overview.html", context)
