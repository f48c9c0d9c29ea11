"""Views of the overview, with the tour of a sample project, and of the statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from metrics.example import example_projects
from metrics.views import questions
from metrics.views.common import live_updates
from metrics.views.common.filter_bar import FilterBar, describe_empty_selection
from metrics.views.common.selection import Selection, find_selection
from metrics.views.common.sources import get_sources
from metrics.views.common.sources.base import ProjectSource
from projects.models import Member, Project
from projects.permissions import get_project

from . import dashboard_context, overview_context

ContextBuilder = Callable[[Selection, ProjectSource], dict[str, object]]
CLOSED_TOURS = "closed_tours"  # key of the session: ids of projects


def _build_no_match_context(
    selection: Selection, source: ProjectSource
) -> dict[str, object] | None:
    """Return the context for a filter that matches no rating, or None if it matches any."""
    if not selection.filter or dashboard_context.has_ratings(source.agreement):
        return None
    return {"fragment_key": "nothing", "nothing": describe_empty_selection(selection)}


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
        return context | {"has_tour": is_tour_shown(request, project)}

    return _render_overview(request, project, selection, build_context)


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
