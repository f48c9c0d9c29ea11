"""The page of a project's people: one list of who has a role and who rates, and what is done about
many of them at once."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from core.web.tables import a_page
from projects.forms.members import InviteForm, MemberForm
from projects.models import Member, Project, Rater
from projects.permissions import get_project
from projects.selectors import people_list
from projects.services.members import bulk_actions, membership, offers
from projects.services.project_validation import Refused

PEOPLE_A_PAGE = 50
LONGEST_SEARCH = 150
LEAD = Member.Role.LEAD
ACTS = ("pause", "resume", "write", "role", "remove")


@never_cache
@login_required
@require_safe
def people(request: HttpRequest, project_id: int) -> HttpResponse:
    return people_page(request, get_project(request.user, project_id, role=LEAD))


def people_page(
    request: HttpRequest, project: Project, *, status: int = 200, **more: Any
) -> HttpResponse:
    """The page; ``more``: links that are shown this one time, and forms with errors."""
    wanted = request.GET.get("q", "").strip()[:LONGEST_SEARCH]
    lines = people_list.everybody(project, wanted)
    page = Paginator(lines, a_page(PEOPLE_A_PAGE)).get_page(request.GET.get("page"))
    found = people_list.page_of(project, list(page.object_list))
    undo = request.GET.get("undo", "")
    context = {
        "project": project,
        "n_people": len(lines),
        "page": page,
        "found": found,
        "grouped": any(one.rater is not None and one.rater.group for one in found.people),
        "offers": list(offers.of_project(project)),
        "linkable": membership.who_may_get_link(project=project, by=request.user),
        "roles": Member.Role.choices,
        "form": MemberForm(),
        "invite_form": InviteForm(prefix="several"),
        "wanted": wanted,
        "passed": _passed(request.GET),
        "undo": undo if bulk_actions.can_undo(project=project, text=undo, by=request.user) else "",
        **more,
    }
    return render(request, "projects/people.html", context, status=status)


def _passed(given: QueryDict) -> str:
    """What an act brings back to the same list."""
    return urlencode({name: given[name] for name in ("q", "page") if given.get(name)})


@login_required
@require_POST
def people_act(request: HttpRequest, project_id: int) -> HttpResponse:
    """What is done about the people that were chosen: ``do`` pause, resume, write, role, remove."""
    project = get_project(request.user, project_id, role=LEAD)
    do = request.POST.get("do", "")
    if do not in ACTS:
        raise BadRequest(_("“do” is one of %(acts)s.") % {"acts": ", ".join(ACTS)})
    chosen, raters = people_list.chosen(project, request.POST.getlist("person"))
    if do == "write" and raters:  # the page is that of a higher room
        ids = ",".join(str(rater.pk) for rater in raters)
        address = reverse("raters_write", args=[project.pk])
        return redirect(f"{address}?{urlencode({'rater': ids, 'back': 'people'})}")
    undo = ""
    try:
        if not (chosen or raters):
            messages.error(request, _("Choose somebody first."))
        elif do in ("role", "remove"):
            undo = _change(request, project, chosen, do)
        else:
            undo = _pause(request, project, raters, do)
    except Refused as refused:
        messages.error(request, str(refused))
    return _back(request, project, undo)


def _pause(request: HttpRequest, project: Project, raters: list[Rater], do: str) -> str:
    if not raters:
        messages.error(request, _("None of them rates."))
        return ""
    pause = do == "pause"
    changed, undo = bulk_actions.set_paused(
        project=project, raters=raters, paused=pause, by=request.user
    )
    n = len(changed)
    if pause:
        said = ngettext(
            "%(n)s rater gets no items until you resume.",
            "%(n)s raters get no items until you resume.",
            n,
        )
    else:
        said = ngettext("%(n)s rater gets items again.", "%(n)s raters get items again.", n)
    messages.success(request, said % {"n": n})
    return undo


def _change(request: HttpRequest, project: Project, chosen: list[Member], do: str) -> str:
    """Their role, or that they have one."""
    if not chosen:
        messages.error(request, _("None of them has a role here."))
        return ""
    named = {"names": ", ".join(one.user.get_username() for one in chosen)}
    if do == "remove":
        undo = bulk_actions.remove(project=project, members=chosen, by=request.user)
        said = _("Not in this project any more: %(names)s. The ratings stay.")
    else:
        role = request.POST.get("role", "")
        undo = bulk_actions.set_role(project=project, members=chosen, role=role, by=request.user)
        said = _("The role is changed: %(names)s.")
    messages.success(request, said % named)
    return undo


@login_required
@require_POST
def people_undo(request: HttpRequest, project_id: int) -> HttpResponse:
    """``undo``: what the answer to an act brought."""
    project = get_project(request.user, project_id, role=LEAD)
    try:
        bulk_actions.undo(project=project, text=request.POST.get("undo", ""), by=request.user)
        messages.success(request, _("Taken back."))
    except Refused as refused:
        messages.error(request, str(refused))
    return _back(request, project)


def _back(request: HttpRequest, project: Project, undo: str = "") -> HttpResponse:
    """To the same list; who leads the project no more may not see it."""
    user = request.user
    still = user.is_superuser or project.members.filter(user=user.pk, role=LEAD).exists()
    if not still:
        return redirect("/")
    back = QueryDict(_passed(QueryDict(request.POST.get("passed", ""))), mutable=True)
    if undo:
        back["undo"] = undo
    address = reverse("people", args=[project.pk])
    return redirect(f"{address}?{back.urlencode()}" if back else address)
