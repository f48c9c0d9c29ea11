"""Views of a project's questions, and of stars."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from metrics.views import questions
from projects.models import Member
from projects.permissions import get_project
from projects.services.members import membership

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

    Redirects to the list with its previous parameters (``passed``).
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
