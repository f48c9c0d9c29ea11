"""Settings page for the sensitivity of alerts, with the consequences of each choice."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from core.text import describe_saved
from core.web.forms import SettingsForm
from metrics.views.common.number_formats import format_count, format_number
from projects.models import Member
from projects.permissions import get_project
from quality.alerts import sensitivity
from quality.models import AlertMeasure


class SensitivityForm(SettingsForm):
    """The chosen sensitivity; quality.alerts.sensitivity validates it."""

    sensitivity = forms.CharField(required=False)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit_sensitivity(request: HttpRequest, project_id: int) -> HttpResponse:
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    error, status = "", 200
    if request.method == "POST":
        current = sensitivity.get_sensitivity(project.pk)
        form = SensitivityForm(request.POST, initial={"sensitivity": current})
        try:
            if form.is_valid() and (changes := form.get_changes()):
                sensitivity.set_sensitivity(project=project, by=request.user, **changes)
        except sensitivity.InvalidSensitivity as invalid:
            form.add_error("sensitivity", str(invalid))
        if not form.errors:
            messages.success(request, describe_saved(_("Alert sensitivity")))
            return redirect("alert_settings", project_id=project.pk)
        error, status = str(form.errors["sensitivity"][0]), 400
    context = {
        "project": project,
        "sensitivity": sensitivity.get_sensitivity(project.pk),
        "levels": [
            (option, _describe_option(option))
            for option in sensitivity.list_expected_alerts(project)
        ],
        "error": error,
    }
    return render(request, "quality/alerts/sensitivity.html", context, status=status)


def _describe_option(option: sensitivity.ExpectedAlerts) -> list[str]:
    """Return sentences on the error rate and the detection delay at one sensitivity."""
    years = round(option.years_per_false_alert)
    sentences = [
        ngettext(
            "At most one false alert per rater and year.",
            "At most one false alert per rater in %(years)s years.",
            years,
        )
        % {"years": format_count(years)}
    ]
    if option.false_alerts_per_year is None or option.items is None:
        return sentences
    params = {
        "a_year": format_number(option.false_alerts_per_year, 1),
        "items": format_count(int(round(option.items, -1 if option.items >= 100 else 0))),
        "shift": format_number(option.shift),
    }
    sentences.append(_("At most %(a_year)s per year with the raters of the last 90 days.") % params)
    if option.measure == AlertMeasure.BIAS:
        delay = _("Detects a shift of %(shift)s categories after about %(items)s shared items.")
    else:
        delay = _("Detects a drop of %(shift)s in kappa after about %(items)s shared items.")
    return [*sentences, delay % params]
