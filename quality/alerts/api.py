"""The API of alarms and scorecards."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import BadRequest
from core.api.pagination import Key, page
from core.api.parameters import choice, parameters
from core.api.schema import PAGING, QUESTION, page_of, parameter, reads, writes
from metrics.scale import QuestionScale
from projects.api.base import ApiView, question_of
from projects.models import Member, Project
from quality.alerts import services
from quality.models import Alarm, AlarmStep, DriftStanding, State
from quality.rater_status.status import Card, cards, without

from .serializers import AlarmOut, CaseOut, ScorecardOut, StepIn

VIEWER = Member.Role.VIEWER
LEAD = Member.Role.LEAD
SHOWN = (
    "id", "kind", "measure", "since", "since_earliest", "since_latest", "noticed", "raised_at",
    "size", "low", "high", "n", "n_before", "evidence", "facts", "state", "until", "stands",
)  # fmt: skip


class Alarms(ApiView):
    @reads(
        "listAlarms",
        "What somebody should look at, oldest first",
        page_of("Alarm", AlarmOut),
        [
            parameter("question", "Key of a question; all questions when left out"),
            parameter("state", "Only alarms in this state", enum=State.values),
            *PAGING,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id, role=VIEWER)
        found = parameters(request, ("question", "state", *pagination.PAGING))
        alarms = _of(project)
        if "question" in found:
            alarms = alarms.filter(question=question_of(project, found["question"]))
        if "state" in found:
            alarms = alarms.filter(state=choice(found, "state", State.values, default=""))

        def read(after: Key | None, size: int) -> list[tuple[Key, Any]]:
            later = alarms.filter(pk__gt=after[0]) if after else alarms
            return [((alarm.pk,), _shown(alarm)) for alarm in later.order_by("pk")[:size]]

        return Response(page(request, found, key=1, read=read))


class OneAlarm(ApiView):
    @reads("getAlarm", "An alarm with all steps of its life", CaseOut)
    def get(self, request: Request, project_id: int, alarm_id: int) -> Response:
        project = self.project(request, project_id, role=VIEWER)
        parameters(request)
        return Response(_case(_alarm(project, alarm_id)))

    @writes("answerAlarm", "Take an alarm a step on", body=StepIn, answer=CaseOut)
    def post(self, request: Request, project_id: int, alarm_id: int) -> Response:
        """Its numbers stay as they were raised, and every step is kept."""
        project = self.project(request, project_id, role=LEAD)
        parameters(request)
        alarm = _alarm(project, alarm_id)
        given = StepIn(data=request.data)
        given.is_valid(raise_exception=True)
        asked = given.validated_data
        try:
            services.step(
                alarm=alarm,
                state=asked["state"],
                reason=asked.get("reason", ""),
                answer=asked.get("answer", ""),
                until=asked.get("until"),
                by=request.user,
            )
        except services.Refused as error:
            raise BadRequest(
                "The alarm was not changed.", fields={error.field: error.said}
            ) from None
        return Response(_case(_alarm(project, alarm_id)))


class Scorecards(ApiView):
    @reads(
        "listScorecards",
        "What is known of each person who rates, with one status",
        page_of("Scorecard", ScorecardOut),
        [QUESTION, *PAGING],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id, role=VIEWER)
        found = parameters(request, ("question", *pagination.PAGING))
        question = question_of(project, found.get("question"))
        known = cards(question, ordered=QuestionScale.of(question).type.ordered)

        def read(after: Key | None, size: int) -> list[tuple[Key, Any]]:
            later = [card for card in known if not after or card.rater.pk > after[0]]
            return [((card.rater.pk,), _scorecard(card)) for card in later[:size]]

        return Response(page(request, found, key=1, read=read))


def _of(project: Project) -> Any:
    alarms = Alarm.objects.filter(question__project=project).defer("chart")
    return alarms.select_related("question", "rater", "other")


def _alarm(project: Project, alarm_id: int) -> Alarm:
    alarm: Alarm | None = _of(project).filter(pk=alarm_id).first()
    if alarm is None:
        raise Http404("No such alarm.")
    return alarm


def _shown(alarm: Alarm) -> dict[str, Any]:
    return {name: getattr(alarm, name) for name in SHOWN} | {
        "question": alarm.question.key,
        "rater": alarm.rater.key if alarm.rater else None,
        "other_rater": alarm.other.key if alarm.other else None,
        "category": alarm.facts.get("category"),
        "reason": alarm.reason or None,
        "answer": alarm.answer or None,
    }


def _case(alarm: Alarm) -> dict[str, Any]:
    steps = AlarmStep.objects.filter(alarm=alarm).select_related("by")
    return _shown(alarm) | {"steps": [_step(step) for step in steps]}


def _step(step: AlarmStep) -> dict[str, Any]:
    return {
        "at": step.at,
        "by": step.by.username if step.by else None,
        "state": step.state,
        "answer": step.answer or None,
        "until": step.until,
        "reason": step.reason,
    }


def _scorecard(card: Card) -> dict[str, Any]:
    return {
        "rater": card.rater.key,
        "name": card.rater.name,
        "group": card.rater.group,
        "status": card.status.value,
        "reasons": card.reasons,
        "ratings": card.n_ratings,
        "seconds": card.seconds,
        "peers": card.peers,
        "bias": card.bias or without("not_ordered"),
        "gold": card.gold_kappa,
        "repeats": card.repeat_kappa,
        "drift": _drift(card.drift),
        "alarms": [alarm.pk for alarm in card.alarms],
    }


def _drift(row: DriftStanding | None) -> dict[str, Any]:
    if row is None:
        nothing = dict.fromkeys(("measure", "since", "size", "low", "high"))
        return {"watched": False, "evidence": 0.0, "n": 0, "reason": "not_counted", **nothing}
    names = ("watched", "evidence", "since", "size", "low", "high", "n")
    shown = {name: getattr(row, name) for name in names}
    return shown | {"measure": row.measure or None, "reason": row.reason or None}
