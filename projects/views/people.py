"""Views of a project's people: the list, actions on several of them, and the form of a rater."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.web.tables import get_page_size
from projects.forms.members import InviteForm, MemberForm, ModelRaterForm, RaterForm
from projects.models import Member, Project, Rater
from projects.permissions import get_project
from projects.selectors import people_list
from projects.services.members import bulk_actions, membership, role_offers
from projects.services.project_validation import InvalidProjectChange
from projects.services.raters import updates
from projects.views.form_handling import add_form_errors

PAGE_SIZE = 50
MAX_SEARCH_LENGTH = 150
LEAD = Member.Role.LEAD
ACTIONS = ("pause", "resume", "write", "role", "remove")


@never_cache
@login_required
@require_safe
def list_people(request: HttpRequest, project_id: int) -> HttpResponse:
    return render_people_page(request, get_project(request.user, project_id, role=LEAD))


def render_people_page(
    request: HttpRequest, project: Project, *, status: int = 200, **extra: Any
) -> HttpResponse:
    """Render the list of people.

    ``extra`` holds invitation links, which are shown once, and forms with errors.
    """
    search = request.GET.get("q", "").strip()[:MAX_SEARCH_LENGTH]
    lines = people_list.list_people(project, search)
    page = Paginator(lines, get_page_size(PAGE_SIZE)).get_page(request.GET.get("page"))
    people_page_data = people_list.build_people_page(project, list(page.object_list))
    undo = request.GET.get("undo", "")
    context = {
        "project": project,
        "n_people": len(lines),
        "page": page,
        "people_page": people_page_data,
        "grouped": any(
            person.rater is not None and person.rater.group for person in people_page_data.people
        ),
        "offers": list(role_offers.list_project_offers(project)),
        "linkable": membership.get_linkable_user_ids(project=project, by=request.user),
        "roles": Member.Role.choices,
        "form": MemberForm(),
        "invite_form": InviteForm(prefix="several"),
        "model_form": ModelRaterForm(prefix="model", project=project),
        "search": search,
        "passed": _encode_list_query(request.GET),
        "undo": undo if bulk_actions.can_undo(project=project, token=undo, by=request.user) else "",
        **extra,
    }
    return render(request, "projects/people.html", context, status=status)


def _encode_list_query(query: QueryDict) -> str:
    """Return the query string that leads back to the same list after an action."""
    return urlencode({name: query[name] for name in ("q", "page") if query.get(name)})


@login_required
@require_POST
def run_bulk_action(request: HttpRequest, project_id: int) -> HttpResponse:
    """Apply the action ``do`` (pause, resume, write, role or remove) to the selected people."""
    project = get_project(request.user, project_id, role=LEAD)
    action = request.POST.get("do", "")
    if action not in ACTIONS:
        raise BadRequest(_("Choose an action."))
    selected_members, raters = people_list.get_selected_people(
        project, request.POST.getlist("person")
    )
    if action == "write" and raters:  # the page belongs to a higher package
        ids = ",".join(str(rater.pk) for rater in raters)
        address = reverse("rater_messages", args=[project.pk])
        return redirect(f"{address}?{urlencode({'rater': ids, 'back': 'people'})}")
    undo = ""
    try:
        if not (selected_members or raters):
            messages.error(request, _("Select at least one row."))
        elif action in ("role", "remove"):
            undo = _change_members(request, project, selected_members, action)
        else:
            undo = _pause_or_resume(request, project, raters, action)
    except InvalidProjectChange as error:
        messages.error(request, str(error))
    return _redirect_to_list(request, project, undo)


def _pause_or_resume(
    request: HttpRequest, project: Project, raters: list[Rater], action: str
) -> str:
    if not raters:
        messages.error(request, _("None of them is a rater."))
        return ""
    is_pause = action == "pause"
    changed, undo = bulk_actions.set_paused(
        project=project, raters=raters, paused=is_pause, by=request.user
    )
    n = len(changed)
    if is_pause:
        message = ngettext(
            "%(n)s rater paused.",
            "%(n)s raters paused.",
            n,
        )
    else:
        message = ngettext("%(n)s rater resumed.", "%(n)s raters resumed.", n)
    messages.success(request, message % {"n": n})
    return undo


def _change_members(
    request: HttpRequest, project: Project, selected_members: list[Member], action: str
) -> str:
    """Change the role of the members, or remove them."""
    if not selected_members:
        messages.error(request, _("None of them has a role here."))
        return ""
    values = {"names": ", ".join(member.user.get_username() for member in selected_members)}
    if action == "remove":
        undo = bulk_actions.remove_members(
            project=project, members=selected_members, by=request.user
        )
        message = _("Removed: %(names)s. Their ratings are kept.")
    else:
        role = request.POST.get("role", "")
        undo = bulk_actions.set_role(
            project=project, members=selected_members, role=role, by=request.user
        )
        message = _("Role changed: %(names)s.")
    messages.success(request, message % values)
    return undo


@login_required
@require_POST
def undo_action(request: HttpRequest, project_id: int) -> HttpResponse:
    """Undo a bulk action on people; ``undo`` is the token in the response to it."""
    project = get_project(request.user, project_id, role=LEAD)
    try:
        bulk_actions.undo_action(
            project=project, token=request.POST.get("undo", ""), by=request.user
        )
        messages.success(request, _("Undone."))
    except InvalidProjectChange as error:
        messages.error(request, str(error))
    return _redirect_to_list(request, project)


def _redirect_to_list(request: HttpRequest, project: Project, undo: str = "") -> HttpResponse:
    """Redirect to the same list.

    A user who does not lead the project any more is redirected to the start page.
    """
    user = request.user
    is_still_lead = user.is_superuser or project.members.filter(user=user.pk, role=LEAD).exists()
    if not is_still_lead:
        return redirect("/")
    query = QueryDict(_encode_list_query(QueryDict(request.POST.get("passed", ""))), mutable=True)
    if undo:
        query["undo"] = undo
    address = reverse("people", args=[project.pk])
    return redirect(f"{address}?{query.urlencode()}" if query else address)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit_rater(request: HttpRequest, project_id: int, rater_id: int) -> HttpResponse:
    """Edit a rater's name, kind and group, and the member who rates as it."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    rater = get_object_or_404(project.raters, pk=rater_id)
    project_members = list(project.members.select_related("user").order_by("user__username"))
    initial = {
        "name": rater.name,
        "kind": rater.kind,
        "model": rater.model,
        "prompt_version": rater.prompt_version,
        "group": rater.group,
        "user": rater.user_id or "",
    }
    form = RaterForm(
        request.POST or None,
        initial=initial,
        members=project_members,
        hidden=hasattr(rater, "identity"),
    )
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            updates.change_rater(
                rater=rater,
                by=request.user,
                name=data.get("name", rater.name),
                kind=data["kind"],
                model=data["model"],
                prompt_version=data["prompt_version"],
                group=data["group"],
                user_id=data.get("user", rater.user_id),
            )
        except InvalidProjectChange as error:
            add_form_errors(form, error.fields)
        else:
            messages.success(request, _("Saved."))
            return redirect("people", project.pk)
    status = 400 if form.is_bound else 200
    context = {"project": project, "rater_shown": rater, "form": form}
    return render(request, "projects/rater_change.html", context, status=status)
