"""Pages of alerts: the list, one alert with its chart and history, and the sensitivity."""

from __future__ import annotations

import csv
import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.text import describe_saved
from core.web.forms import SettingsForm
from core.web.tables import clean_row, get_page_size
from metrics.question_scale import QuestionScale
from metrics.views.common import vega_lite
from metrics.views.common.number_formats import format_count, format_number
from metrics.views.common.selection import get_choice, get_page_number
from projects.models import Member, Project
from projects.permissions import get_project
from quality.alerts import sensitivity, services
from quality.alerts.kind_texts import is_reversed
from quality.alerts.kinds import (
    ABOUT_QUESTION,
    CATEGORY_USE,
    DEVIATING_RATINGS,
    EXPLAINED_BY_REVERSAL,
    KINDS,
    describe_alert,
)
from quality.alerts.text_parts import describe_chance_alerts
from quality.inbox import entry_counts
from quality.models import Alert, AlertMeasure, AlertScan, AlertState, AlertStep, DriftState
from quality.rater_status import status_texts

from . import alert_evidence

VIEWER = Member.Role.VIEWER
LEAD = Member.Role.LEAD
ALERTS_PER_PAGE = 50
MUTE_DAYS = (1, 7, 30)
PAUSE = "pause"  # begins the value of "do" that pauses a rater
INBOX = "inbox"  # value of "from" when the inbox led to the alert


@login_required
@require_safe
def show_alerts(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the alerts of a project or of one of its questions, newest first.

    Resolved alerts are hidden unless the query asks for a state.
    """
    project = get_project(request.user, project_id, role=VIEWER)
    state = get_choice(request.GET, "state", AlertState.values)
    alerts, question = Alert.objects.in_project(project), None
    if question_key := request.GET.get("question"):
        question = next(
            (candidate for candidate in project.questions.all() if candidate.key == question_key),
            None,
        )
        if question is None:
            raise Http404(_("Page not found."))
        alerts = alerts.filter(question=question)
    alerts = alerts.filter(state=state) if state else alerts.exclude(state=AlertState.RESOLVED)
    paginator = Paginator(alerts.order_by_newest(), get_page_size(ALERTS_PER_PAGE))
    number = get_page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("Page not found."))
    page = paginator.page(number)
    watched = DriftState.objects.filter(question__project=project, watched=True)
    runs = list(AlertScan.objects.filter(question__project=project).select_related("question"))
    context = {
        "project": project,
        "page": page,
        "alerts": [(alert, KINDS[alert.kind].sentence(alert)) for alert in page.object_list],
        "state": state or "",
        "question": question,
        "inbox_entries": _list_other_tasks(project),
        "states": AlertState.choices,
        "watched": watched.select_related("rater", "question").order_by("-evidence")[:20],
        "last_scan": max((run.computed_at for run in runs if run.computed_at), default=None),
        "not_scanned": [
            (run.question, status_texts.NOT_SCANNED_TEXTS[run.reason]) for run in runs if run.reason
        ],
    }
    return render(request, "quality/alerts/list.html", context)


@login_required
@require_safe
def show_alert(request: HttpRequest, project_id: int, alert_id: int) -> HttpResponse:
    project = get_project(request.user, project_id, role=VIEWER)
    return _render_alert(request, project, _get_alert_or_404(project, alert_id))


@login_required
@require_POST
def change_state(request: HttpRequest, project_id: int, alert_id: int) -> HttpResponse:
    """Change the state of an alert: acknowledged, muted, resolved or open again; for leads.

    ``do``: the state, followed by ":" and the cause if there is one; or PAUSE, ":" and a
    rater's id, which confirms the alert and pauses the rater. An invalid step shows the alert
    with the error.
    """
    project = get_project(request.user, project_id, role=LEAD)
    alert = _get_alert_or_404(project, alert_id)
    state, _sep, cause = request.POST.get("do", "").partition(":")
    reason = request.POST.get("reason", "")
    to_pause = [rater for rater in alert.raters if state == PAUSE and cause == str(rater.pk)]
    try:
        muted_until = (
            _parse_date(request.POST.get("muted_until", "")) if state == AlertState.MUTED else None
        )
        if to_pause:
            services.confirm_and_pause(
                alert=alert, rater=to_pause[0], reason=reason, by=request.user
            )
        else:
            services.change_alert_state(
                alert=alert,
                state=state,
                cause=cause,
                reason=reason,
                muted_until=muted_until,
                by=request.user,
            )
    except services.InvalidAlertStep as error:
        return _render_alert(request, project, alert, error=error.message, status=400)
    if request.POST.get("from") == INBOX:
        return redirect("inbox")
    return redirect("alert", project_id=project.pk, alert_id=alert.pk)


@login_required
@require_safe
def export_chart(request: HttpRequest, project_id: int, alert_id: int, form: str) -> HttpResponse:
    """Return the chart of an alert as a file; Http404 for another form than json and csv.

    ``form``: json (specification, rows and locale) or csv (rows).
    """
    project = get_project(request.user, project_id, role=VIEWER)
    alert = Alert.objects.filter(question__project=project, pk=alert_id).first()
    if alert is None or form not in ("json", "csv"):
        raise Http404(_("Page not found."))
    rows = alert_evidence.list_chart_rows(alert)
    if form == "json":
        spec = alert_evidence.build_spec(alert)
        return JsonResponse({"spec": spec, "rows": rows, "locale": vega_lite.build_locale()})
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="concord-alert-{alert.pk}.csv"'
    columns = ["start", "value", "n", "part", "level"]
    writer = csv.writer(response)
    writer.writerow(columns)
    writer.writerows(clean_row(row[column] for column in columns) for row in rows)
    return response


def _list_other_tasks(project: Any) -> list[entry_counts.EntryCount]:
    """Return the reader's inbox entries of the project other than alerts."""
    entries = entry_counts.get_project_entries(project)
    return [entry for entry in entries if entry.kind != entry_counts.ALERTS]


def _get_alert_or_404(project: Project, alert_id: int) -> Alert:
    alert = Alert.objects.in_project(project).defer(None).filter(pk=alert_id).first()
    if alert is None:
        raise Http404(_("Page not found."))
    return alert


def _list_mute_choices() -> list[tuple[str, str]]:
    """Return (day on which the alert reopens, duration as text) of each choice."""
    today = timezone.now().date()
    return [
        (
            (today + datetime.timedelta(days=days)).isoformat(),
            ngettext("%(n)s day", "%(n)s days", days) % {"n": days},
        )
        for days in MUTE_DAYS
    ]


def _parse_date(text: str) -> datetime.date | None:
    """Return the date of a text such as 2026-11-23, or None if it is empty.

    Raises InvalidAlertStep for another text.
    """
    if not text:
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise services.InvalidAlertStep(
            "muted_until", _("Enter a date such as 2026-11-23.")
        ) from None


def _render_alert(
    request: HttpRequest, project: Project, alert: Alert, *, error: str = "", status: int = 200
) -> HttpResponse:
    scale, definition = QuestionScale.for_question(alert.question), KINDS[alert.kind]
    context: dict[str, object] = {
        "project": project,
        "alert": alert,
        "kind": definition,
        "sentence": describe_alert(
            alert, is_reversed=alert.kind in EXPLAINED_BY_REVERSAL and is_reversed(alert)
        ),
        "basis": [*definition.basis(alert), definition.error_rate(alert)],
        "explanations": definition.explanations(alert),
        "link": definition.link(alert),
        "rows": alert_evidence.list_chart_rows(alert),
        "weekly": definition.about == ABOUT_QUESTION,
        "category_use": alert_evidence.compute_category_use(alert, scale)
        if CATEGORY_USE in definition.sections
        else None,
        "deviating_ratings": alert_evidence.list_deviating_ratings(alert, scale)
        if DEVIATING_RATINGS in definition.sections
        else None,
        "steps": AlertStep.objects.filter(alert=alert).select_related("by"),
        "mute_choices": _list_mute_choices(),
        "outcomes": [
            (f"{AlertState.RESOLVED}:{cause}", label) for cause, label in definition.causes.items()
        ],
        "to_pause": [rater for rater in alert.raters if not rater.paused],
        "error": error,
        "reason": request.POST.get("reason", ""),
        "from_inbox": INBOX in (request.GET.get("from"), request.POST.get("from")),
    }
    return render(request, "quality/alerts/detail.html", context, status=status)


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
    """Return sentences on the error rate and the detection delay at one sensitivity.

    Only the rate for one rater while the project has no data.
    """
    years = round(option.years_per_false_alert)
    sentences = [describe_chance_alerts(years)]
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
