"""A view as whoever holds a link to it reads it: this page alone, without an account, until the
link ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_safe

from metrics.models import NamedView, ViewLink
from metrics.saved_views import services
from metrics.views.charts import views as charts_views
from metrics.views.common import live_updates
from metrics.views.dashboard import views
from projects.models import Member, Project

from .link_removal import unlinked

Page = Callable[[HttpRequest, Project], HttpResponse]


@dataclass(frozen=True)
class Shown:
    """What makes a page and each of its charts, for a project that came through a door."""

    page: Page
    charts: Mapping[str, Page]


def _chart(name: str) -> Page:
    return lambda request, project: charts_views.chart_of(request, project, name, "json")


# A room above adds its own when the site starts.
SHOWN: dict[str, Shown] = {
    NamedView.Page.DASHBOARD: Shown(
        views.dashboard_of, {name: _chart(name) for name in ("trend", "pairs")}
    ),
}


@require_safe
@sensitive_variables("secret")
def shared(request: HttpRequest, secret: str) -> HttpResponse:
    """The view of a link, or the word that it has ended."""
    link = _link(secret)
    if link is None or not link.open:
        status = 404 if link is None else 410
        return _private(
            render(request, "metrics/saved_views/link_ended.html", {"link": link}, status=status)
        )
    if not live_updates.asks(request):
        services.note_opened(link)
    made = SHOWN[link.view.page].page(_narrowed(request, link), _project(link))
    own = reverse("shared", args=[secret])
    made.content = unlinked(made.content.decode(), own)
    return _private(made)


@require_safe
@sensitive_variables("secret")
def shared_chart(request: HttpRequest, secret: str, name: str) -> HttpResponse:
    """A chart of that page. Its rows lead nowhere."""
    link = _link(secret)
    charts = SHOWN[link.view.page].charts if link is not None and link.open else {}
    if link is None or name not in charts:
        raise Http404(_("No such chart."))
    made = charts[name](_narrowed(request, link), _project(link))
    told: dict[str, Any] = json.loads(made.content)
    told["rows"] = [_without_address(row) for row in told["rows"]]
    made.content = json.dumps(told).encode()
    return _private(made)


def _without_address(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "url"}


def _link(secret: str) -> ViewLink | None:
    link = services.linked(secret)
    return link if link is not None and link.view.page in SHOWN else None


def _project(link: ViewLink) -> Project:
    project: Any = link.view.project
    project.role = Member.Role.VIEWER.value  # what else the door would set: results, no changes
    return link.view.project


def _narrowed(request: HttpRequest, link: ViewLink) -> HttpRequest:
    """The request as if a stranger had asked for the kept view: whatever else the address says, and
    whoever is signed in."""
    asked: Any = request
    asked.GET = QueryDict(link.view.query)
    asked.META["QUERY_STRING"] = ""
    asked.user = AnonymousUser()
    asked.shared = link
    return request


def _private(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = "no-store, private"
    response["Referrer-Policy"] = "no-referrer"  # the address is the key
    response["X-Robots-Tag"] = "noindex, nofollow"
    return response
