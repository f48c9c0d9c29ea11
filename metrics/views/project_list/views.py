"""Views of a project's questions, of stars, and of the buttons that create example projects."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from core.text import parse_id
from metrics.example import example_projects
from metrics.views import questions
from projects.models import Deletion, Member
from projects.permissions import get_project, require_can_create_projects
from projects.services import membership
from ratings.items import removal

LIST_PARAMETERS = ("group", "search", "sort", "page")  # parameters of the list of projects


@login_required
@require_safe
def show_questions(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show all questions of a project side by side."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    project_questions = list(project.questions.all())
    if not project_questions:
        return render(request, "metrics/common/no_question.html", {"project": project})
    return questions.render_overview(request, project, project_questions, heading=_("Questions"))


@login_required
@require_POST
def set_star(request: HttpRequest, project_id: int) -> HttpResponse:
    """Star a project (``starred`` 1) or remove the star (0).

    Redirects to the list with its previous parameters, which are in ``passed``. Raises BadRequest
    for another value, and Http404 for a user who is no member.
    """
    project = get_project(request.user, project_id)
    if request.POST.get("starred") not in ("0", "1"):
        raise BadRequest(_("Choose an action."))
    starred = request.POST["starred"] == "1"
    if not membership.set_starred(project=project, user=request.user, starred=starred):
        raise Http404
    list_query = QueryDict(request.POST.get("passed", "")[:1000])
    list_parameters = {name: list_query[name] for name in LIST_PARAMETERS if list_query.get(name)}
    return redirect(
        f"{reverse('projects')}{'?' if list_parameters else ''}{urlencode(list_parameters)}"
    )


CLOSED_TOURS = "closed_tours"  # key of the session: ids of projects


@login_required
@require_POST
def load_example(request: HttpRequest) -> HttpResponse:
    """Create the example projects, or with ``worked`` the worked ones, that the user does not have.

    Workers count their ratings. Redirects to the sample project, or to the list of examples.
    """
    require_can_create_projects(request.user)
    if "worked" in request.POST:
        example_projects.create_missing_examples(owner=request.user, count=False, worked=True)
        messages.success(request, _("Textbook examples added."))
        return redirect(f"{reverse('projects')}?group=examples")
    example_projects.create_missing_examples(owner=request.user, count=False)
    project = example_projects.find_example(request.user)
    if project is None:  # removed meanwhile
        return redirect("projects")
    messages.success(request, _("Sample project added."))
    return redirect("dashboard", project.pk)


@login_required
@require_POST
def remove_examples(request: HttpRequest) -> HttpResponse:
    """Start the deletion of the user's example with the id ``project``, or of all examples."""
    examples = example_projects.list_examples(request.user).filter(archived_at=None)
    if (project_id := parse_id(request.POST.get("project", ""))) is not None:
        examples = examples.filter(pk=project_id)
    for project in examples:
        removal.start_deletion(kind=Deletion.Kind.PROJECT, target=project, by=request.user)
    messages.success(request, _("Deletion started."))
    return redirect("projects")


def is_tour_shown(request: HttpRequest, project: Any) -> bool:
    """Return True for the owner of a sample project who has not closed its tour in this session."""
    if project.created_by_id != request.user.pk or not example_projects.is_sample_project(project):
        return False
    return project.pk not in request.session.get(CLOSED_TOURS, [])


@login_required
@require_POST
def close_tour(request: HttpRequest, project_id: int) -> HttpResponse:
    """Close the tour of a sample project for the rest of the session."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    request.session[CLOSED_TOURS] = [*request.session.get(CLOSED_TOURS, []), project.pk]
    return redirect("dashboard", project.pk)
