"""API of alerts."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.http import Http404
from rest_framework import serializers
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
from core.api.strict_fields import StrictCharField, StrictSerializer
from projects.api.base import ApiView, get_question
from projects.models import Member, Project
from quality.alerts import services
from quality.models import Alert, AlertCause, AlertKind, AlertMeasure, AlertState, AlertStep
from ratings.api.query_times import parse_since


class AlertOut(serializers.Serializer):
    id = serializers.IntegerField()
    question = serializers.CharField(source="question.key")
    kind = serializers.CharField(help_text=", ".join(AlertKind.values))
    rater = serializers.CharField(source="rater.key", allow_null=True)
    other_rater = serializers.CharField(
        source="other_rater.key",
        allow_null=True,
        help_text="The second rater of a pair, or of two possible causes",
    )
    category = serializers.CharField(
        source="facts.category", allow_null=True, help_text="Label of the affected category"
    )
    measure = serializers.ChoiceField(AlertMeasure.values)
    since = serializers.DateField(help_text="Day of the onset, in the project's time zone")
    since_earliest = serializers.DateField(help_text="First day of the 95% interval of the onset")
    since_latest = serializers.DateField(help_text="Last day of that interval")
    detected_on = serializers.DateField(
        help_text="Day whose ratings reached the evidence threshold"
    )
    raised_at = serializers.DateTimeField(
        source="created_at", format=None, help_text="When the alert was created"
    )
    size = serializers.FloatField(
        help_text="Mean change since the onset, in units of the measure: docs/api.md"
    )
    low = serializers.FloatField(help_text="Lower end of its 95% interval")
    high = serializers.FloatField()
    n = serializers.IntegerField(help_text="Items it is based on, from the onset to `detected_on`")
    n_before = serializers.IntegerField(help_text="Items before the onset, in the same segment")
    evidence = serializers.FloatField(help_text="docs/statistics.md; 0 for counts")
    facts = serializers.DictField(help_text="Further data behind the alert: docs/api.md")
    reason = serializers.CharField(allow_null=True, help_text="cannot_tell_who")
    state = serializers.ChoiceField(AlertState.values)
    cause = serializers.ChoiceField(AlertCause.values, allow_null=True)
    muted_until = serializers.DateField(allow_null=True, help_text="Muted until this day")
    supported = serializers.BooleanField(help_text="Whether current ratings still support it")

    def to_representation(self, instance: Alert) -> Any:
        blank_as_null = {"reason": instance.reason or None, "cause": instance.cause or None}
        return super().to_representation(instance) | blank_as_null


class AlertStepOut(serializers.Serializer):
    at = serializers.DateTimeField(format=None)
    by = serializers.CharField(source="by.username", allow_null=True, help_text="null: the system")
    state = serializers.ChoiceField(AlertState.values)
    cause = serializers.ChoiceField(AlertCause.values, allow_null=True)
    muted_until = serializers.DateField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)

    def to_representation(self, instance: AlertStep) -> Any:
        return super().to_representation(instance) | {"cause": instance.cause or None}


class AlertDetailOut(AlertOut):
    steps = AlertStepOut(many=True, help_text="All changes of its state, oldest first")


class AlertStepIn(StrictSerializer):
    state = serializers.ChoiceField(AlertState.values)
    reason = StrictCharField(required=False, allow_blank=True)
    cause = serializers.ChoiceField(
        AlertCause.values,
        required=False,
        help_text="Cause of a resolved alert; real with acknowledged: confirmed",
    )
    muted_until = serializers.DateField(
        required=False, help_text="A muted alert reopens on this day"
    )


VIEWER = Member.Role.VIEWER
LEAD = Member.Role.LEAD
ORDERINGS = {"raised_at": "created_at", "kind": "kind"}


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
        alerts: Any = Alert.objects.in_project(project)
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

        return Response(paginate_rows(request, params, alerts, AlertOut, orderings=ORDERINGS))


class AlertDetailView(ApiView):
    @describe_get("getAlert", "An alert with all changes of its state", AlertDetailOut)
    def get(self, request: Request, project_id: int, alert_id: int) -> Response:
        project = self.get_project(request, project_id, role=VIEWER)
        parse_query_parameters(request)
        return Response(AlertDetailOut(_get_alert_or_404(project, alert_id)).data)

    @describe_write(
        "updateAlert", "Change the state of an alert", body=AlertStepIn, response=AlertDetailOut
    )
    def post(self, request: Request, project_id: int, alert_id: int) -> Response:
        """Change the alert's state and store the step; the numbers of an alert never change."""
        project = self.get_project(request, project_id, role=LEAD)
        alert = _get_alert_or_404(project, alert_id)
        data = self.parse_body(request, AlertStepIn)
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
        return Response(AlertDetailOut(_get_alert_or_404(project, alert_id)).data)


def _get_alert_or_404(project: Project, alert_id: int) -> Alert:
    alert = Alert.objects.in_project(project).filter(pk=alert_id).first()
    if alert is None:
        raise Http404("No such alert.")
    return alert
