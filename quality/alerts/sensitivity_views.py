"""The page where a lead says how much evidence rings, and sees what that means here."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from metrics.views.common.number_formats import figure, whole
from projects.models import Member
from projects.permissions import get_project
from quality.alerts import sensitivity
from quality.models import Measure


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def alarm_rules(request: HttpRequest, project_id: int) -> HttpResponse:
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    error, status = "", 200
    if request.method == "POST":
        chosen = request.POST.get("sensitivity", "")
        try:
            sensitivity.choose(project=project, sensitivity=chosen, by=request.user)
        except sensitivity.Refused as refused:
            error, status = str(refused), 400
        else:
            messages.success(request, _("Saved."))
            return redirect("alarm_rules", project_id=project.pk)
    context = {
        "project": project,
        "chosen": sensitivity.chosen(project.pk),
        "levels": [(one, _meaning(one)) for one in sensitivity.expected(project)],
        "error": error,
    }
    return render(request, "quality/alerts/sensitivity.html", context, status=status)


def _meaning(one: sensitivity.Expected) -> list[str]:
    """What is promised, and what it costs, in sentences."""
    years = round(one.years)
    said = [
        ngettext(
            "At most one false alarm in a year of one rater’s work.",
            "At most one false alarm in %(years)s years of one rater’s work.",
            years,
        )
        % {"years": whole(years)}
    ]
    if one.a_year is None or one.items is None or one.days is None:
        return said
    told = {
        "a_year": figure(one.a_year, 1),
        "items": whole(int(round(one.items, -1 if one.items >= 100 else 0))),
        "days": whole(round(one.days)),
        "shift": figure(one.shift),
    }
    said.append(
        _("With the raters of the newest 90 days: at most %(a_year)s false alarms a year.") % told
    )
    if one.measure == Measure.BIAS:
        delay = _(
            "Who rates %(shift)s categories lower or higher is noticed after about %(items)s own"
            " items that others rated too: %(days)s days of work."
        )
    else:
        delay = _(
            "Who loses %(shift)s in kappa is noticed after about %(items)s own items that others"
            " rated too: %(days)s days of work."
        )
    return [*said, delay % told]
