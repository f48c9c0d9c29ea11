"""Page of all questions of a project, which the dashboard shows too where there are several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.web import tables
from metrics.views.common import getting_started, live_updates, question_rows
from metrics.views.common.live_updates import LiveSettings, MultiQuestionFreshness
from projects.models import Member, Question
from projects.permissions import get_project

TITLE = "questions-title"  # id of the table's heading, which names its CSV file in the URL
FRAGMENT_KEY_PREFIX = "questions"  # prefix of the key of the page's fragments (live_updates)
LIVE = LiveSettings(seconds=2, summary=True, fragments=("questions", "getting-started"))


@login_required
@require_safe
def show_questions(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show all questions of a project side by side."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    project_questions = list(project.questions.all())
    if not project_questions:
        return render(request, "metrics/common/no_question.html", {"project": project})
    return render_overview(request, project, project_questions, heading=_("Questions"))


def is_overview_requested(request: HttpRequest) -> bool:
    """Return whether the request is for the overview: the URL names nothing besides the project.

    Any other parameter belongs to the dashboard of a question. False also for the poll of a
    dashboard that was opened when the project had only one question.
    """
    if live_updates.is_live_request(request) and not request.headers.get(
        "X-Fragments", ""
    ).startswith(FRAGMENT_KEY_PREFIX):
        return False
    return request.GET.dict() in ({}, {tables.PARAMETER: TITLE})


def render_overview(
    request: HttpRequest, project: Any, questions: Sequence[Question], *, heading: str = ""
) -> HttpResponse:
    """Render the page that lists a project's questions with their agreement.

    ``heading``: title of the page if it is not the project's main page.
    """
    fresh = MultiQuestionFreshness.for_questions(questions)
    unchanged = live_updates.get_unchanged_response(request, project, fresh, LIVE)
    if unchanged is not None:
        return unchanged
    n_ratings = {pk: state.ratings for pk, state in fresh.states.items()}
    rows = question_rows.build_project_rows(project, questions, n_ratings)
    most_advanced = max((row.agreement for row in rows), key=getting_started.count_double_rated)
    steps = getting_started.list_steps(project, most_advanced)
    context = {
        "project": project,
        "heading": heading,
        "rows": rows,
        "title": TITLE,
        "loose": any(row.has_band_mismatch for row in rows),
        "steps": steps,
        "may_add": project.can_manage and not project.archived_at,
        "fresh": fresh,
        "live": LIVE,
        "fragment_key": f"{FRAGMENT_KEY_PREFIX}{'-first' if steps else ''}",
    }
    return live_updates.render_live_page(request, "metrics/questions/overview.html", context)
