"""What was offered: leads withdraw it, and who was asked accepts or declines."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from projects.models import Member
from projects.permissions import get_project
from projects.services.members import offers
from projects.services.project_validation import Refused


@login_required
@require_POST
def offer_withdraw(request: HttpRequest, project_id: int, offer_id: int) -> HttpResponse:
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    offered = get_object_or_404(offers.of_project(project), pk=offer_id)
    offers.withdraw(offered=offered, by=request.user)
    said = _("%(name)s is not asked any more.") % {"name": offered.username}
    messages.success(request, said)
    return redirect("people", project.pk)


@login_required
@require_POST
def offer_answer(request: HttpRequest, offer_id: int) -> HttpResponse:
    """``do=accept`` with the role that was seen; else the answer is no."""
    offered = get_object_or_404(offers.open_to(request.user), pk=offer_id)
    name = {"name": offered.project.name}
    try:
        if request.POST.get("do") == "accept":
            offers.accept(offered=offered, role=request.POST.get("role", ""))
            messages.success(request, _("You are a member of %(name)s now.") % name)
        else:
            offers.decline(offered=offered)
            messages.success(request, _("You declined to join %(name)s.") % name)
    except Refused as refused:
        messages.error(request, str(refused))
    return redirect("projects")
