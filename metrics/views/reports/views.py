"""Views of the reports on a question: list, page and files."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from metrics.models import Report
from metrics.reports import ReportDateInFuture, get_or_request_report
from metrics.views.common import live_updates
from metrics.views.common.selection import find_selection
from projects.models import Member, Project
from projects.permissions import get_project

from . import cautions_and_methods, document

MAX_LISTED = 100  # the newest reports


class ReportForm(forms.Form):
    """Form that requests a report as of a moment."""

    as_of = forms.DateTimeField(
        label=gettext_lazy("As of"),
        required=False,
        help_text=gettext_lazy("Ratings recorded by then (project time zone). Blank: now."),
        widget=forms.DateTimeInput({"type": "datetime-local", "step": 1}),
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def show_reports(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the reports of a project.

    POST by a lead requests another, as of now or of a past moment. Raises Http404 for a project
    without questions.
    """
    role = Member.Role.LEAD if request.method == "POST" else Member.Role.VIEWER
    project = get_project(request.user, project_id, role=role)
    selection = find_selection(request, project)
    if selection is None:
        raise Http404(_("This project has no questions yet."))
    with timezone.override(ZoneInfo(project.time_zone)):
        form = ReportForm(request.POST if request.method == "POST" else None)
        is_valid = form.is_valid()
    if is_valid:
        try:
            row = get_or_request_report(
                selection.question, as_of=form.cleaned_data["as_of"], by=request.user
            )
        except ReportDateInFuture as error:
            form.add_error("as_of", str(error))
        else:
            return redirect("report", project.pk, row.pk)
    stored_reports = Report.objects.filter(question__project=project).select_related(
        "question", "created_by"
    )
    context = {
        "project": project,
        "selection": selection,
        "form": form,
        "reports": stored_reports.defer("facts").order_by("-as_of", "-pk")[:MAX_LISTED],
    }
    return render(
        request, "metrics/reports/reports.html", context, status=400 if form.errors else 200
    )


@login_required
@require_safe
def show_report(request: HttpRequest, project_id: int, number: int) -> HttpResponse:
    """Show one report to anybody who may see results; pending until a worker has computed it."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    row = _get_report(project, number)
    if live_updates.is_live_request(request):
        return live_updates.build_pending_response(pending=row.pending)
    context: dict[str, object] = {"project": project, "report": row}
    if row.facts is not None:
        context["title"] = document.build_title(row.facts)
        context["sections"] = document.build_sections(row.facts, row.question)
    return render(request, "metrics/reports/report.html", context)


@login_required
@require_safe
def download_report(request: HttpRequest, project_id: int, number: int, form: str) -> HttpResponse:
    """Return a report as Markdown in the reader's language, or its facts as JSON.

    Raises Http404 for another format, an unknown report, and one that is still pending.
    """
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    row = _get_report(project, number)
    if row.facts is None or form not in ("md", "json"):
        raise Http404(_("Page not found."))
    response: HttpResponse
    if form == "json":
        response = JsonResponse(cautions_and_methods.build_json(row.facts))
    else:
        text = document.render_markdown(row.facts, row.question)
        response = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    name = slugify(f"{project.name} {row.question.key} report {row.pk}")
    response["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return response


def _get_report(project: Project, number: int) -> Report:
    rows = Report.objects.filter(question__project=project)
    rows = rows.select_related("question__project", "created_by")
    row = rows.filter(pk=number).first() if number < 2**63 else None
    if row is None:
        raise Http404(_("Page not found."))
    return row
