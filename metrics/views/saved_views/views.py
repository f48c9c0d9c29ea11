"""The views of a project that have a name: the list, what a lead changes, and links to them."""

from __future__ import annotations

import datetime
from typing import Any
from zoneinfo import ZoneInfo

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

from metrics.filters import ITEM
from metrics.models import NamedView, ViewLink
from metrics.saved_views import services
from projects.models import Member, Project
from projects.permissions import get_project

WORDS = {
    "question": gettext_lazy("question"),
    "weights": gettext_lazy("weights"),
    "period": gettext_lazy("period"),
    "coefficient": gettext_lazy("coefficient"),
    "who": gettext_lazy("raters of the heat map"),
    "sort": gettext_lazy("order"),
    "from": gettext_lazy("rated from"),
    "to": gettext_lazy("to"),
    "kind": gettext_lazy("raters"),
    "group": gettext_lazy("group"),
    "content": gettext_lazy("content"),
    "without": gettext_lazy("without"),
    "drawn": gettext_lazy("items"),
    "show": gettext_lazy("only"),
    "least": gettext_lazy("ratings at least"),
    "search": gettext_lazy("text"),
    "state": gettext_lazy("which items"),
    "answers": gettext_lazy("answers"),
    "said": gettext_lazy("somebody said"),
    "and_said": gettext_lazy("and somebody said"),
    "rater": gettext_lazy("rated by"),
    "ratings": gettext_lazy("number of ratings"),
    "attribute": gettext_lazy("attribute"),
}
SHOWN_DAYS = 30  # a link ends so many days ahead unless told otherwise


def address(view: NamedView) -> str:
    return f"{reverse(view.page, args=[view.project_id])}?{view.query}"


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def named_views(request: HttpRequest, project_id: int) -> HttpResponse:
    """The list; a lead's POST keeps the view that ``page`` and ``query`` say."""
    role = Member.Role.LEAD if request.method == "POST" else Member.Role.VIEWER
    project = get_project(request.user, project_id, role=role)
    if request.method != "POST":
        return _list(request, project)
    page, query = request.POST.get("page", ""), request.POST.get("query", "")
    name = request.POST.get("name", "")
    try:
        view = services.name_view(
            project=project, page=page, name=name, query=query, by=request.user
        )
    except services.Refused as refused:
        given = {"page": page, "query": query, "name": name}
        return _list(request, project, new=given, troubles=refused.fields)
    messages.success(request, _("The view is kept as “%(name)s”.") % {"name": view.name})
    return redirect(address(view))


@never_cache
@login_required
@require_POST
@sensitive_variables("secret")
def change(request: HttpRequest, project_id: int, view_id: int) -> HttpResponse:
    """What a lead does about a view: ``do`` rename, share or delete."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    view = get_object_or_404(NamedView, project=project, pk=view_id)
    do = request.POST.get("do", "")
    try:
        if do == "rename":
            services.rename_view(view=view, name=request.POST.get("name", ""), by=request.user)
            messages.success(request, _("The view is called “%(name)s” now.") % {"name": view.name})
        elif do == "share":
            secret = services.share(view=view, until=_day(request), by=request.user)
            link = request.build_absolute_uri(reverse("shared", args=[secret]))
            return _list(request, project, at=view, link=link)
        elif do == "delete":
            services.delete_view(view=view, by=request.user)
            messages.success(request, _("The view is deleted, and its links have ended."))
        else:
            raise BadRequest(_("“do” is one of rename, share, delete."))
    except services.Refused as refused:
        return _list(request, project, at=view, troubles=refused.fields)
    return redirect("named_views", project.pk)


@login_required
@require_POST
def end_link(request: HttpRequest, project_id: int, link_id: int) -> HttpResponse:
    """End a link before its day."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    links = ViewLink.objects.filter(view__project=project).select_related("view")
    services.revoke(link=get_object_or_404(links, pk=link_id), by=request.user)
    messages.success(request, _("The link has ended: it opens nothing from now on."))
    return redirect("named_views", project.pk)


def _day(request: HttpRequest) -> datetime.date:
    try:
        return datetime.date.fromisoformat(request.POST.get("until", ""))
    except ValueError:
        raise services.Refused(until=_("A day is needed, as 2026-11-23.")) from None


def _list(
    request: HttpRequest,
    project: Project,
    *,
    new: dict[str, str] | None = None,
    at: NamedView | None = None,
    link: str = "",
    troubles: dict[str, str] | None = None,
) -> HttpResponse:
    """The page of all views. ``at``: the one that was changed; ``link``: made just now;
    ``troubles``: field -> what is wrong with it."""
    project_as_seen: Any = project
    found = services.named(project_as_seen)
    links: dict[int, list[ViewLink]] = {view.pk: [] for view in found}
    if project_as_seen.role == Member.Role.LEAD:
        for one in ViewLink.objects.filter(view__in=list(links)).select_related("by"):
            links[one.view_id].append(one)
    questions = {one.key: str(one) for one in project.questions.all()}
    today = timezone.localdate(timezone=ZoneInfo(project.time_zone))
    context = {
        "project": project,
        "rows": [
            {
                "view": view,
                "url": address(view),
                "says": _says(view, questions),
                "links": links[view.pk],
                "may_link": view.page in services.LINKED,
            }
            for view in found
        ],
        "new": new,
        "at": at,
        "link": link,
        "troubles": troubles or {},
        "until": (today + datetime.timedelta(days=SHOWN_DAYS)).isoformat(),
        "first_day": today.isoformat(),
        "last_day": (today + datetime.timedelta(days=services.MOST_DAYS)).isoformat(),
    }
    return render(
        request, "metrics/saved_views/saved_views.html", context, status=400 if troubles else 200
    )


def _says(view: NamedView, questions: dict[str, str]) -> list[str]:
    """What the view is narrowed to, and how it is sorted, in words."""
    said: dict[str, Any] = QueryDict(view.query).dict()
    told = []
    for name, value in said.items():
        shown = questions.get(value, value) if name == "question" else value
        told.append(_("%(what)s: %(value)s") % {"what": _word(name), "value": shown})
    return told


def _word(name: str) -> str:
    return str(WORDS.get(name, name.removeprefix(ITEM)))


def offered(project: Any, page: str, query: str) -> list[tuple[NamedView, str, bool]]:
    """The views of this page: each with its address, and whether it is what one looks at."""
    found = [view for view in services.named(project) if view.page == page]
    return [(view, address(view), view.query == query) for view in found]
