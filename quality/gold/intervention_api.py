"""The API of warnings and pauses by the evidence of gold. For leads alone."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import BadRequest
from core.api.pagination import Key, page
from core.api.parameters import choice, parameters
from core.api.schema import PAGING, page_of, parameter, reads, writes
from projects.api.base import ApiView, question_of
from projects.models import Member, Project
from quality.exams.serializers import ActIn, ActOut
from quality.gold import interventions
from quality.models import GoldAct

LEAD = Member.Role.LEAD
SHOWN = (
    "id", "step", "state", "evidence", "answers", "made_at", "decided_at", "reason",
)  # fmt: skip


class Acts(ApiView):
    @reads(
        "listGoldActs",
        "Warnings and pauses by answers on gold, oldest first",
        page_of("GoldAct", ActOut),
        [
            parameter("question", "Key of a question; all questions when left out"),
            parameter("state", "Only acts in this state", enum=GoldAct.State.values),
            *PAGING,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id, role=LEAD)
        found = parameters(request, ("question", "state", *pagination.PAGING))
        rows = _of(project)
        if "question" in found:
            rows = rows.filter(question=question_of(project, found["question"]))
        if "state" in found:
            rows = rows.filter(state=choice(found, "state", GoldAct.State.values, default=""))

        def read(after: Key | None, size: int) -> list[tuple[Key, Any]]:
            later = rows.filter(pk__gt=after[0]) if after else rows
            return [((row.pk,), _shown(row)) for row in later.order_by("pk")[:size]]

        return Response(page(request, found, key=1, read=read))


class OneAct(ApiView):
    @reads("getGoldAct", "One of them", ActOut)
    def get(self, request: Request, project_id: int, act_id: int) -> Response:
        project = self.project(request, project_id, role=LEAD)
        parameters(request)
        return Response(_shown(_act(project, act_id)))

    @writes(
        "decideGoldAct", "Carry out what is proposed, or override it", body=ActIn, answer=ActOut
    )
    def post(self, request: Request, project_id: int, act_id: int) -> Response:
        """Overridden with a reason, it ends, and the evidence begins anew with later answers."""
        project = self.project(request, project_id, role=LEAD)
        parameters(request)
        act = _act(project, act_id)
        given = ActIn(data=request.data)
        given.is_valid(raise_exception=True)
        asked = given.validated_data
        try:
            if asked["do"] == "carry_out":
                interventions.carry_out(act=act, by=request.user)
            else:
                interventions.override(act=act, reason=asked.get("reason", ""), by=request.user)
        except interventions.Refused as error:
            raise BadRequest(str(error)) from None
        return Response(_shown(_act(project, act_id)))


def _of(project: Project) -> Any:
    rows = GoldAct.objects.filter(question__project=project)
    return rows.select_related("question", "rater", "by")


def _act(project: Project, act_id: int) -> GoldAct:
    act: GoldAct | None = _of(project).filter(pk=act_id).first()
    if act is None:
        raise Http404("No such act.")
    return act


def _shown(act: GoldAct) -> dict[str, Any]:
    return {name: getattr(act, name) for name in SHOWN} | {
        "question": act.question.key,
        "rater": act.rater.key,
        "by": act.by.get_username() if act.by else None,
    }
