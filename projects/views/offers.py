"""Views of offers: leads withdraw them, and users accept or decline them."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from projects.models import Member
from projects.permissions import get_project
from projects.services.members import role_offers
from projects.services.project_validation import InvalidProjectChange


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
