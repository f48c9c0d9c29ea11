"""Views to add and invite members, and to answer or withdraw an offer of a role."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from projects.forms.members import InviteForm, MemberForm, ModelRaterForm
from projects.models import Member, Rater
from projects.permissions import get_project
from projects.services.members import invitation_links, membership, role_offers
from projects.services.project_validation import InvalidProjectChange
from projects.services.raters import upsert
from projects.views.form_handling import add_form_errors

from .people import render_people_page


@login_required
@require_POST
def withdraw_offer(request: HttpRequest, project_id: int, offer_id: int) -> HttpResponse:
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    offer = get_object_or_404(role_offers.list_project_offers(project), pk=offer_id)
    role_offers.withdraw_offer(offer=offer, by=request.user)
    message = _("Invitation for %(name)s withdrawn.") % {"name": offer.username}
    messages.success(request, message)
    return redirect("people", project.pk)


@login_required
@require_POST
def answer_offer(request: HttpRequest, offer_id: int) -> HttpResponse:
    """Accept (``do=accept``, with the role that was shown) or decline an offer."""
    offer = get_object_or_404(role_offers.list_open_offers(request.user), pk=offer_id)
    values = {"name": offer.project.name}
    try:
        if request.POST.get("do") == "accept":
            role_offers.accept_offer(offer=offer, role=request.POST.get("role", ""))
            messages.success(request, _("You joined %(name)s.") % values)
        else:
            role_offers.decline_offer(offer=offer)
            messages.success(request, _("You declined to join %(name)s.") % values)
    except InvalidProjectChange as error:
        messages.error(request, str(error))
    return redirect("projects")


@never_cache
@login_required
@require_POST
def add_member(request: HttpRequest, project_id: int) -> HttpResponse:
    """Add the owner of an account, or create an account.

    The owner is asked if the lead does not know them.

    A new account's invitation link is shown once.
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
            message = _("%(name)s is now a member.")
            if member is None:
                message = _("If the account “%(name)s” exists, its owner is invited.")
            messages.success(request, message % {"name": data["username"]})
            return redirect("people", project.pk)
    return render_people_page(request, project, form=form, status=400)


@never_cache
@login_required
@require_POST
def invite_members(request: HttpRequest, project_id: int) -> HttpResponse:
    """Add known accounts and create the others; the new invitation links are shown once."""
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
                messages.success(request, message % {"names": ", ".join(known_usernames)})
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
    upsert.upsert_raters(
        project=project, rows=[{"key": key, "kind": Rater.Kind.MODEL.value}], by=request.user
    )
    return redirect("rater_edit", project.pk, project.raters.get(key=key).pk)


@never_cache
@login_required
@require_POST
def create_member_link(request: HttpRequest, project_id: int, member_id: int) -> HttpResponse:
    """Create another invitation link for a member who has not chosen a password yet."""
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
    return request.build_absolute_uri(invitation_links.create_invitation_path(member))
