"""API of alerts and of rater statuses."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import BadRequest
from core.api.pagination import CursorKey, paginate
from core.api.parameters import get_choice, parse_query
from core.api.schema import (
    PAGE_PARAMETERS,
    QUESTION_PARAMETER,
    build_page_serializer,
    build_parameter,
    describe_get,
    describe_write,
)
from metrics.scale import QuestionScale
from projects.api.base import ApiView, get_question
from projects.models import Member, Project
from quality.alerts import services
from quality.models import Alert, AlertStep, DriftState, AlertState
from quality.rater_status.status import RaterSummary, build_undefined_value, list_rater_summaries

from .serializers import AlertDetailOut, AlertOut, AlertStepIn, RaterStatusOut

VIEWER = Member.Role.VIEWER
LEAD = Member.Role.LEAD
FIELDS = (
    "id", "kind", "measure", "since", "since_earliest", "since_latest", "noticed", "raised_at",
    "size", "low", "high", "n", "n_before", "evidence", "facts", "state", "until", "stands",
)  # fmt: skip


class AlertListView(ApiView):
    @describe_get(
        "listAlarms",
        "What somebody should look at, oldest first",
        build_page_serializer("Alarm", AlertOut),
        [
            build_parameter("question", "Key of a question; all questions when left out"),
            build_parameter("state", "Only alarms in this state", enum=AlertState.values),
            *PAGE_PARAMETERS,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=VIEWER)
        params = parse_query(request, ("question", "state", *pagination.PAGE_PARAMETER_NAMES))
        alerts = _get_project_alerts(project)
        if "question" in params:
            alerts = alerts.filter(question=get_question(project, params["question"]))
        if "state" in params:
            alerts = alerts.filter(state=get_choice(params, "state", AlertState.values, default=""))

        def read(after: CursorKey | None, size: int) -> list[tuple[CursorKey, Any]]:
            next_alerts = alerts.filter(pk__gt=after[0]) if after else alerts
            return [
                ((alert.pk,), _serialize_alert(alert))
                for alert in next_alerts.order_by("pk")[:size]
            ]

        return Response(paginate(request, params, key_length=1, read=read))


class AlertDetailView(ApiView):
    @describe_get("getAlarm", "An alarm with all steps of its life", AlertDetailOut)
    def get(self, request: Request, project_id: int, alarm_id: int) -> Response:
        project = self.get_project(request, project_id, role=VIEWER)
        parse_query(request)
        return Response(_serialize_alert_with_steps(_get_alert_or_404(project, alarm_id)))

    @describe_write(
        "answerAlarm", "Take an alarm a step on", body=AlertStepIn, response=AlertDetailOut
    )
    def post(self, request: Request, project_id: int, alarm_id: int) -> Response:
        """The numbers of an alert never change; every step is stored."""
        project = self.get_project(request, project_id, role=LEAD)
        parse_query(request)
        alert = _get_alert_or_404(project, alarm_id)
        serializer = AlertStepIn(data=request.data)
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data
        try:
            services.change_alert_state(
                alert=alert,
                state=data["state"],
                reason=data.get("reason", ""),
                answer=data.get("answer", ""),
                until=data.get("until"),
                by=request.user,
            )
        except services.InvalidAlertStep as error:
            raise BadRequest(
                "The alarm was not changed.", fields={error.field: error.message}
            ) from None
        return Response(_serialize_alert_with_steps(_get_alert_or_404(project, alarm_id)))


class RaterStatusListView(ApiView):
    @describe_get(
        "listScorecards",
        "What is known of each person who rates, with one status",
        build_page_serializer("Scorecard", RaterStatusOut),
        [QUESTION_PARAMETER, *PAGE_PARAMETERS],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=VIEWER)
        params = parse_query(request, ("question", *pagination.PAGE_PARAMETER_NAMES))
        question = get_question(project, params.get("question"))
        summaries = list_rater_summaries(
            question, ordered=QuestionScale.for_question(question).type.ordered
        )

        def read(after: CursorKey | None, size: int) -> list[tuple[CursorKey, Any]]:
            next_summaries = [
                summary for summary in summaries if not after or summary.rater.pk > after[0]
            ]
            return [
                ((summary.rater.pk,), _serialize_rater_status(summary))
                for summary in next_summaries[:size]
            ]

        return Response(paginate(request, params, key_length=1, read=read))


def _get_project_alerts(project: Project) -> Any:
    alerts = Alert.objects.filter(question__project=project).defer("chart")
    return alerts.select_related("question", "rater", "other")


def _get_alert_or_404(project: Project, alarm_id: int) -> Alert:
    alert: Alert | None = _get_project_alerts(project).filter(pk=alarm_id).first()
    if alert is None:
        raise Http404("No such alarm.")
    return alert


def _serialize_alert(alert: Alert) -> dict[str, Any]:
    return {name: getattr(alert, name) for name in FIELDS} | {
        "question": alert.question.key,
        "rater": alert.rater.key if alert.rater else None,
        "other_rater": alert.other_rater.key if alert.other_rater else None,
        "category": alert.facts.get("category"),
        "reason": alert.reason or None,
        "answer": alert.cause or None,
    }


def _serialize_alert_with_steps(alert: Alert) -> dict[str, Any]:
    steps = AlertStep.objects.filter(alarm=alert).select_related("by")
    return _serialize_alert(alert) | {"steps": [_serialize_step(step) for step in steps]}


def _serialize_step(step: AlertStep) -> dict[str, Any]:
    return {
        "at": step.at,
        "by": step.by.username if step.by else None,
        "state": step.state,
        "answer": step.cause or None,
        "until": step.muted_until,
        "reason": step.reason,
    }


def _serialize_rater_status(summary: RaterSummary) -> dict[str, Any]:
    return {
        "rater": summary.rater.key,
        "name": summary.rater.name,
        "group": summary.rater.group,
        "status": summary.status.value,
        "reasons": summary.reasons,
        "ratings": summary.n_ratings,
        "seconds": summary.seconds,
        "peers": summary.peers,
        "bias": summary.bias or build_undefined_value("not_ordered"),
        "gold": summary.gold_kappa,
        "repeats": summary.repeat_kappa,
        "drift": _serialize_drift_state(summary.drift),
        "alarms": [alert.pk for alert in summary.alerts],
    }


def _serialize_drift_state(row: DriftState | None) -> dict[str, Any]:
    if row is None:
        empty = dict.fromkeys(("measure", "since", "size", "low", "high"))
        return {"watched": False, "evidence": 0.0, "n": 0, "reason": "not_counted", **empty}
    names = ("watched", "evidence", "since", "size", "low", "high", "n")
    fields = {name: getattr(row, name) for name in names}
    return fields | {"measure": row.measure or None, "reason": row.reason or None}
