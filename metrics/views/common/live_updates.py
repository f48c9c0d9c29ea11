"""Live updates: the protocol by which open results pages refresh themselves.

While it is visible, a page requests its own URL every few seconds
(templates/metrics/common/_freshness.html). It sends the version that it shows (``X-Shown-Version``)
and a key of the fragments that it has (``X-Fragments``). The response is

* empty (204): the page is up to date;
* the freshness only: there are ratings that are not counted yet;
* the page: its fragments replace those shown, and the charts are redrawn;
* ``HX-Refresh``: the page has other fragments now and is reloaded.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from projects.models import Project

from .freshness import Freshness, MultiQuestionFreshness


@dataclass(frozen=True)
class LiveSettings:
    """Polling interval and fragments of a live page.

    ``fragments``: ids of the elements to replace, where the page has them. ``summary``: the
    freshness also shows the number of ratings, and that all are counted.
    """

    seconds: int
    fragments: tuple[str, ...]
    summary: bool = False

    @property
    def fragment_selector(self) -> str:
        """CSS selector of the fragments and the freshness, for htmx."""
        return ",".join(f"#{name}" for name in ("as-of", *self.fragments))


def is_live_request(request: HttpRequest) -> bool:
    """Return True if an open page polls, False if somebody opens the page."""
    return "X-Shown-Version" in request.headers


def build_pending_response(*, pending: bool) -> HttpResponse:
    """Return the response to a poll of a page that waits for a worker: 204, then a reload."""
    return HttpResponse(status=204) if pending else HttpResponse(headers={"HX-Refresh": "true"})


def get_unchanged_response(
    request: HttpRequest,
    project: Project,
    freshness: Freshness | MultiQuestionFreshness,
    settings: LiveSettings,
) -> HttpResponse | None:
    """Return the response to a poll while the results shown are current; None otherwise."""
    if not is_live_request(request):
        return None
    shown_version = request.headers.get("X-Shown-Version", "")
    if shown_version == freshness.version:
        return HttpResponse(status=204)
    if shown_version.partition(".")[0] != freshness.version.partition(".")[0]:
        return None
    fragment_key = request.headers.get("X-Fragments", "")
    context = {
        "project": project,
        "fresh": freshness,
        "live": settings,
        "fragment_key": fragment_key,
    }
    return render(request, "metrics/common/_freshness.html", context)


def render_live_page(
    request: HttpRequest, template: str, context: dict[str, object]
) -> HttpResponse:
    """Render the page when it is opened, or for a poll of its fragments.

    The context needs the key ``fragment_key``.
    """
    fragment_key = request.headers.get("X-Fragments")
    if fragment_key is not None and fragment_key != context["fragment_key"]:
        return HttpResponse(headers={"HX-Refresh": "true"})
    response = render(request, template, context)
    if fragment_key is not None:
        response["HX-Trigger"] = "charts-changed"
    return response
