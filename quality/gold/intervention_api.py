"""API of interventions (warnings and pauses by the evidence of gold). For leads only."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import BadRequest
from core.api.pagination import paginate_rows
from core.api.parameters import get_choice, parse_query_parameters
from core.api.schema import (
    PAGE_PARAMETERS,
    build_page_serializer,
    build_parameter,
    describe_get,
    describe_write,
)
from projects.api.base import ApiView, get_question
from projects.models import Member, Project
from quality.gold import interventions
from quality.models import GoldIntervention

from .serializers import GoldInterventionIn, GoldInterventionOut

LEAD = Member.Role.LEAD


class GoldInterventionListView(ApiView):
    @describe_get(
        "listGoldInterventions",
        "Warnings and pauses by answers on gold, oldest first",
        build_page_serializer("GoldIntervention", GoldInterventionOut),
        [
            build_parameter("question", "Key of a question; all questions when left out"),
            build_parameter(
                "state", "Only interventions in this state", enum=GoldIntervention.State.values
            ),
            *PAGE_PARAMETERS,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        params = parse_query_parameters(
            request, ("question", "state", *pagination.PAGE_PARAMETER_NAMES)
        )
        rows = _get_project_interventions(project)
        if "question" in params:
            rows = rows.filter(question=get_question(project, params["question"]))
        if "state" in params:
            rows = rows.filter(
                state=get_choice(params, "state", GoldIntervention.State.values, default="")
            )

        return Response(paginate_rows(request, params, rows, GoldInterventionOut))


class GoldInterventionDetailView(ApiView):
    @describe_get("getGoldIntervention", "An intervention", GoldInterventionOut)
    def get(self, request: Request, project_id: int, intervention_id: int) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        parse_query_parameters(request)
        return Response(
            GoldInterventionOut(_get_intervention_or_404(project, intervention_id)).data
        )

    @describe_write(
        "decideGoldIntervention",
        "Carry out a proposed intervention, or override it",
        body=GoldInterventionIn,
        response=GoldInterventionOut,
    )
    def post(self, request: Request, project_id: int, intervention_id: int) -> Response:
        """Carry out the intervention, or override it for a reason.

        An override ends the intervention, and the evidence starts again.
        """
        project = self.get_project(request, project_id, role=LEAD)
        intervention = _get_intervention_or_404(project, intervention_id)
        data = self.parse_body(request, GoldInterventionIn)
        try:
            if data["do"] == "carry_out":
                interventions.carry_out_intervention(intervention=intervention, by=request.user)
            else:
                interventions.override_intervention(
                    intervention=intervention, reason=data.get("reason", ""), by=request.user
                )
        except interventions.InvalidIntervention as error:
            raise BadRequest(str(error)) from None
        return Response(
            GoldInterventionOut(_get_intervention_or_404(project, intervention_id)).data
        )


def _get_project_interventions(project: Project) -> Any:
    rows = GoldIntervention.objects.filter(question__project=project)
    return rows.select_related("question", "rater", "by")


def _get_intervention_or_404(project: Project, intervention_id: int) -> GoldIntervention:
    intervention: GoldIntervention | None = (
        _get_project_interventions(project).filter(pk=intervention_id).first()
    )
    if intervention is None:
        raise Http404("No such intervention.")
    return intervention
