"""A lead writes to raters; at the desk they find it (ratings.annotation.rater_messages)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from core.text import without_nul
from projects.models import Member, Project, Rater
from projects.permissions import get_project
from ratings.annotation import rater_messages

from .rater_list import ids_of, refused_choice


def address_of(project: Project, raters: Sequence[Rater], *, passed: str, back: str) -> str:
    """Where one writes to these raters; ``passed`` and ``back`` say where one came from."""
    ids = ",".join(str(rater.pk) for rater in raters)
    query = urlencode({"rater": ids, "passed": passed, "back": back})
    return f"{reverse('raters_write', args=[project.pk])}?{query}"


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def write(request: HttpRequest, project_id: int) -> HttpResponse:
    """``rater``: ids with commas between. POST sends ``text`` to those who can read it."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    given = request.POST if request.method == "POST" else request.GET
    ids = ids_of([one for one in given.get("rater", "").split(",") if one])
    found = list(project.raters.filter(pk__in=ids).order_by("key"))
    if not found or len(found) != len(set(ids)):
        raise refused_choice()
    can_read = rater_messages.readers(found)
    back = _back(project, found, given)
    trouble = ""
    if request.method == "POST":
        try:
            rater_messages.write(raters=can_read, text=given.get("text", ""), by=request.user)
        except rater_messages.Refused as refusal:
            trouble = str(refusal)
        else:
            n = len(can_read)
            said = ngettext("Sent to %(n)s rater.", "Sent to %(n)s raters.", n)
            messages.success(request, said % {"n": n})
            return redirect(back)
    context: dict[str, Any] = {
        "project": project,
        "raters": can_read,
        "chosen": found,
        "left_out": len(found) - len(can_read),
        "longest": rater_messages.LONGEST,
        "ids": ",".join(map(str, ids)),
        "text": without_nul(given.get("text", "")) if trouble else "",
        "trouble": trouble,
        "passed": given.get("passed", ""),
        "back": given.get("back", ""),
        "back_url": back,
    }
    return render(
        request, "quality/rater_status/message.html", context, status=400 if trouble else 200
    )


def _back(project: Project, raters: Sequence[Rater], given: QueryDict) -> str:
    """The rater's page, the people or the list, as the lead left it."""
    passed = given.get("passed", "")
    if given.get("back") == "people":
        return reverse("people", args=[project.pk])
    address = reverse("raters", args=[project.pk])
    if given.get("back") == "rater":
        address = reverse("rater", args=[project.pk, raters[0].key])
    return f"{address}?{QueryDict(passed).urlencode()}" if passed else address
