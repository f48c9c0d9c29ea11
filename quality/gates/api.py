"""API of gates, their badges, and the public keys of their signatures.

A badge is a small SVG picture with the name of a gate and its last verdict.
"""

from __future__ import annotations

import datetime
from functools import partial
from typing import Any
from xml.sax.saxutils import escape
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import INVALID_PARAMETERS, BadRequest
from core.api.pagination import PAGE_PARAMETER_NAMES, paginate_rows
from core.api.parameters import parse_query_parameters
from core.api.schema import (
    PAGE_PARAMETERS,
    DeletedOut,
    build_page_serializer,
    build_parameter,
    describe_delete,
    describe_get,
    describe_write,
)
from core.api.strict_fields import StrictCharField, StrictSerializer
from projects.api.base import ApiView, get_question
from projects.models import Member, Project
from quality.models import Gate, VerdictValue

from . import services, signing, verdict_jobs
from .rules import MEASURES
from .services import InvalidGate
from .signing import Document
from .verdict_texts import get_verdict_label

# White text on them has a contrast of 4.5 or more.
COLORS = {
    VerdictValue.PASS.value: "#1a7f37",
    VerdictValue.FAIL.value: "#c62828",
    VerdictValue.NOT_ENOUGH.value: "#8a5a00",
}
PENDING_COLOR = NAME_COLOR = "#4a4f57"
HEIGHT, PADDING = 20, 8
NARROW_WIDTH, WIDE_WIDTH = 6.6, 12.0  # of a Latin and of a Chinese character, in pixels
MAX_NAME_LENGTH = 40


def render_badge(gate: Gate) -> str:
    """Return the badge of a gate as an SVG document, in the active language."""
    name = gate.name if len(gate.name) <= MAX_NAME_LENGTH else f"{gate.name[:MAX_NAME_LENGTH]}…"
    text = get_verdict_label(gate)
    left, right = _measure_width(name), _measure_width(text)
    width = left + right
    label = escape(f"{name}: {text}", {'"': "&quot;"})
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}" role="img"'
        f' aria-label="{label}"><title>{label}</title>'
        f'<rect width="{width}" height="{HEIGHT}" rx="3" fill="{NAME_COLOR}"/>'
        f'<rect x="{left}" width="{right}" height="{HEIGHT}" rx="3"'
        f' fill="{COLORS.get(gate.verdict, PENDING_COLOR)}"/>'
        '<g fill="#fff" font-family="system-ui,sans-serif" font-size="12" text-anchor="middle">'
        f'<text x="{left / 2}" y="14">{escape(name)}</text>'
        f'<text x="{left + right / 2}" y="14">{escape(text)}</text></g></svg>'
    )


def _measure_width(text: str) -> int:
    """Return the width of a part of the badge in pixels."""
    return round(
        sum(WIDE_WIDTH if ord(character) >= 0x2E80 else NARROW_WIDTH for character in text)
        + 2 * PADDING
    )


LEAD, VIEWER = Member.Role.LEAD, Member.Role.VIEWER


class GateRuleIn(serializers.Serializer):
    """A rule, for the schema; quality.gates.rules validates it."""

    measure = serializers.CharField(
        help_text=f"{', '.join(MEASURES)}, or the name of a coefficient with an interval"
    )
    at_least = serializers.FloatField(
        required=False, help_text="Floor, for all measures but open_alerts"
    )
    at_most = serializers.IntegerField(required=False, help_text="Limit, for open_alerts")
    filter = serializers.DictField(
        required=False,
        help_text="Only these ratings: the parameters of filtered agreement (from, to, kind, group,"
        " content_version, exclude, sample, item.NAME), and `attributes`, an object of NAME: value",
    )


class GateIn(StrictSerializer):
    name = StrictCharField(max_length=services.MAX_GATE_NAME_LENGTH)
    question = StrictCharField(required=False, help_text="Key; only where there are several")
    rules = serializers.JSONField()


class GatePatch(StrictSerializer):
    name = StrictCharField(max_length=services.MAX_GATE_NAME_LENGTH, required=False)
    rules = serializers.JSONField(required=False)


@extend_schema_serializer(component_name="GateIn")
class GateInSchema(serializers.Serializer):
    name = serializers.CharField(max_length=services.MAX_GATE_NAME_LENGTH)
    question = serializers.CharField(required=False)
    rules = GateRuleIn(many=True)


@extend_schema_serializer(component_name="GatePatch")
class GatePatchSchema(serializers.Serializer):
    name = serializers.CharField(max_length=services.MAX_GATE_NAME_LENGTH, required=False)
    rules = GateRuleIn(many=True, required=False)


class GateOut(serializers.Serializer):
    name = serializers.CharField()
    question = serializers.CharField()
    rules = GateRuleIn(many=True)
    verdict = serializers.ChoiceField(
        VerdictValue.values, allow_null=True, help_text="Last verdict; null: not decided yet"
    )
    decided_at = serializers.DateTimeField(allow_null=True)
    created_by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()


class GateEstimateOut(serializers.Serializer):
    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(
        allow_null=True, help_text="Of the confidence sequence, which holds however often you ask"
    )
    high = serializers.FloatField(allow_null=True)
    low_once = serializers.FloatField(
        allow_null=True, help_text="Of the 95% interval, which holds for one look"
    )
    high_once = serializers.FloatField(allow_null=True)
    se = serializers.FloatField(allow_null=True)
    observed = serializers.FloatField(allow_null=True)
    expected = serializers.FloatField(allow_null=True)
    n_items = serializers.IntegerField(allow_null=True)
    n_ratings = serializers.IntegerField(allow_null=True)
    reason = serializers.CharField(allow_null=True, help_text="Why there is no value")


class GateRuleOut(GateRuleIn):
    name = serializers.CharField(help_text="What was measured: the coefficient of the headline")
    verdict = serializers.ChoiceField(VerdictValue.values)
    estimate = GateEstimateOut()
    needed_items = serializers.IntegerField(
        allow_null=True, help_text="How many more items decide it, about; null: unknown or none"
    )


class GateVerdictOut(serializers.Serializer):
    format = serializers.IntegerField()
    project = serializers.IntegerField()
    gate = serializers.CharField()
    question = serializers.CharField()
    verdict = serializers.ChoiceField(VerdictValue.values)
    rules = GateRuleOut(many=True)
    as_of = serializers.DateTimeField()
    scale_version = serializers.IntegerField()
    gold_tolerance = serializers.FloatField(
        help_text="Of the question: answers this far from a gold answer are right"
    )
    n_ratings = serializers.IntegerField(help_text="Ratings that enter")
    ratings_hash = serializers.CharField(help_text="SHA-256 of these ratings")
    key_id = serializers.CharField(help_text="Key in /.well-known/jwks.json")
    signature = serializers.CharField(
        help_text="Ed25519, base64url, of the canonical JSON (RFC 8785) of all other fields"
    )


class GateListView(ApiView):
    @describe_get(
        "listGates",
        "The gates of the project, oldest first",
        build_page_serializer("Gate", GateOut),
        PAGE_PARAMETERS,
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=VIEWER)
        query = parse_query_parameters(request, PAGE_PARAMETER_NAMES)
        serialize = partial(map, _serialize_gate)
        return Response(
            paginate_rows(request, query, services.list_gates(project), serialize=serialize)
        )

    @describe_write("createGate", "A new gate", body=GateInSchema, response=GateOut, status=201)
    def post(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        data = self.parse_body(request, GateIn)
        question = get_question(project, data.get("question"))
        try:
            gate = services.create_gate(
                project=project,
                question=question,
                name=data["name"],
                rules=data["rules"],
                by=request.user,
            )
        except InvalidGate as error:
            raise BadRequest("The gate was not created.", fields=error.fields) from None
        location = reverse("api-gate", args=[project.pk, gate.name])
        headers = {"Location": request.build_absolute_uri(location)}
        return Response(_serialize_gate(gate), status=201, headers=headers)


class GateDetailView(ApiView):
    @describe_get("getGate", "A gate with its last verdict", GateOut)
    def get(self, request: Request, project_id: int, gate_name: str) -> Response:
        project = self.get_project(request, project_id, role=VIEWER)
        parse_query_parameters(request)
        return Response(_serialize_gate(services.get_gate(project, gate_name)))

    @describe_write(
        "updateGate",
        "Change the name or the rules of a gate",
        body=GatePatchSchema,
        response=GateOut,
    )
    def patch(self, request: Request, project_id: int, gate_name: str) -> Response:
        """Change the given fields, and leave the others; `rules` replaces all rules."""
        project = self.get_project(request, project_id, role=LEAD)
        gate = services.get_gate(project, gate_name)
        data = self.parse_body(request, GatePatch)
        try:
            gate = services.change_gate(gate=gate, by=request.user, **data)
        except InvalidGate as error:
            raise BadRequest("The gate was not changed.", fields=error.fields) from None
        return Response(_serialize_gate(gate))

    @describe_delete("deleteGate", "Delete a gate", DeletedOut)
    def delete(self, request: Request, project_id: int, gate_name: str) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        parse_query_parameters(request)
        services.delete_gate(gate=services.get_gate(project, gate_name), by=request.user)
        return Response({"deleted": True})


class GateVerdictView(ApiView):
    @describe_get(
        "getGateVerdict",
        "The signed verdict on a gate, as of now or of a past moment",
        GateVerdictOut,
        [
            build_parameter(
                "as_of",
                "ISO-8601 time, like 2026-03-02T18:00+08:00; default: now. Without a time zone in"
                " that of the project",
            )
        ],
        may_be_pending=True,
    )
    def get(self, request: Request, project_id: int, gate_name: str) -> Response:
        """Return the verdict at a moment (see compute_verdict).

        For a question with more than 20,000 ratings, divided by the number of different filters of
        the rules, a worker computes it; until then the response is 202.
        """
        project = self.get_project(request, project_id, role=VIEWER)
        query = parse_query_parameters(request, ("as_of",))
        gate = services.get_gate(project, gate_name)
        document = verdict_jobs.get_or_request_verdict(
            gate, _parse_as_of(query.get("as_of"), project)
        )
        if document is None:
            return Response({"computed_at": None}, status=202, headers={"Retry-After": "2"})
        return Response(document)


class GateBadgeView(ApiView):
    """Badge of a gate as a picture, at the address of a page; by token, too."""

    http_method_names = ["get", "head"]
    schema = None

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        # Browsers that load an image do not accept JSON.
        return super().perform_content_negotiation(request, force=True)

    def get(self, request: Request, project_id: int, gate_name: str) -> HttpResponse:
        project = self.get_project(request, project_id, role=VIEWER)
        gate = services.get_gate(project, gate_name)
        response = HttpResponse(render_badge(gate), content_type="image/svg+xml")
        response["Cache-Control"] = "private, no-cache"
        return response


@require_safe
def serve_public_keys(_request: HttpRequest) -> JsonResponse:
    """Serve the keys with which verdicts can be verified, as JSON Web Keys, to everybody."""
    return JsonResponse({"keys": signing.list_public_keys()})


def _parse_as_of(text: str | None, project: Project) -> datetime.datetime | None:
    if text is None:
        return None
    try:
        return verdict_jobs.parse_moment(text, ZoneInfo(project.time_zone))
    except verdict_jobs.InvalidMoment as error:
        raise BadRequest(INVALID_PARAMETERS, fields={"as_of": str(error)}) from None


def _serialize_gate(gate: Gate) -> Document:
    return {
        "name": gate.name,
        "question": gate.question.key,
        "rules": gate.rules,
        "verdict": gate.verdict or None,
        "decided_at": gate.document["as_of"] if gate.document else None,
        "created_by": gate.created_by.get_username() if gate.created_by else None,
        "created_at": gate.created_at,
    }
