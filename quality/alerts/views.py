"""The list of cases, and a case with its chart, its items, and what is done about it."""

from __future__ import annotations

import csv
import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from core.web.tables import a_page
from metrics.scale import QuestionScale
from metrics.views.common.charts import vega_lite
from metrics.views.common.selection import one_of, page_number
from projects.models import Member, Project
from projects.permissions import get_project
from quality.alerts import evidence, services
from quality.alerts.kinds import DIFFERING, KINDS, THE_QUESTION, USE
from quality.inbox import selectors
from quality.models import Alarm, AlarmStep, DriftRun, DriftStanding, State
from quality.models.alert import AlarmQuerySet
from quality.rater_status import texts

from . import chart

VIEWER = Member.Role.VIEWER
LEAD = Member.Role.LEAD
CASES_A_PAGE = 50


@login_required
@require_safe
def alarms(request: HttpRequest, project_id: int) -> HttpResponse:
    """The cases of a project, or of one of its questions, newest first; those that are not resolved
    unless told otherwise."""
    project = get_project(request.user, project_id, role=VIEWER)
    state = one_of(request.GET, "state", State.values)
    cases, question = _of(project), None
    if key := request.GET.get("question"):
        question = next((one for one in project.questions.all() if one.key == key), None)
        if question is None:
            raise Http404(_("No such question."))
        cases = cases.filter(question=question)
    cases = cases.filter(state=state) if state else cases.exclude(state=State.RESOLVED)
    paginator = Paginator(cases.newest(), a_page(CASES_A_PAGE))
    number = page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("No such page."))
    page = paginator.page(number)
    watched = DriftStanding.objects.filter(question__project=project, watched=True)
    runs = list(DriftRun.objects.filter(question__project=project).select_related("question"))
    context = {
        "project": project,
        "page": page,
        "cases": [(case, KINDS[case.kind].sentence(case)) for case in page.object_list],
        "state": state or "",
        "question": question,
        "decisions": _decisions(project),
        "states": State.choices,
        "watched": watched.select_related("rater", "question").order_by("-evidence")[:20],
        "looked_at": max((run.made_at for run in runs if run.made_at), default=None),
        "not_looked": [(run.question, texts.NOT_LOOKED[run.reason]) for run in runs if run.reason],
    }
    return render(request, "quality/alerts/list.html", context)


@login_required
@require_safe
def alarm(request: HttpRequest, project_id: int, alarm_id: int) -> HttpResponse:
    project = get_project(request.user, project_id, role=VIEWER)
    return _page(request, project, _case(project, alarm_id))


@login_required
@require_POST
def alarm_step(request: HttpRequest, project_id: int, alarm_id: int) -> HttpResponse:
    """One step of its life: looked at, muted, resolved, or open again."""
    project = get_project(request.user, project_id, role=LEAD)
    case = _case(project, alarm_id)
    state, _sep, answer = request.POST.get("do", "").partition(":")
    try:
        until = _date(request.POST.get("until", "")) if state == State.MUTED else None
        services.step(
            alarm=case,
            state=state,
            answer=answer,
            reason=request.POST.get("reason", ""),
            until=until,
            by=request.user,
        )
    except services.Refused as error:
        return _page(request, project, case, error=error.said, status=400)
    return redirect("alarm", project_id=project.pk, alarm_id=case.pk)


@login_required
@require_safe
def alarm_chart(request: HttpRequest, project_id: int, alarm_id: int, form: str) -> HttpResponse:
    """The chart of a case: ``form`` json (specification, rows and locale) or csv (rows)."""
    project = get_project(request.user, project_id, role=VIEWER)
    case = Alarm.objects.filter(question__project=project, pk=alarm_id).first()
    if case is None or form not in ("json", "csv"):
        raise Http404(_("No such chart."))
    rows = chart.rows(case)
    if form == "json":
        spec = chart.spec(case)
        return JsonResponse({"spec": spec, "rows": rows, "locale": vega_lite.locale()})
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="concord-alarm-{case.pk}.csv"'
    columns = ["start", "value", "n", "part", "level"]
    writer = csv.writer(response)
    writer.writerow(columns)
    writer.writerows([row[column] for column in columns] for row in rows)
    return response


def _decisions(project: Any) -> list[selectors.Wait]:
    """What waits for the reader beside the cases."""
    found = selectors.by_project({project.pk: project.role}).get(project.pk, [])
    return [one for one in found if one.what != selectors.CASES]


def _of(project: Project) -> AlarmQuerySet:
    cases = Alarm.objects.filter(question__project=project).defer("chart")
    return cases.select_related("question__project", "rater", "other")


def _case(project: Project, alarm_id: int) -> Alarm:
    case = _of(project).defer(None).filter(pk=alarm_id).first()
    if case is None:
        raise Http404(_("No such alarm."))
    return case


def _date(text: str) -> datetime.date | None:
    if not text:
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise services.Refused("until", _("Write the day as 2026-12-31.")) from None


def _page(
    request: HttpRequest, project: Project, case: Alarm, *, error: str = "", status: int = 200
) -> HttpResponse:
    scale, kind = QuestionScale.of(case.question), KINDS[case.kind]
    context: dict[str, Any] = {
        "project": project,
        "case": case,
        "kind": kind,
        "sentence": kind.sentence(case),
        "basis": [*kind.basis(case), kind.promise(case)],
        "explanations": kind.explanations(case),
        "place": kind.place(case),
        "rows": chart.rows(case),
        "weekly": kind.about == THE_QUESTION,
        "use": evidence.use(case, scale) if USE in kind.shows else None,
        "differing": evidence.differing(case, scale) if DIFFERING in kind.shows else None,
        "steps": AlarmStep.objects.filter(alarm=case).select_related("by"),
        "answers": [(answer.value, label) for answer, label in kind.answers.items()],
        "error": error,
        "reason": request.POST.get("reason", ""),
    }
    return render(request, "quality/alerts/detail.html", context, status=status)
