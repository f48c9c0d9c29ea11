"""Page on which a lead sends a message to raters (stored by ratings.annotation.rater_messages)."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from core.text import replace_nul
from projects.models import Member, Project, Rater
from projects.permissions import get_project
from projects.selectors import build_selection_error
from ratings.annotation import rater_messages

from .rater_list import parse_rater_ids


def build_message_url(
    project: Project, raters: Sequence[Rater], *, list_query: str, origin: str
) -> str:
    """Return the URL of the message form for these raters.

    ``list_query`` and ``origin``: query and page to return to.
    """
    ids = ",".join(str(rater.pk) for rater in raters)
    query = urlencode({"rater": ids, "list_query": list_query, "back": origin})
    return f"{reverse('rater_messages', args=[project.pk])}?{query}"


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def send_message(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the form of a message to raters; a POST sends ``text`` to those who can read messages.

    ``rater``: ids of the selected raters, separated by commas. For leads.
    """
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    params = request.POST if request.method == "POST" else request.GET
    ids = parse_rater_ids([text for text in params.get("rater", "").split(",") if text])
    selected = list(project.raters.filter(pk__in=ids).order_by("key"))
    if not selected or len(selected) != len(set(ids)):
        raise build_selection_error()
    can_read = rater_messages.list_readers(selected)
    return_url = _get_return_url(project, selected, params)
    error = ""
    if request.method == "POST":
        try:
            rater_messages.send_messages(
                raters=can_read, text=params.get("text", ""), by=request.user
            )
        except rater_messages.InvalidRaterMessage as exception:
            error = str(exception)
        else:
            sent_text = ngettext("Sent to %(n)s rater.", "Sent to %(n)s raters.", len(can_read))
            messages.success(request, sent_text % {"n": len(can_read)})
            return redirect(return_url)
    context: dict[str, object] = {
        "project": project,
        "raters": can_read,
        "selected_raters": selected,
        "n_left_out": len(selected) - len(can_read),
        "max_length": rater_messages.MAX_LENGTH,
        "ids": ",".join(map(str, ids)),
        "text": replace_nul(params.get("text", "")) if error else "",
        "error": error,
        "list_query": params.get("list_query", ""),
        "back": params.get("back", ""),
        "back_url": return_url,
    }
    status = 400 if error else 200
    return render(request, "quality/rater_status/message.html", context, status=status)


def _get_return_url(project: Project, raters: Sequence[Rater], params: QueryDict) -> str:
    """Return the URL of the page that the lead came from: rater, members or list."""
    list_query = params.get("list_query", "")
    if params.get("back") == "people":
        return reverse("people", args=[project.pk])
    url = reverse("raters", args=[project.pk])
    if params.get("back") == "rater":
        url = reverse("rater", args=[project.pk, raters[0].key])
    return f"{url}?{QueryDict(list_query).urlencode()}" if list_query else url
