"""Pages of saved views: the list, changes by a lead, share links, and the pages that they show.

Readers of a share link need no account, and only this page is accessible to them.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.hooks import Hook
from core.text import describe_saved
from core.web.links import without_links
from metrics import saved_views
from metrics.filters import ITEM_PREFIX
from metrics.models import SavedView, ShareLink
from metrics.views import charts
from metrics.views.common import live_updates
from metrics.views.dashboard import views
from projects.models import Member, Project, Rater
from projects.models.rater import hide_names
from projects.permissions import get_project

ProjectPageView = Callable[[HttpRequest, Project], HttpResponse]


@dataclass(frozen=True)
class SharedPage:
    """The functions that render a page and its charts for a project to which access was checked."""

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
    """Show the view of a share link; status 410 if the link has ended, 404 if there is none."""
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
    """Return a chart of the page that a share link shows; status 410 or 404 as for the page."""
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
    """Change the request to an anonymous one for the saved view, whatever its URL and user are."""
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


PARAMETER_NAMES = {
    "question": gettext_lazy("Question"),
    "weights": gettext_lazy("Weights"),
    "period": gettext_lazy("Period"),
    "coefficient": gettext_lazy("Coefficient"),
    "heat_map": gettext_lazy("Raters of the heat map"),
    "sort": gettext_lazy("Order"),
    "from": gettext_lazy("Rated from"),
    "to": pgettext_lazy("last day", "To"),
    "kind": gettext_lazy("Raters"),
    "group": gettext_lazy("Group"),
    "content_version": gettext_lazy("Content"),
    "exclude": gettext_lazy("Without"),
    "sample": gettext_lazy("Items"),
    "show": gettext_lazy("Only"),
    "least": gettext_lazy("Minimum ratings"),
    "search": gettext_lazy("Text"),
    "state": gettext_lazy("Which items"),
    "answers": gettext_lazy("Answers"),
    "answer": gettext_lazy("Answered"),
    "other_answer": gettext_lazy("Also answered"),
    "rater": gettext_lazy("Rated by"),
    "ratings": gettext_lazy("Number of ratings"),
    "attribute": gettext_lazy("Attribute"),
}
DEFAULT_LINK_DAYS = 30  # lifetime of a share link that the form suggests


@dataclass(frozen=True)
class SavedViewRow:
    """A saved view with its filters as text and its links."""

    view: SavedView
    filters: list[str]
    links: list[ShareLink]

    @property
    def url(self) -> str:
        return build_view_url(self.view)

    @property
    def may_link(self) -> bool:
        return bool(settings.SHARE_LINKS) and self.view.page in saved_views.SHAREABLE_PAGES


def build_view_url(view: SavedView) -> str:
    """Return the URL of the page that the view shows."""
    return f"{reverse(view.page, args=[view.project_id])}?{view.query}"


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def show_saved_views(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the saved views. POST by a lead saves the view given by ``page`` and ``query``."""
    role = Member.Role.LEAD if request.method == "POST" else Member.Role.VIEWER
    project = get_project(request.user, project_id, role=role)
    if request.method != "POST":
        return _render_list(request, project)
    page, query = request.POST.get("page", ""), request.POST.get("query", "")
    name = request.POST.get("name", "")
    try:
        view = saved_views.create_saved_view(
            project=project, page=page, name=name, query=query, by=request.user
        )
    except saved_views.InvalidSavedView as error:
        form_values = {"page": page, "query": query, "name": name}
        return _render_list(request, project, new=form_values, errors=error.fields)
    messages.success(request, describe_saved(_("View")))
    return redirect(build_view_url(view))


@never_cache
@login_required
@require_POST
@sensitive_variables("secret")
def update_view(request: HttpRequest, project_id: int, view_id: int) -> HttpResponse:
    """Rename, share or delete a saved view, as ``do`` says; for leads only.

    The link of a shared view is shown once. Raises BadRequest for another ``do``.
    """
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    view = get_object_or_404(SavedView, project=project, pk=view_id)
    action = request.POST.get("do", "")
    try:
        if action == "rename":
            saved_views.rename_saved_view(
                view=view, name=request.POST.get("name", ""), by=request.user
            )
            messages.success(request, describe_saved(_("View name")))
        elif action == "share":
            secret = saved_views.create_share_link(
                view=view,
                until=_parse_expiry_date(request),
                by=request.user,
                shows_names="shows_names" in request.POST,
            )
            link = request.build_absolute_uri(reverse("shared", args=[secret]))
            return _render_list(
                request,
                project,
                changed_view=view,
                link=link,
                shows_names="shows_names" in request.POST,
            )
        elif action == "delete":
            saved_views.delete_saved_view(view=view, by=request.user)
            messages.success(request, _("Deleted."))
        else:
            raise BadRequest(_("Choose an action."))
    except saved_views.InvalidSavedView as error:
        return _render_list(request, project, changed_view=view, errors=error.fields)
    return redirect("saved_views", project.pk)


@login_required
@require_POST
def revoke_link(request: HttpRequest, project_id: int, link_id: int) -> HttpResponse:
    """Revoke a share link before it expires."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    links = ShareLink.objects.filter(view__project=project).select_related("view")
    saved_views.revoke_share_link(link=get_object_or_404(links, pk=link_id), by=request.user)
    messages.success(request, _("Revoked."))
    return redirect("saved_views", project.pk)


def _parse_expiry_date(request: HttpRequest) -> datetime.date:
    try:
        return datetime.date.fromisoformat(request.POST.get("until", ""))
    except ValueError:
        raise saved_views.InvalidSavedView(until=_("Enter a date such as 2026-11-23.")) from None


def _render_list(
    request: HttpRequest,
    project: Project,
    *,
    new: dict[str, str] | None = None,
    changed_view: SavedView | None = None,
    link: str = "",
    shows_names: bool = False,
    errors: dict[str, str] | None = None,
) -> HttpResponse:
    """Render the page of all saved views.

    ``new``: values of the form for a new view; ``changed_view``: the view that was changed;
    ``link``: URL of a new share link, and whether it ``shows_names``; ``errors``: {field: error}.
    """
    views = saved_views.list_saved_views(project)
    links: dict[int, list[ShareLink]] = {view.pk: [] for view in views}
    if project.can_manage:
        all_links = ShareLink.objects.filter(view__in=list(links))
        for view_link in all_links.select_related("created_by", "view__project"):
            links[view_link.view_id].append(view_link)
    questions = {question.key: str(question) for question in project.questions.all()}
    today = timezone.localdate(timezone=ZoneInfo(project.time_zone))
    context = {
        "project": project,
        "rows": [
            SavedViewRow(view, _describe_view(view, questions), links[view.pk]) for view in views
        ],
        "links_allowed": settings.SHARE_LINKS,
        "new": new,
        "at": changed_view,
        "link": link,
        "shows_names": shows_names,
        "errors": errors or {},
        "until": (today + datetime.timedelta(days=DEFAULT_LINK_DAYS)).isoformat(),
        "first_day": today.isoformat(),
        "last_day": (today + datetime.timedelta(days=saved_views.MAX_LINK_DAYS)).isoformat(),
    }
    status = 400 if errors else 200
    return render(request, "metrics/saved_views/saved_views.html", context, status=status)


def _describe_view(view: SavedView, questions: dict[str, str]) -> list[str]:
    """Return the filters and the sort order of the view as text."""
    parts = []
    for name, value in QueryDict(view.query).items():
        value_text = questions.get(str(value), value) if name == "question" else value
        parts.append(
            _("%(what)s: %(value)s") % {"what": _get_parameter_name(name), "value": value_text}
        )
    return parts


def _get_parameter_name(name: str) -> str:
    return str(PARAMETER_NAMES.get(name, name.removeprefix(ITEM_PREFIX)))


def list_views_of_page(project: Any, page: str, query: str) -> list[tuple[SavedView, str, bool]]:
    """Return (view, URL, whether the view is the current one) of the saved views of a page."""
    views = [view for view in saved_views.list_saved_views(project) if view.page == page]
    return [(view, build_view_url(view), view.query == query) for view in views]
