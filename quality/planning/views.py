"""Planning page: how many more items a question needs, and how many a new study takes."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from metrics.views.common.selection import get_permitted_selection
from projects.models import Member
from quality.planning import sample_size as planning_sample_size
from quality.planning.sample_size import StudyPlan, compute_overlap_plans, plan_study


class StudyForm(forms.Form):
    """Expectations for a study that has not begun, with two raters per item."""

    kappa = forms.FloatField(label=_("Expected kappa"), min_value=-0.99, max_value=0.99)
    prevalence = forms.FloatField(
        label=_("Share of the rarer category"), min_value=0.001, max_value=0.5
    )
    half_width = forms.FloatField(label=_("Margin of kappa (±)"), min_value=0.005, max_value=1)
    cost = forms.FloatField(
        label=_("Cost per rating (optional)"), min_value=0, max_value=1e6, required=False
    )


@login_required
@require_safe
def show_plan(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the items needed for several interval widths; with a query, the size of a study."""
    selection = get_permitted_selection(request, project_id, role=Member.Role.VIEWER)
    is_submitted = any(name in request.GET for name in StudyForm.base_fields)
    form = StudyForm(request.GET if is_submitted else None, initial=_get_default_study())
    context = {
        "project": selection.project,
        "selection": selection,
        "outlook": planning_sample_size.plan_sample_size(selection.question),
        "overlaps": compute_overlap_plans(selection.question),
        "form": form,
        "study": _plan_study(form) if is_submitted and form.is_valid() else None,
    }
    status = 400 if is_submitted and form.errors else 200
    return render(request, "quality/planning/plan.html", context, status=status)


def _get_default_study() -> dict[str, Any]:
    return {"kappa": 0.6, "prevalence": 0.3, "half_width": 0.05}


def _plan_study(form: StudyForm) -> StudyPlan | None:
    """Return the size of the study; None, with an error of the form, where it is impossible."""
    try:
        return plan_study(**form.cleaned_data)
    except ValueError:
        form.add_error("kappa", _("Two raters can’t reach this kappa with this share."))
        return None
