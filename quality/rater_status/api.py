"""API of rater statuses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.pagination import CursorKey, paginate
from core.api.parameters import get_choice, parse_query_parameters
from core.api.schema import (
    PAGE_PARAMETERS,
    QUESTION_PARAMETER,
    build_page_serializer,
    build_parameter,
    describe_get,
)
from metrics.api.filtered import POPULATION_KINDS
from metrics.api.serializers import ValueOut
from metrics.question_scale import QuestionScale
from projects.api.base import ApiView, get_question
from projects.models import Member, Rater
from quality.models import AlertMeasure, DriftState

from .reasons import RaterStatus, ReasonCode, StatusReason
from .status import RaterSummary, build_undefined_value, list_rater_summaries
from .status_texts import describe_note, get_reason_text


class DriftStateOut(serializers.Serializer):
    watched = serializers.BooleanField(help_text="Too little evidence for an alert, but close")
    evidence = serializers.FloatField(help_text="250: watched; 5,000: alert")
    measure = serializers.ChoiceField(AlertMeasure.values, allow_null=True)
    since = serializers.DateField(allow_null=True)
    size = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField(help_text="Compared items in the current segment")
    reason = serializers.CharField(allow_null=True, help_text="too_short, no_peers, not_counted")


class StatusReasonOut(serializers.Serializer):
    code = serializers.ChoiceField([code.value for code in ReasonCode])
    text = serializers.CharField(help_text="The reason as a text")
    value = serializers.FloatField(
        allow_null=True, help_text="Size of the alert or drift, or accuracy on gold answers"
    )
    low = serializers.FloatField(allow_null=True, help_text="Lower end of its 95% interval")
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField(allow_null=True, help_text="Number of items behind it")


class RaterStatusOut(serializers.Serializer):
    rater = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    kind = serializers.ChoiceField(["human", "model"])
    group = serializers.CharField(allow_blank=True)
    status = serializers.ChoiceField([status.value for status in RaterStatus])
    impact = serializers.FloatField(
        allow_null=True,
        help_text="Expected number of wrong ratings, near misses in part by the question's weights;"
        " null before the items have labels",
    )
    reasons = StatusReasonOut(many=True, help_text="Reasons for the status")
    note = serializers.CharField(
        allow_blank=True,
        help_text="A confirmed alert, or why a rater who seems to differ is OK; else empty",
    )
    ratings = serializers.IntegerField()
    seconds = serializers.FloatField(allow_null=True, help_text="Median seconds per item")
    peers = ValueOut(help_text="Kappa with the others, under the question's weights")
    bias = ValueOut(help_text="Mean signed difference to the others, on ordered scales")
    gold = ValueOut(help_text="Kappa with the gold answers")
    repeats = ValueOut(help_text="Kappa with the rater's own repeated answers")
    drift = DriftStateOut()
    alerts = serializers.ListField(
        child=serializers.IntegerField(), help_text="IDs of unresolved alerts"
    )


# Impacts are compared in steps of a thousandth: a cursor holds integers.
IMPACT_STEPS = 1_000


class RaterStatusListView(ApiView):
    @describe_get(
        "listRaterStatuses",
        "Status of each person who rates, with its reasons, worst first",
        build_page_serializer("RaterStatus", RaterStatusOut),
        [
            QUESTION_PARAMETER,
            build_parameter("population", "Which raters", enum=list(POPULATION_KINDS)),
            *PAGE_PARAMETERS,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        """Return a page of the raters with their statuses, worst first.

        The status of a model is unknown, because the rules are for people.
        """
        project = self.get_project(request, project_id, role=Member.Role.VIEWER)
        params = parse_query_parameters(
            request, ("question", "population", *pagination.PAGE_PARAMETER_NAMES)
        )
        question = get_question(project, params.get("question"))
        population = get_choice(params, "population", list(POPULATION_KINDS), default="people")
        kind = POPULATION_KINDS[population]
        summaries = list_rater_summaries(
            question,
            scale_is_ordered=QuestionScale.for_question(question).type.ordered,
            kinds=[kind] if kind else Rater.Kind.values,
        )
        summary_of_key = {_get_cursor_key(summary): summary for summary in summaries}

        def read(after: CursorKey | None, size: int) -> list[tuple[CursorKey, Any]]:
            keys = sorted(key for key in summary_of_key if not after or key > tuple(after))
            return [(key, _serialize_rater_status(summary_of_key[key])) for key in keys[:size]]

        return Response(paginate(request, params, key_length=3, read=read))


def _get_cursor_key(summary: RaterSummary) -> tuple[int, int, int]:
    """Return the sort key of a rater as integers (status, negative impact, id), worst first."""
    status, negative_impact = summary.rank
    return status, round(negative_impact * IMPACT_STEPS), summary.rater.pk


def _serialize_rater_status(summary: RaterSummary) -> dict[str, object]:
    return {
        "rater": summary.rater.key,
        "name": summary.rater.name,
        "kind": summary.rater.kind,
        "group": summary.rater.group,
        "status": summary.status.value,
        "impact": summary.impact,
        "reasons": [_serialize_reason(reason, summary.rater.pk) for reason in summary.reasons],
        "note": describe_note(summary.note, summary.rater.pk),
        "ratings": summary.n_ratings,
        "seconds": summary.seconds,
        "peers": summary.peers,
        "bias": summary.bias or build_undefined_value("not_ordered"),
        "gold": summary.gold_kappa,
        "repeats": summary.repeat_kappa,
        "drift": _serialize_drift_state(summary.drift),
        "alerts": [alert.pk for alert in summary.alerts],
    }


def _serialize_reason(reason: StatusReason, rater_id: int) -> dict[str, object]:
    return {
        "code": reason.code.value,
        "text": get_reason_text(reason, rater_id),
        "value": reason.value,
        "low": reason.low,
        "high": reason.high,
        "n": reason.n,
    }


def _serialize_drift_state(row: DriftState | None) -> dict[str, object]:
    if row is None:
        empty = dict.fromkeys(("measure", "since", "size", "low", "high"))
        return {"watched": False, "evidence": 0.0, "n": 0, "reason": "not_counted", **empty}
    names = ("watched", "evidence", "since", "size", "low", "high", "n")
    fields = {name: getattr(row, name) for name in names}
    return fields | {"measure": row.measure or None, "reason": row.reason or None}
