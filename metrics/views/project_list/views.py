"""Views of the list of projects, of its stars, and of its buttons for example projects."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from core.text import parse_id
from core.web.tables import get_page_size, is_exporting
from metrics.example import example_projects
from metrics.views.common.selection import get_choice, get_page_number
from projects.models import Deletion, Member
from projects.models.roles import Capability, list_roles_with
from projects.permissions import can_create_projects, get_project, require_can_create_projects
from projects.services import membership
from ratings.annotation import rater_progress
from ratings.items import removal

from . import listing
from .project_row import ProjectGroup, ProjectRow

LIST_PARAMETERS = ("group", "search", "sort", "page")  # parameters of the list of projects
SEARCH_MIN_PROJECTS = 12  # an annotator's list with more projects has a search field


@require_safe
def show_projects(request: HttpRequest) -> HttpResponse:
    """Show the user's projects, most urgent first; redirect anonymous users to the sign-in page."""
    if not request.user.is_authenticated:
        return redirect("sign_in")
    search = (request.GET.get("search") or "").strip()
    if "\0" in search or len(search) > listing.MAX_SEARCH_LENGTH:
        raise BadRequest(_("Use a shorter search."))
    group = get_choice(request.GET, "group", ProjectGroup.values) or ""
    sort = get_choice(request.GET, "sort", list(listing.SORTS)) or "need"
    listed = listing.list_projects(request.user, search=search, sort=sort, group=group)
    paginator = Paginator(listed.rows, get_page_size(listing.PROJECTS_PER_PAGE))
    number = get_page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("Page not found."))
    page = paginator.page(number)
    listing.load_page_details(list(page.object_list), listed.inboxes)
    _add_annotator_states(list(page.object_list), request.user)
    may_create = can_create_projects(request.user)
    context = {
        "page": page,
        "rows": page.object_list,
        "listed": listed,
        "sorts": [(name, label) for name, (label, _key) in listing.SORTS.items()],
        "loose": any(row.has_band_mismatch for row in page.object_list),
        "sees_results": any(row.sees_results for row in page.object_list),
        "may_create": may_create,
        "examples": _get_available_examples(listed) if may_create else (False, False),
        "archive": group == ProjectGroup.ARCHIVED,
        "as_file": is_exporting(),
    }
    if (
        (page.object_list or search or group)
        and not may_create
        and _is_annotator_only(request.user)
    ):
        context["searched"] = bool(search) or paginator.count > SEARCH_MIN_PROJECTS
        return render(request, "metrics/project_list/annotator_projects.html", context)
    return render(request, "metrics/project_list/projects.html", context)


def _add_annotator_states(rows: list[ProjectRow], user: Any) -> None:
    """Set ``annotator_state``, the user's work, in the rows of projects where they only rate."""
    projects = [row.project for row in rows if not row.sees_results and not row.is_being_deleted]
    states = rater_progress.get_rater_projects(user, projects)
    for row in rows:
        row.annotator_state = states.get(row.project.pk)


def _is_annotator_only(user: Any) -> bool:
    """Return True if the user sees results in no project, also if they have no project."""
    roles = list_roles_with(Capability.SEE_RESULTS)
    return not Member.objects.filter(user=user, role__in=roles).exists()


def _get_available_examples(project_list_page: listing.ProjectListPage) -> tuple[bool, bool]:
    """Return whether the sample project, and any worked example, can be loaded.

    False for those that are loaded, in a search, and in a group other than examples.
    """
    if project_list_page.search or project_list_page.group not in ("", ProjectGroup.EXAMPLES):
        return False, False
    return example_projects.are_examples_missing(project_list_page.example_names)


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
