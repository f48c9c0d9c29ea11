"""Page on which actions that need a second person are requested and decided."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from projects.models import Approval, Member, Project
from projects.permissions import MAX_ID, get_project
from projects.services import approvals

MAX_SHOWN = 100


class ApprovalForm(forms.Form):
    action = forms.ChoiceField(label=gettext_lazy("Action"), choices=Approval.Action.choices)
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=500)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def list_approvals(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the requests of the project; POST adds one."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    if request.method != "POST":
        initial = {"action": request.GET.get("action", "")}
        return _render_page(request, project, ApprovalForm(initial=initial))
    form = ApprovalForm(request.POST)
    if not form.is_valid():
        return _render_page(request, project, form, status=400)
    approvals.request_approval(project=project, by=request.user, **form.cleaned_data)
    messages.success(request, _("Approval requested."))
    return redirect("approvals", project.pk)


@never_cache
@login_required
@require_POST
def decide_approval(request: HttpRequest, project_id: int, approval_id: int) -> HttpResponse:
    """Approve or reject (``do``) what somebody else requested."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    approval = get_object_or_404(Approval, project=project, pk=min(approval_id, MAX_ID))
    approved = request.POST.get("do") == "approve"
    try:
        approvals.decide_approval(approval=approval, approved=approved, by=request.user)
    except approvals.InvalidApproval as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Approved.") if approved else _("Rejected."))
    return redirect("approvals", project.pk)


def _render_page(
    request: HttpRequest, project: Project, form: ApprovalForm, *, status: int = 200
) -> HttpResponse:
    rows = project.approvals.select_related("requested_by", "decided_by")[:MAX_SHOWN]
    context: dict[str, object] = {
        "project": project,
        "form": form,
        "approvals": rows,
        "is_needed": approvals.is_needed(),
        "may_decide": approvals.may_decide(request.user),
    }
    return render(request, "projects/approvals.html", context, status=status)
