"""The API of what follows when labels are in doubt: rules, second opinions, appeals."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import BadRequest
from core.api.pagination import Key, page
from core.api.parameters import choice, parameters
from core.api.schema import PAGING, QUESTION, page_of, parameter, reads, writes
from projects.api.base import ApiView, question_of
from projects.models import Member, Question
from quality.consensus import settings as consensus_settings
from quality.escalation import settings
from quality.models import Appeal, Consensus
from quality.review import appeals, second_opinions
from quality.validation import Refused
from ratings.annotation import rater_work

from .serializers import AnswerIn, AppealIn, AppealOut, RulesIn, RulesOut, SecondOut

Role = Member.Role
OF_METHOD = ("method", "with_models")


class Rules(ApiView):
    @reads("getLabelRules", "How labels are made, and what follows on doubt", RulesOut, [QUESTION])
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id, role=Role.LEAD)
        found = parameters(request, ("question",))
        return Response(_rules(question_of(project, found.get("question"))))

    @writes("changeLabelRules", "Change them", body=RulesIn, answer=RulesOut)
    def patch(self, request: Request, project_id: int) -> Response:
        """What is left out stays. The next sweep goes by them."""
        project = self.project(request, project_id, role=Role.LEAD)
        parameters(request)
        given = RulesIn(data=request.data)
        given.is_valid(raise_exception=True)
        wanted = given.validated_data
        question = question_of(project, wanted.pop("question", None))
        method = {name: wanted.pop(name) for name in OF_METHOD if name in wanted}
        try:
            with transaction.atomic():
                settings.choose(question=question, by=request.user, **wanted)
                if method:
                    method = _method(question) | method
                    consensus_settings.choose(question=question, by=request.user, **method)
        except Refused as error:
            raise BadRequest("The rules were not changed.", fields=error.fields) from None
        return Response(_rules(question))


def _method(question: Question) -> dict[str, Any]:
    row = Consensus.objects.filter(question=question).first() or Consensus(question=question)
    return {name: getattr(row, name) for name in OF_METHOD}


def _rules(question: Question) -> dict[str, Any]:
    row = settings.rules_of(question)
    chosen = {name: getattr(row, name) for name in (*settings.RULES, "used")}
    return {"question": question.key, **_method(question), **chosen}


class SecondOpinions(ApiView):
    @reads(
        "getSecondOpinions",
        "How far two adjudicators agree on the items that both decided",
        SecondOut,
        [QUESTION],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id, role=Role.VIEWER)
        found = parameters(request, ("question",))
        question = question_of(project, found.get("question"))
        told = second_opinions.agreement(question)
        return Response(
            {
                "question": question.key,
                "items": told.n,
                "same": told.same,
                "kappa": told.kappa,
                "differ": told.differ,
            }
        )


class Appeals(ApiView):
    @reads(
        "listAppeals",
        "What raters contest, oldest first",
        page_of("Appeal", AppealOut),
        [
            parameter("question", "Key of a question; all questions when left out"),
            parameter("state", "Only appeals in this state", enum=Appeal.State.values),
            *PAGING,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id, role=Role.ADJUDICATOR)
        found = parameters(request, ("question", "state", *pagination.PAGING))
        rows = Appeal.objects.filter(question__project=project)
        rows = rows.select_related("question", "item", "answered_by")
        if "question" in found:
            rows = rows.filter(question=question_of(project, found["question"]))
        if "state" in found:
            rows = rows.filter(state=choice(found, "state", Appeal.State.values, default=""))

        def read(after: Key | None, size: int) -> list[tuple[Key, Any]]:
            later = rows.filter(pk__gt=after[0]) if after else rows
            return [((row.pk,), _shown(row)) for row in later.order_by("pk")[:size]]

        return Response(page(request, found, key=1, read=read))

    @writes(
        "contestDecision",
        "Contest the decision on an item that the caller rated",
        body=AppealIn,
        answer=AppealOut,
        status=201,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """Once, and only a decision that the caller may know of; 400 tells nothing of others."""
        project = self.project(request, project_id, role=Role.ANNOTATOR)
        parameters(request)
        given = AppealIn(data=request.data)
        given.is_valid(raise_exception=True)
        asked = given.validated_data
        question = question_of(project, asked.get("question"))
        user: Any = request.user
        rater = rater_work.rater_of(project, user)
        item = project.items.filter(key=asked["item"]).first()
        if rater is None or item is None:
            raise _refused(appeals.nothing())
        try:
            row = appeals.contest(rater=rater, question=question, item=item, text=asked["text"])
        except appeals.Refused as error:
            raise _refused(error) from None
        return Response(_shown(row), status=201)


class OneAppeal(ApiView):
    @writes("answerAppeal", "Answer an appeal, once", body=AnswerIn, answer=AppealOut)
    def post(self, request: Request, project_id: int, appeal_id: int) -> Response:
        """The label stays as it is: where the rater is right, decide the item anew."""
        project = self.project(request, project_id, role=Role.ADJUDICATOR)
        parameters(request)
        rows = Appeal.objects.filter(question__project=project)
        row = rows.select_related("question", "item").filter(pk=appeal_id).first()
        if row is None:
            raise Http404("No such appeal.")
        given = AnswerIn(data=request.data)
        given.is_valid(raise_exception=True)
        asked = given.validated_data
        try:
            answered = appeals.answer(
                appeal=row, state=asked["state"], text=asked.get("answer", ""), by=request.user
            )
        except appeals.Refused as error:
            raise BadRequest(str(error)) from None
        return Response(_shown(answered))


def _refused(error: appeals.Refused) -> BadRequest:
    return BadRequest("The decision was not contested.", fields={"item": str(error)})


def _shown(row: Appeal) -> dict[str, Any]:
    names = ("id", "about", "text", "made_at", "state", "answer", "answered_at")
    return {name: getattr(row, name) for name in names} | {
        "item": row.item.key,
        "question": row.question.key,
        "answered_by": row.answered_by.username if row.answered_by else None,
    }
