"""How an open page stays right: the one protocol of all pages that change by themselves.

While it is seen, a page asks for its own address every so many seconds
(templates/metrics/common/_freshness.html). It says which version it shows (``X-Shown``) and for which
parts it has a place (``X-Places``). The answer is

* nothing (204): the page is right;
* the freshness alone: ratings wait that are not in the numbers yet;
* the page: its fragments take the place of those shown, and the charts are drawn anew;
* ``HX-Refresh``: there are other parts now, and the page is loaded anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from projects.models import Project

from .freshness import Freshness, SeveralFreshness


@dataclass(frozen=True)
class Live:
    """``fragments``: ids of the parts that are taken over, where the page has them. ``summary``:
    the freshness also tells the number of ratings, and that all are counted."""

    seconds: int
    fragments: tuple[str, ...]
    summary: bool = False

    @property
    def selected(self) -> str:
        """The fragments and the freshness itself, as htmx wants them."""
        return ",".join(f"#{name}" for name in ("as-of", *self.fragments))


def asks(request: HttpRequest) -> bool:
    """Whether an open page asks, not a reader who opens it."""
    return "X-Shown" in request.headers


def awaited(*, waiting: bool) -> HttpResponse:
    """The answer to a page that has nothing to show until a worker is ready."""
    return HttpResponse(status=204) if waiting else HttpResponse(headers={"HX-Refresh": "true"})


def unchanged(
    request: HttpRequest, project: Project, fresh: Freshness | SeveralFreshness, live: Live
) -> HttpResponse | None:
    """The answer to a page that asks, as long as its numbers are right; else None."""
    if not asks(request):
        return None
    shown = request.headers.get("X-Shown", "")
    if shown == fresh.version:
        return HttpResponse(status=204)
    if shown.partition(".")[0] != fresh.version.partition(".")[0]:
        return None
    places = request.headers.get("X-Places", "")
    context = {"project": project, "fresh": fresh, "live": live, "places": places}
    return render(request, "metrics/common/_freshness.html", context)


def answer(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    """The page, for the first time or for its fragments. The context has ``places``."""
    places = request.headers.get("X-Places")
    if places is not None and places != context["places"]:
        return HttpResponse(headers={"HX-Refresh": "true"})
    response = render(request, template, context)
    if places is not None:
        response["HX-Trigger"] = "charts-changed"
    return response
