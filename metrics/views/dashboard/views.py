"""Views of the list of projects, and of the overview and the statistics of a project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.web.tables import get_page_size, is_exporting
from metrics.example import example_projects
from metrics.views import questions
from metrics.views.common import live_updates
from metrics.views.common.filter_bar import FilterBar, describe_empty_selection
from metrics.views.common.selection import Selection, find_selection, get_choice, get_page_number
from metrics.views.common.sources import get_sources
from metrics.views.common.sources.base import ProjectSource
from metrics.views.project_list import listing, views
from metrics.views.project_list.project_row import ProjectGroup, ProjectRow
from projects.models import Member, Project
from projects.models.roles import Capability, list_roles_with
from projects.permissions import can_create_projects, get_project
from ratings.annotation import rater_progress

from . import dashboard_context, overview_context

ContextBuilder = Callable[[Selection, ProjectSource], dict[str, object]]
SEARCH_MIN_PROJECTS = 12  # an annotator's list with more projects has a search field


def _add_annotator_states(rows: list[ProjectRow], user: Any) -> None:
    """Set ``annotator_state``, the user's work, in the rows of projects where they only rate."""
    projects = [row.project for row in rows if not row.sees_results and not row.is_being_deleted]
    states = rater_progress.get_rater_projects(user, projects)
    for row in rows:
        row.annotator_state = states.get(row.project.pk)


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


def _is_annotator_only(user: Any) -> bool:
    """Return True if the user is an annotator in each of their projects."""
    roles = list_roles_with(Capability.SEE_RESULTS)
    return not Member.objects.filter(user=user, role__in=roles).exists()


def _build_no_match_context(
    selection: Selection, source: ProjectSource
) -> dict[str, object] | None:
    """Return the context for a filter that matches no rating, or None if it matches any."""
    if not selection.filter or dashboard_context.has_ratings(source.agreement):
        return None
    return {"fragment_key": "nothing", "nothing": describe_empty_selection(selection)}


def _get_available_examples(project_list_page: listing.ProjectListPage) -> tuple[bool, bool]:
    """Return whether the sample project, and any worked example, can be loaded.

    False for those that are loaded, in a search, and in a group other than examples.
    """
    if project_list_page.search or project_list_page.group not in ("", ProjectGroup.EXAMPLES):
        return False, False
    return example_projects.are_examples_missing(project_list_page.example_names)


@login_required
@require_safe
def show_dashboard(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show how far raters agree on a question, or an overview of all questions.

    The overview is shown for several questions when the URL names none.
    """
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    selection = find_selection(request, project, filtered=True)
    if (
        selection is not None
        and len(selection.questions) > 1
        and questions.is_overview_requested(request)
    ):
        return questions.render_overview(request, project, selection.questions)

    if selection is not None and live_updates.is_part_request(request):
        raters = overview_context.select_overview_raters(
            selection, get_sources(selection).for_project()
        )
        return live_updates.build_pending_response(pending=raters.pending)

    def build_context(selection: Selection, source: ProjectSource) -> dict[str, object]:
        context = overview_context.build_overview_context(selection, source)
        return context | {"has_tour": views.is_tour_shown(request, project)}

    return _render_overview(request, project, selection, build_context)


@login_required
@require_safe
def show_statistics(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show all statistics of a question, below the headline."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    selection = find_selection(request, project, filtered=True)
    if selection is not None and live_updates.is_part_request(request):
        disputes = get_sources(selection).for_project().disputed_items
        return live_updates.build_pending_response(pending=disputes.pending)
    return _render_results(
        request,
        project,
        selection,
        template="metrics/dashboard/statistics.html",
        live=dashboard_context.STATISTICS_LIVE,
        build_context=lambda selection, source: dashboard_context.build_statistics_context(
            request, selection, source
        ),
    )


def render_dashboard(request: HttpRequest, project: Project) -> HttpResponse:
    """Render the overview with all statistics below it, for readers of a share link."""

    def build_context(selection: Selection, source: ProjectSource) -> dict[str, object]:
        statistics = dashboard_context.build_statistics_context(request, selection, source)
        return statistics | overview_context.build_overview_context(selection, source)

    selection = find_selection(request, project, filtered=True)
    return _render_overview(request, project, selection, build_context)


def _render_overview(
    request: HttpRequest,
    project: Project,
    selection: Selection | None,
    build_context: ContextBuilder = overview_context.build_overview_context,
) -> HttpResponse:
    return _render_results(
        request,
        project,
        selection,
        template="metrics/dashboard/dashboard.html",
        live=overview_context.LIVE,
        build_context=build_context,
    )


def _render_results(
    request: HttpRequest,
    project: Project,
    selection: Selection | None,
    *,
    template: str,
    live: live_updates.LiveSettings,
    build_context: ContextBuilder,
) -> HttpResponse:
    """Render a page of results, its fragments for a poll, or why there are no results."""
    if selection is None:
        return render(request, "metrics/common/no_question.html", {"project": project})
    source = get_sources(selection).for_project()
    unchanged = live_updates.get_unchanged_response(request, project, source.freshness, live)
    if unchanged is not None:
        return unchanged
    context: dict[str, object] = {"fragment_key": "pending"}
    has_headline = dashboard_context.has_headline(selection, source.agreement)
    is_counting = source.freshness.is_counting and not has_headline
    if is_counting:
        context = {"fragment_key": "counting"}
    elif not source.pending:
        context = _build_no_match_context(selection, source) or build_context(selection, source)
    context |= {
        "project": project,
        "selection": selection,
        "fresh": source.freshness,
        "live": live,
        "pending": source.pending or is_counting,
        "filter_bar": FilterBar.from_request(request, selection),
    }
    return live_updates.render_live_page(request, template, context)
