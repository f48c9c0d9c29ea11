"""The page of planning: how much more is to be rated, or how much a study will take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from metrics.agreement import sample_size
from metrics.views.common.selection import chosen_question
from projects.models import Member
from quality.planning import sample_size as planning_sample_size
from quality.planning.overlaps import overlaps


class StudyForm(forms.Form):
    """What is expected of a study of two raters an item that has not begun."""

    kappa = forms.FloatField(label=_("Kappa expected"), min_value=-0.99, max_value=0.99)
    prevalence = forms.FloatField(
        label=_("Share of the rarer category"), min_value=0.001, max_value=0.5
    )
    half_width = forms.FloatField(label=_("Wanted: kappa to ±"), min_value=0.005, max_value=1)
    cost = forms.FloatField(
        label=_("Cost of one rating (may be left out)"), min_value=0, max_value=1e6, required=False
    )


@dataclass(frozen=True)
class Study:
    items: int
    cost: float | None

    @property
    def ratings(self) -> int:
        return 2 * self.items


@login_required
@require_safe
def plan(request: HttpRequest, project_id: int) -> HttpResponse:
    """How many items other half-widths take; with a query, what a study of its own takes."""
    chosen = chosen_question(request, project_id, role=Member.Role.VIEWER)
    asked = any(name in request.GET for name in StudyForm.base_fields)
    form = StudyForm(request.GET if asked else None, initial=_usual())
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "outlook": planning_sample_size.outlook(chosen.question),
        "overlaps": overlaps(chosen.question),
        "form": form,
        "study": _study(form.cleaned_data) if asked and form.is_valid() else None,
    }
    status = 400 if asked and not form.is_valid() else 200
    return render(request, "quality/planning/plan.html", context, status=status)


def _usual() -> dict[str, Any]:
    return {"kappa": 0.6, "prevalence": 0.3, "half_width": 0.05}


def _study(given: dict[str, Any]) -> Study:
    items = sample_size.items_needed_before(
        given["kappa"], given["prevalence"], given["half_width"]
    )
    cost = given["cost"]
    return Study(items, None if cost is None else math.ceil(2 * items * cost))
