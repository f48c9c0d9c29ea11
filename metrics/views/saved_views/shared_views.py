"""Views of share links: a saved view for readers without an account.

Only this page is accessible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_safe

from core.hooks import Hook
from core.web.links import without_links
from metrics import saved_views
from metrics.models import SavedView, ShareLink
from metrics.views import charts
from metrics.views.common import live_updates
from metrics.views.dashboard import views
from projects.hidden_names import hide_names
from projects.models import Member, Project, Rater

ProjectPageView = Callable[[HttpRequest, Project], HttpResponse]


@dataclass(frozen=True)
class SharedPage:
    """The functions that render a page and its charts, for a project whose access was checked."""

    page: ProjectPageView
    charts: Mapping[str, ProjectPageView]


def _build_chart_view(name: str) -> ProjectPageView:
    return lambda request, project: charts.build_chart_response(request, project, name, "json")


# Packages above register their pages at startup.
SHARED_PAGES: Hook[SharedPage] = Hook("shared_pages")
SHARED_PAGES.register(
    SharedPage(
        views.render_dashboard, {name: _build_chart_view(name) for name in ("trend", "pairs")}
    ),
    SavedView.Page.DASHBOARD,
)


@require_safe
@sensitive_variables("secret")
def show_shared_page(request: HttpRequest, secret: str) -> HttpResponse:
    """Show the view of a link, or that the link has ended."""
    link = _find_link(secret)
    if link is None or not link.is_active:
        status = 404 if link is None else 410
        return _add_privacy_headers(
            render(request, "metrics/saved_views/link_ended.html", {"link": link}, status=status)
        )
    if not live_updates.is_live_request(request):
        saved_views.record_link_opened(link)
    with without_links(), _hide_names(link):
        response = SHARED_PAGES[link.view.page].page(
            _restrict_request(request, link), _get_project(link)
        )
    return _add_privacy_headers(response)


@require_safe
@sensitive_variables("secret")
def show_shared_chart(request: HttpRequest, secret: str, name: str) -> HttpResponse:
    """Return a chart of the shared page."""
    link = _find_link(secret)
    charts = SHARED_PAGES[link.view.page].charts if link is not None and link.is_active else {}
    if link is None or name not in charts:
        raise Http404(_("Page not found."))
    with without_links(), _hide_names(link):
        response = charts[name](_restrict_request(request, link), _get_project(link))
    return _add_privacy_headers(response)


def _find_link(secret: str) -> ShareLink | None:
    link = saved_views.find_share_link(secret)
    return link if link is not None and link.view.page in SHARED_PAGES else None


def _get_project(link: ShareLink) -> Project:
    project: Any = link.view.project
    project.role = Member.Role.VIEWER.value  # as get_project would set it: results, no changes
    return link.view.project


def _hide_names(link: ShareLink) -> AbstractContextManager[None]:
    """Return a context manager that hides the names of people, unless the link shows them."""
    if link.shows_names:
        return nullcontext()
    people = Rater.objects.filter(project=link.view.project_id, kind=Rater.Kind.HUMAN)
    return hide_names(dict(people.values_list("pk", "key")), seed=link.digest)


def _restrict_request(request: HttpRequest, link: ShareLink) -> HttpRequest:
    """Make the request an anonymous request for the saved view, whatever its URL and user are."""
    restricted: Any = request
    restricted.GET = QueryDict(link.view.query)
    restricted.META["QUERY_STRING"] = ""
    restricted.user = AnonymousUser()
    restricted.shared = link
    return request


def _add_privacy_headers(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = "no-store, private"
    response["Referrer-Policy"] = "no-referrer"  # the URL holds the secret
    response["X-Robots-Tag"] = "noindex, nofollow"
    return response
