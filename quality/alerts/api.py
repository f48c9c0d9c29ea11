"""API of alerts."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import BadRequest
from core.api.pagination import PAGE_PARAMETER_NAMES, paginate_rows
from core.api.parameters import get_choice, parse_query_parameters
from core.api.schema import (
    PAGE_PARAMETERS,
    build_ordering_parameter,
    build_page_serializer,
    build_parameter,
    build_since_parameter,
    describe_get,
    describe_write,
)
from projects.api.base import ApiView, get_question
from projects.models import Member, Project
from quality.alerts import services
from quality.models import Alert, AlertKind, AlertState, AlertStep
from ratings.api.query_times import parse_since

from .serializers import AlertDetailOut, AlertOut, AlertStepIn

VIEWER = Member.Role.VIEWER
LEAD = Member.Role.LEAD
ORDERINGS = {"raised_at": "created_at", "kind": "kind"}
FIELDS = (
    "id", "kind", "measure", "since", "since_earliest", "since_latest", "detected_on",
    "size", "low", "high", "n", "n_before", "evidence", "facts", "state", "muted_until",
    "supported",
)  # fmt: skip


class AlertListView(ApiView):
    @describe_get(
        "listAlerts",
        "Alerts, oldest first",
        build_page_serializer("Alert", AlertOut),
        [
            build_parameter("question", "Key of a question; all questions when left out"),
            build_parameter("state", "Only alerts in this state", enum=AlertState.values),
            build_parameter("kind", "Only alerts of this kind", enum=AlertKind.values),
            build_since_parameter("Raised or changed at or after this time"),
            build_ordering_parameter(ORDERINGS),
            *PAGE_PARAMETERS,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=VIEWER)
        params = parse_query_parameters(
            request, ("question", "state", "kind", "since", "ordering", *PAGE_PARAMETER_NAMES)
        )
        alerts = _get_project_alerts(project)
        if "question" in params:
            alerts = alerts.filter(question=get_question(project, params["question"]))
        if "state" in params:
            alerts = alerts.filter(state=get_choice(params, "state", AlertState.values, default=""))

        if "kind" in params:
            alerts = alerts.filter(kind=get_choice(params, "kind", AlertKind.values, default=""))
        if "since" in params:
            since = parse_since(params["since"])
            changed = AlertStep.objects.filter(alert=OuterRef("pk"), at__gte=since)
            alerts = alerts.filter(Q(created_at__gte=since) | Exists(changed))

        serialize = partial(map, _serialize_alert)
        return Response(
            paginate_rows(request, params, alerts, serialize=serialize, orderings=ORDERINGS)
        )


class AlertDetailView(ApiView):
    @describe_get("getAlert", "An alert with all changes of its state", AlertDetailOut)
    def get(self, request: Request, project_id: int, alert_id: int) -> Response:
        project = self.get_project(request, project_id, role=VIEWER)
        parse_query_parameters(request)
        return Response(_serialize_alert_with_history(_get_alert_or_404(project, alert_id)))

    @describe_write(
        "updateAlert", "Change the state of an alert", body=AlertStepIn, response=AlertDetailOut
    )
    def post(self, request: Request, project_id: int, alert_id: int) -> Response:
        """The numbers of an alert never change; every step is stored."""
        project = self.get_project(request, project_id, role=LEAD)
        parse_query_parameters(request)
        alert = _get_alert_or_404(project, alert_id)
        serializer = AlertStepIn(data=request.data)
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data
        try:
            services.change_alert_state(
                alert=alert,
                state=data["state"],
                reason=data.get("reason", ""),
                cause=data.get("cause", ""),
                muted_until=data.get("muted_until"),
                by=request.user,
            )
        except services.InvalidAlertStep as error:
            raise BadRequest(
                "The alert was not changed.", fields={error.field: error.message}
            ) from None
        return Response(_serialize_alert_with_history(_get_alert_or_404(project, alert_id)))


def _get_project_alerts(project: Project) -> Any:
    alerts = Alert.objects.filter(question__project=project).defer("chart")
    return alerts.select_related("question", "rater", "other_rater")


def _get_alert_or_404(project: Project, alert_id: int) -> Alert:
    alert: Alert | None = _get_project_alerts(project).filter(pk=alert_id).first()
    if alert is None:
        raise Http404("No such alert.")
    return alert


def _serialize_alert(alert: Alert) -> dict[str, Any]:
    return {name: getattr(alert, name) for name in FIELDS} | {
        "question": alert.question.key,
        "rater": alert.rater.key if alert.rater else None,
        "other_rater": alert.other_rater.key if alert.other_rater else None,
        "raised_at": alert.created_at,
        "category": alert.facts.get("category"),
        "reason": alert.reason or None,
        "cause": alert.cause or None,
    }


def _serialize_alert_with_history(alert: Alert) -> dict[str, Any]:
    steps = AlertStep.objects.filter(alert=alert).select_related("by")
    return _serialize_alert(alert) | {"steps": [_serialize_step(step) for step in steps]}


def _serialize_step(step: AlertStep) -> dict[str, Any]:
    return {
        "at": step.at,
        "by": step.by.username if step.by else None,
        "state": step.state,
        "cause": step.cause or None,
        "muted_until": step.muted_until,
        "reason": step.reason,
    }
