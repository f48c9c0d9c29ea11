"""Views of a project's people: list, add, invite and change them, and offer roles."""

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

from core.text import describe_saved, get_list_separator
from core.web.forms import add_form_errors
from core.web.tables import get_page_size
from projects import selectors
from projects.forms.members import InviteForm, MemberForm, ModelRaterForm, RaterForm
from projects.models import Member, Project, Rater
from projects.permissions import get_project
from projects.services import joining, membership, rater_changes, rater_upsert
from projects.services.project_validation import InvalidProjectChange

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
    """Render the list of a project's people that match the search ``q`` of the request.

    ``extra``: further context, such as invitation links, which are shown once, and invalid forms.
    """
    search = request.GET.get("q", "").strip()[:MAX_SEARCH_LENGTH]
    lines = selectors.list_people(project, search)
    page = Paginator(lines, get_page_size(PAGE_SIZE)).get_page(request.GET.get("page"))
    people_page_data = selectors.build_people_page(project, list(page.object_list))
    undo = request.GET.get("undo", "")
    context = {
        "project": project,
        "n_people": len(lines),
        "page": page,
        "people_page": people_page_data,
        "grouped": any(
            person.rater is not None and person.rater.group for person in people_page_data.people
        ),
        "offers": list(joining.list_project_offers(project)),
        "linkable": membership.get_linkable_user_ids(project=project, by=request.user),
        "roles": Member.Role.choices,
        "form": MemberForm(),
        "invite_form": InviteForm(prefix="several"),
        "model_form": ModelRaterForm(prefix="model", project=project),
        "search": search,
        "passed": _encode_list_query(request.GET),
        "undo": undo if membership.can_undo(project=project, token=undo, by=request.user) else "",
        **extra,
    }
    return render(request, "projects/people.html", context, status=status)


def _encode_list_query(query: QueryDict) -> str:
    """Return the query string that leads back to the same list after an action."""
    return urlencode({name: query[name] for name in ("q", "page") if query.get(name)})


@login_required
@require_POST
def run_bulk_action(request: HttpRequest, project_id: int) -> HttpResponse:
    """Apply the action ``do`` (pause, resume, write, role or remove) to the selected people.

    Raises BadRequest for another action, and for people who are not in the project.
    """
    project = get_project(request.user, project_id, role=LEAD)
    action = request.POST.get("do", "")
    if action not in ACTIONS:
        raise BadRequest(_("Choose an action."))
    selected_members, raters = selectors.get_selected_people(
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
    changed, undo = membership.pause_or_resume_raters(
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
    """Change the role of the members, or remove them; return a token to undo it.

    The token is empty if there are no members. Raises InvalidProjectChange if the role is unknown
    or the project would be left without a lead.
    """
    if not selected_members:
        messages.error(request, _("None of them is a member."))
        return ""
    if action == "remove":
        undo = membership.remove_members(project=project, members=selected_members, by=request.user)
        names = get_list_separator().join(member.user.get_username() for member in selected_members)
        message = _("Removed: %(names)s. Their ratings are kept.") % {"names": names}
    else:
        role = request.POST.get("role", "")
        undo = membership.set_role_of_members(
            project=project, members=selected_members, role=role, by=request.user
        )
        message = describe_saved(_("Role"))
    messages.success(request, message)
    return undo


@login_required
@require_POST
def undo_action(request: HttpRequest, project_id: int) -> HttpResponse:
    """Undo a bulk action on people; ``undo`` is the token that the page got after the action."""
    project = get_project(request.user, project_id, role=LEAD)
    try:
        membership.undo_action(project=project, token=request.POST.get("undo", ""), by=request.user)
        messages.success(request, _("Undone."))
    except InvalidProjectChange as error:
        messages.error(request, str(error))
    return _redirect_to_list(request, project)


def _redirect_to_list(request: HttpRequest, project: Project, undo: str = "") -> HttpResponse:
    """Redirect to the list of people with the query that the form passed on, and ``undo``.

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
    """Edit a rater's name, kind, group and linked member."""
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
            rater_changes.change_rater(
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
            messages.success(request, describe_saved(_("Rater")))
            return redirect("people", project.pk)
    status = 400 if form.is_bound else 200
    context = {"project": project, "rater_shown": rater, "form": form}
    return render(request, "projects/rater_change.html", context, status=status)


@login_required
@require_POST
def withdraw_offer(request: HttpRequest, project_id: int, offer_id: int) -> HttpResponse:
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    offer = get_object_or_404(joining.list_project_offers(project), pk=offer_id)
    joining.withdraw_offer(offer=offer, by=request.user)
    message = _("Invitation withdrawn.")
    messages.success(request, message)
    return redirect("people", project.pk)


@login_required
@require_POST
def answer_offer(request: HttpRequest, offer_id: int) -> HttpResponse:
    """Accept (``do=accept``, with the role that was shown) or decline an offer."""
    offer = get_object_or_404(joining.list_open_offers(request.user), pk=offer_id)
    values = {"name": offer.project.name}
    try:
        if request.POST.get("do") == "accept":
            joining.accept_offer(offer=offer, role=request.POST.get("role", ""))
            messages.success(request, _("You joined %(name)s.") % values)
        else:
            joining.decline_offer(offer=offer)
            messages.success(request, _("Invitation declined."))
    except InvalidProjectChange as error:
        messages.error(request, str(error))
    return redirect("projects")


@never_cache
@login_required
@require_POST
def add_member(request: HttpRequest, project_id: int) -> HttpResponse:
    """Add a member: the owner of an existing account, or a new account.

    The owner is asked first, unless the lead knows them. The invitation link of a new account is
    shown once.
    """
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    form = MemberForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        values = {"username": data["username"], "role": data["role"], "by": request.user}
        try:
            if data["account"] == "new":
                email = data.get("email", "")
                member: Any = membership.create_invited_account(
                    project=project, email=email, **values
                )
            else:
                member = membership.add_member(project=project, **values)
        except InvalidProjectChange as error:
            add_form_errors(form, error.fields)
        else:
            if member is not None and data["account"] == "new":
                link = _create_invitation_link(request, member)
                return render_people_page(request, project, link=link, link_for=member.user)
            message = describe_saved(_("Member"))
            if member is None:
                message = _("If “%(name)s” exists, its owner is invited.")
            messages.success(request, message % {"name": data["username"]})
            return redirect("people", project.pk)
    return render_people_page(request, project, form=form, status=400)


@never_cache
@login_required
@require_POST
def invite_members(request: HttpRequest, project_id: int) -> HttpResponse:
    """Add the accounts that the lead knows, and create accounts of the other names.

    The new invitation links are shown once.
    """
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    form = InviteForm(request.POST, prefix="several")
    if form.is_valid():
        people, role = form.cleaned_data["names"], form.cleaned_data["role"]
        try:
            new_members = membership.invite_members(
                project=project,
                usernames=list(people),
                role=role,
                by=request.user,
                emails=people,
            )
        except InvalidProjectChange as error:
            add_form_errors(form, error.fields)
        else:
            linkable_ids = membership.get_linkable_user_ids(project=project, by=request.user)
            members_with_link = [member for member in new_members if member.user_id in linkable_ids]
            known_usernames = [
                member.user.get_username()
                for member in new_members
                if member.user_id not in linkable_ids
            ]
            if known_usernames:
                message = _("Added from existing accounts: %(names)s.")
                messages.success(
                    request, message % {"names": get_list_separator().join(known_usernames)}
                )
            links = [
                (member.user.get_username(), _create_invitation_link(request, member))
                for member in members_with_link
            ]
            return render_people_page(request, project, links=links)
    return render_people_page(request, project, invite_form=form, status=400)


@never_cache
@login_required
@require_POST
def add_model(request: HttpRequest, project_id: int) -> HttpResponse:
    """Create a rater that is a model, and open the form of its name and version."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    form = ModelRaterForm(request.POST, prefix="model", project=project)
    if not form.is_valid():
        return render_people_page(request, project, model_form=form, status=400)
    key = form.cleaned_data["key"]
    rater_upsert.upsert_raters(
        project=project, rows=[{"key": key, "kind": Rater.Kind.MODEL.value}], by=request.user
    )
    return redirect("rater_edit", project.pk, project.raters.get(key=key).pk)


@never_cache
@login_required
@require_POST
def create_member_link(request: HttpRequest, project_id: int, member_id: int) -> HttpResponse:
    """Show, and mail where possible, another invitation link to a member without a password."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    member = get_object_or_404(project.members.select_related("user"), pk=member_id)
    if member.user_id not in membership.get_linkable_user_ids(project=project, by=request.user):
        messages.error(request, _("This account has a password or another lead."))
        return redirect("people", project.pk)
    membership.repeat_invitation(member=member, by=request.user)
    return render_people_page(
        request, project, link=_create_invitation_link(request, member), link_for=member.user
    )


def _create_invitation_link(request: HttpRequest, member: Member) -> str:
    return request.build_absolute_uri(joining.create_invitation_path(member))
