"""Reports on a question: those that were made, one to be read, printed, shared, and as a file."""

from __future__ import annotations

from typing import Any
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
from metrics.reports import report_jobs as asked
from metrics.views.common import live_updates
from metrics.views.common.selection import select
from projects.models import Member, Project
from projects.permissions import get_project

from . import document, texts

LISTED = 100  # the newest


class ReportForm(forms.Form):
    as_of = forms.DateTimeField(
        label=gettext_lazy("As of"),
        required=False,
        help_text=gettext_lazy("In the project’s time zone. Empty: now."),
        widget=forms.DateTimeInput({"type": "datetime-local", "step": 1}),
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def reports(request: HttpRequest, project_id: int) -> HttpResponse:
    """The reports of a project; a lead asks for another one, of now or of a moment that is past."""
    role = Member.Role.LEAD if request.method == "POST" else Member.Role.VIEWER
    project = get_project(request.user, project_id, role=role)
    chosen = select(request, project)
    if chosen is None:
        raise Http404(_("This project has no question yet."))
    with timezone.override(ZoneInfo(project.time_zone)):
        form = ReportForm(request.POST if request.method == "POST" else None)
        valid = form.is_valid()
    if valid:
        try:
            row = asked.ask(chosen.question, as_of=form.cleaned_data["as_of"], by=request.user)
        except asked.NotPast as problem:
            form.add_error("as_of", str(problem))
        else:
            return redirect("report", project.pk, row.pk)
    made = Report.objects.filter(question__project=project).select_related("question", "by")
    context = {
        "project": project,
        "chosen": chosen,
        "form": form,
        "reports": made.defer("facts").order_by("-as_of", "-pk")[:LISTED],
    }
    return render(
        request, "metrics/reports/reports.html", context, status=400 if form.errors else 200
    )


@login_required
@require_safe
def report(request: HttpRequest, project_id: int, number: int) -> HttpResponse:
    """One report, as everybody who may see results reads it; it waits until a worker made it."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    row = _report(project, number)
    if live_updates.asks(request):
        return live_updates.awaited(waiting=row.waiting)
    context: dict[str, Any] = {"project": project, "report": row}
    if row.facts is not None:
        context["title"] = document.title(row.facts)
        context["sections"] = document.sections(row.facts, project.time_zone)
    return render(request, "metrics/reports/report.html", context)


@login_required
@require_safe
def report_file(request: HttpRequest, project_id: int, number: int, form: str) -> HttpResponse:
    """A report as Markdown in the reader's language, or its facts as JSON."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    row = _report(project, number)
    if row.facts is None or form not in ("md", "json"):
        raise Http404(_("There is no such file."))
    answer: HttpResponse
    if form == "json":
        answer = JsonResponse(texts.as_json(row.facts))
    else:
        text = document.markdown(row.facts, project.time_zone)
        answer = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    name = slugify(f"{project.name} {row.question.key} report {row.pk}")
    answer["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return answer


def _report(project: Project, number: int) -> Report:
    rows = Report.objects.filter(question__project=project).select_related("question", "by")
    row = rows.filter(pk=number).first() if number < 2**63 else None
    if row is None:
        raise Http404(_("There is no such report."))
    return row
