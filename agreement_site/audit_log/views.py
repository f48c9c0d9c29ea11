"""The trail as pages and files: of the site for superusers, of a project for its leads."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_safe

from agreement_site.models import TrailLine
from core import security_log
from metrics.views.common.selection import place_after
from projects.models import Member, Project
from projects.permissions import get_project

from . import selectors
from .actions import ACTS
from .field_labels import NAMED_BY_PEOPLE, NAMES, in_words
from .masking import Mask, mask_for

LINES_A_PAGE = 50
LONGEST_SHOWN = 300  # characters of a value; files have all of it


def asked_project(user: Any, project_id: int | None, *, token: Any = None) -> Project | None:
    """The project whose lines the user may see; None for the whole site. Raises Http404 or
    PermissionDenied; a token that is bound to a project sees that one alone."""
    if project_id is not None:
        return get_project(user, project_id, role=Member.Role.LEAD, token=token)
    if not user.is_superuser or (token is not None and token.project_id is not None):
        raise PermissionDenied(_("The trail of the whole site is for administrators."))
    return None


@login_required
@require_safe
def trail(request: HttpRequest, project_id: int | None = None) -> HttpResponse:
    """Lines that were chosen by actor, act and days, a page at a time."""
    project = asked_project(request.user, project_id)
    before = place_after(request.GET)
    context: dict[str, Any] = {"project": project, "acts": ACTS.items(), "wrong": {}, "lines": []}
    try:
        found = selectors.lines_of(project, selectors.Wanted.of(request.GET))
    except selectors.Refused as refused:
        context["wrong"] = refused.fields
    else:
        mask = mask_for(project, request.user)
        lines = list((found.filter(pk__lt=before) if before else found)[: LINES_A_PAGE + 1])
        zone = ZoneInfo(project.time_zone if project else "UTC")
        called = {} if project else _projects(lines)
        context["lines"] = [shown(line, mask, zone, called) for line in lines[:LINES_A_PAGE]]
        context["next_after"] = lines[LINES_A_PAGE - 1].pk if len(lines) > LINES_A_PAGE else None
    given = {name: request.GET.get(name, "")[:200] for name in selectors.NAMES}
    chosen = {name: value for name, value in given.items() if value}
    address = "trail_file" if project is None else "project_trail_file"
    arguments = [] if project is None else [project.pk]
    context |= {
        "given": given | {"first": given["from"], "last": given["to"]},
        "query": urlencode(chosen),
        "narrowed": bool(chosen),
        "before": before,
        "file": f"{reverse(address, args=arguments)}?{urlencode(chosen)}",
    }
    status = 400 if context["wrong"] else 200
    return render(request, "agreement_site/audit_log.html", context, status=status)


@login_required
@require_GET
def trail_file(request: HttpRequest, project_id: int | None = None) -> Any:
    """All the chosen lines as CSV. Taking them is a line, too."""
    project = asked_project(request.user, project_id)
    try:
        found = selectors.lines_of(project, selectors.Wanted.of(request.GET))
    except selectors.Refused as refused:
        return HttpResponse(str(refused), status=400, content_type="text/plain; charset=utf-8")
    security_log.event("export", what_of="trail", kind="csv")
    name = "concord-trail.csv" if project is None else f"concord-trail-{project.pk}.csv"
    return StreamingHttpResponse(
        selectors.as_csv(found, mask_for(project, request.user)),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _projects(lines: list[TrailLine]) -> dict[int, str]:
    """id -> name of the projects that the lines are of and that there still are."""
    ids = {line.project_id for line in lines if line.project_id is not None}
    return dict(Project.objects.filter(pk__in=ids).values_list("pk", "name"))


def shown(
    line: TrailLine, mask: Mask, zone: datetime.tzinfo, called: Mapping[int, str]
) -> dict[str, Any]:
    """A line as the page writes it: what moved as (name, that in words, before, after), and what
    else is known."""
    before, after, details = (
        mask(line.what, told) or {} for told in (line.before, line.after, line.details)
    )
    words = {} if line.what in NAMED_BY_PEOPLE else NAMES
    act: str | Promise = ACTS.get(line.what, line.what)

    def text(name: str, value: Any) -> str:
        said = in_words(name if words else "", value, zone)
        return said if len(said) <= LONGEST_SHOWN else f"{said[:LONGEST_SHOWN]}…"

    moved = []
    for name in {**before, **after}:
        stood, stands = _apart(before.get(name), after.get(name))
        moved.append((name, words.get(name, ""), text(name, stood), text(name, stands)))
    return {
        "at": line.at,
        "act": act,
        "actor": line.actor,
        "address": line.address,
        "project_id": line.project_id,
        "project_name": called.get(line.project_id or 0, ""),
        "moved": moved,
        "details": [
            (name, NAMES.get(name, ""), text(name, value))
            for name, value in details.items()
            if name not in before and name not in after
        ],
    }


def _apart(before: Any, after: Any) -> tuple[Any, Any]:
    """Of two lists what is not in the other one."""
    if not (isinstance(before, list) and isinstance(after, list)) or before == after:
        return before, after
    return [one for one in before if one not in after], [one for one in after if one not in before]
