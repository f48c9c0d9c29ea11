"""How people come into a project, and what is said of a rater by hand. (The list of them:
people_views.py.)"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.tokens import default_token_generator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from core import security_log
from projects.forms.members import InviteForm, MemberForm, RaterForm
from projects.models import Member
from projects.permissions import get_project
from projects.services.members import membership
from projects.services.project_validation import Refused
from projects.services.raters import updates
from projects.views.form_handling import show

from .people import people_page


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
        add: Any = membership.invite_member if data["account"] == "new" else membership.add_member
        try:
            member = add(
                project=project, username=data["username"], role=data["role"], by=request.user
            )
        except Refused as refused:
            show(form, refused.fields)
        else:
            if member is not None and data["account"] == "new":
                link = _link(request, member)
                return people_page(request, project, link=link, link_for=member.user)
            said = _("%(name)s is a member now.")
            if member is None:
                said = _("If there is an account “%(name)s”, its owner is asked to join.")
            messages.success(request, said % {"name": data["username"]})
            return redirect("people", project.pk)
    return people_page(request, project, form=form, status=400)


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
            made = membership.invite_members(
                project=project, usernames=names, role=role, by=request.user
            )
        except Refused as refused:
            show(form, refused.fields)
        else:
            fresh = membership.who_may_get_link(project=project, by=request.user)
            new = [one for one in made if one.user_id in fresh]
            known = [one.user.get_username() for one in made if one.user_id not in fresh]
            if known:
                said = _("Members now, with the accounts that they have: %(names)s.")
                messages.success(request, said % {"names": ", ".join(known)})
            links = [(one.user.get_username(), _link(request, one)) for one in new]
            return people_page(request, project, links=links)
    return people_page(request, project, invite_form=form, status=400)


@never_cache
@login_required
@require_POST
def member_link(request: HttpRequest, project_id: int, member_id: int) -> HttpResponse:
    """Another invitation link for somebody who has not chosen a password yet."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    member = get_object_or_404(project.members.select_related("user"), pk=member_id)
    if member.user_id not in membership.who_may_get_link(project=project, by=request.user):
        messages.error(
            request, _("This account has a password already, or belongs to other leads as well.")
        )
        return redirect("people", project.pk)
    return people_page(request, project, link=_link(request, member), link_for=member.user)


def _link(request: HttpRequest, member: Member) -> str:
    """Signed, for three days, and dead once a password is set."""
    user = member.user
    security_log.event("link_made", who=user.pk, after={"member": user.get_username()})
    parts = {
        "uidb64": urlsafe_base64_encode(force_bytes(user.pk)),
        "token": default_token_generator.make_token(user),
    }
    return request.build_absolute_uri(reverse("invitation", kwargs=parts))


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
        except Refused as refused:
            show(form, refused.fields)
        else:
            messages.success(request, _("Saved."))
            return redirect("people", project.pk)
    status = 400 if form.is_bound else 200
    context = {"project": project, "rater_shown": rater, "form": form}
    return render(request, "projects/rater_change.html", context, status=status)
