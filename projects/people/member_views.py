"""The people of a project: members, invitations, raters."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.tokens import default_token_generator
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from groundwork import security
from groundwork.table_files import a_page
from projects.access import get_project
from projects.models import Member, Project
from projects.setup.form_pages import show
from projects.setup.project_rules import Refused

from . import members, offers, raters
from .forms import InviteForm, MemberForm, RaterForm, RoleForm

RATERS_A_PAGE = 50


@never_cache
@login_required
@require_safe
def people(request: HttpRequest, project_id: int) -> HttpResponse:
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    return _page(request, project)


def _page(
    request: HttpRequest, project: Project, *, status: int = 200, **more: Any
) -> HttpResponse:
    known = project.members.select_related("user").order_by("role", "user__username")
    wanted = request.GET.get("q", "").strip()[:150]
    found = project.raters.select_related("user").order_by("key")
    if wanted:
        found = found.filter(
            Q(key__icontains=wanted) | Q(name__icontains=wanted) | Q(group__iexact=wanted)
        )
    context = {
        "project": project,
        "members": list(known),
        "offers": list(offers.of_project(project)),
        "linkable": members.who_may_get_link(project=project, by=request.user),
        "roles": Member.Role.choices,
        "form": MemberForm(),
        "invite_form": InviteForm(prefix="several"),
        "raters": Paginator(found, a_page(RATERS_A_PAGE)).get_page(request.GET.get("page")),
        "wanted": wanted,
        **more,
    }
    return render(request, "projects/people.html", context, status=status)


@never_cache
@login_required
@require_POST
def member_add(request: HttpRequest, project_id: int) -> HttpResponse:
    """Somebody who has an account, and is asked where the lead does not know them; or a new account
    with its invitation link, which is shown this one time."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    form = MemberForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        add: Any = members.invite_member if data["account"] == "new" else members.add_member
        try:
            member = add(
                project=project, username=data["username"], role=data["role"], by=request.user
            )
        except Refused as refused:
            show(form, refused.fields)
        else:
            if member is not None and data["account"] == "new":
                return _page(request, project, link=_link(request, member), link_for=member.user)
            said = _("%(name)s is a member now.")
            if member is None:
                said = _("If there is an account “%(name)s”, its owner is asked to join.")
            messages.success(request, said % {"name": data["username"]})
            return redirect("people", project.pk)
    return _page(request, project, form=form, status=400)


@never_cache
@login_required
@require_POST
def members_invite(request: HttpRequest, project_id: int) -> HttpResponse:
    """Several new accounts with a link each, which are shown this one time."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    form = InviteForm(request.POST, prefix="several")
    if form.is_valid():
        names, role = form.cleaned_data["names"], form.cleaned_data["role"]
        try:
            made = members.invite_members(
                project=project, usernames=names, role=role, by=request.user
            )
        except Refused as refused:
            show(form, refused.fields)
        else:
            fresh = members.who_may_get_link(project=project, by=request.user)
            new = [one for one in made if one.user_id in fresh]
            known = [one.user.get_username() for one in made if one.user_id not in fresh]
            if known:
                said = _("Members now, with the accounts that they have: %(names)s.")
                messages.success(request, said % {"names": ", ".join(known)})
            links = [(one.user.get_username(), _link(request, one)) for one in new]
            return _page(request, project, links=links)
    return _page(request, project, invite_form=form, status=400)


@never_cache
@login_required
@require_POST
def member_link(request: HttpRequest, project_id: int, member_id: int) -> HttpResponse:
    """Another invitation link for somebody who has not chosen a password yet."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    member = get_object_or_404(project.members.select_related("user"), pk=member_id)
    if member.user_id not in members.who_may_get_link(project=project, by=request.user):
        messages.error(
            request, _("This account has a password already, or belongs to other leads as well.")
        )
        return redirect("people", project.pk)
    return _page(request, project, link=_link(request, member), link_for=member.user)


def _link(request: HttpRequest, member: Member) -> str:
    """Signed, for three days, and dead once a password is set."""
    user = member.user
    security.event("link_made", who=user.pk, after={"member": user.get_username()})
    parts = {
        "uidb64": urlsafe_base64_encode(force_bytes(user.pk)),
        "token": default_token_generator.make_token(user),
    }
    return request.build_absolute_uri(reverse("invitation", kwargs=parts))


@login_required
@require_POST
def member_role(request: HttpRequest, project_id: int, member_id: int) -> HttpResponse:
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    member = get_object_or_404(project.members.select_related("user"), pk=member_id)
    form = RoleForm(request.POST)
    try:
        members.change_role(member=member, role=form.data.get("role", ""), by=request.user)
        messages.success(
            request, _("The role of %(name)s is changed.") % {"name": member.user.get_username()}
        )
    except Refused as refused:
        messages.error(request, str(refused))
    return _back(request, project, member)


@login_required
@require_POST
def member_remove(request: HttpRequest, project_id: int, member_id: int) -> HttpResponse:
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    member = get_object_or_404(project.members.select_related("user"), pk=member_id)
    name = member.user.get_username()
    try:
        members.remove_member(member=member, by=request.user)
        messages.success(
            request, _("%(name)s is no member any more; the ratings stay.") % {"name": name}
        )
    except Refused as refused:
        messages.error(request, str(refused))
    return _back(request, project, member)


def _back(request: HttpRequest, project: Project, member: Member) -> HttpResponse:
    """To the people of the project; who is its lead no more may not see them."""
    lead = (
        request.user.is_superuser
        or project.members.filter(user=request.user.pk, role=Member.Role.LEAD).exists()
    )
    return redirect("people", project.pk) if lead else redirect("/")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def rater_change(request: HttpRequest, project_id: int, rater_id: int) -> HttpResponse:
    """A rater's name, kind and group, and as whom a member rates."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    rater = get_object_or_404(project.raters, pk=rater_id)
    who_may = list(project.members.select_related("user").order_by("user__username"))
    initial = {
        "name": rater.name,
        "kind": rater.kind,
        "model": rater.model,
        "prompt_version": rater.prompt_version,
        "group": rater.group,
        "user": rater.user_id or "",
    }
    form = RaterForm(
        request.POST or None, initial=initial, members=who_may, hidden=hasattr(rater, "identity")
    )
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            raters.change_rater(
                rater=rater,
                by=request.user,
                name=data.get("name", rater.name),
                kind=data["kind"],
                model=data["model"],
                prompt_version=data["prompt_version"],
                group=data["group"],
                user_id=data.get("user", rater.user_id),
            )
        except Refused as refused:
            show(form, refused.fields)
        else:
            messages.success(request, _("Saved."))
            return redirect("people", project.pk)
    status = 400 if form.is_bound else 200
    context = {"project": project, "rater_shown": rater, "form": form}
    return render(request, "projects/rater_change.html", context, status=status)


@login_required
@require_POST
def rater_pause(request: HttpRequest, project_id: int, rater_id: int) -> HttpResponse:
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    rater = get_object_or_404(project.raters, pk=rater_id)
    paused = request.POST.get("paused") == "1"
    raters.pause_rater(rater=rater, paused=paused, by=request.user)
    said = (
        _("%(key)s gets no items until you resume.") if paused else _("%(key)s gets items again.")
    )
    messages.success(request, said % {"key": rater.key})
    return redirect("people", project.pk)
