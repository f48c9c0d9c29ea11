"""Pages of saved views: the list, changes by a lead, and share links."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from metrics import saved_views
from metrics.filters import ITEM_PREFIX
from metrics.models import SavedView, ShareLink
from projects.models import Member, Project
from projects.permissions import get_project

PARAMETER_NAMES = {
    "question": gettext_lazy("Question"),
    "weights": gettext_lazy("Weights"),
    "period": gettext_lazy("Period"),
    "coefficient": gettext_lazy("Coefficient"),
    "heat_map": gettext_lazy("Raters of the heat map"),
    "sort": gettext_lazy("Order"),
    "from": gettext_lazy("Rated from"),
    "to": gettext_lazy("To"),
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
    messages.success(request, _("Saved."))
    return redirect(build_view_url(view))


@never_cache
@login_required
@require_POST
@sensitive_variables("secret")
def update_view(request: HttpRequest, project_id: int, view_id: int) -> HttpResponse:
    """Rename, share or delete a saved view, as ``do`` says. For leads."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    view = get_object_or_404(SavedView, project=project, pk=view_id)
    action = request.POST.get("do", "")
    try:
        if action == "rename":
            saved_views.rename_saved_view(
                view=view, name=request.POST.get("name", ""), by=request.user
            )
            messages.success(request, _("Saved."))
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

    ``changed_view``: the view that was changed; ``link``: a new share link, and whether it
    ``shows_names``; ``errors``: {field: error}.
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
    """Return (view, URL, whether it is the current page) of the saved views of a page."""
    views = [view for view in saved_views.list_saved_views(project) if view.page == page]
    return [(view, build_view_url(view), view.query == query) for view in views]
