"""The API of gold answers: those in force with how raters do on them, and that of one item. For
leads alone: whoever rates must not know what is gold."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import BadRequest
from core.api.pagination import Key, page
from core.api.parameters import parameters
from core.api.schema import PAGING, QUESTION, page_of, reads, writes
from projects.api.base import ApiView, question_of
from projects.models import GoldAnswer, Item, Member, Project, Question
from projects.services.items import gold, gold_rows
from quality.models import GoldItem

from .serializers import GoldIn, GoldOut, OneGoldOut

LEAD = Member.Role.LEAD
# Nobody was asked yet, or the answer came after the last scores.
NOT_SEEN = {
    "exposures": 0,
    "right": 0,
    "probability": None,
    "suspected": False,
    "leaked": False,
}


class Golds(ApiView):
    @reads(
        "listGold",
        "The gold answers in force, with how raters do on each",
        page_of("Gold", GoldOut),
        [QUESTION, *PAGING],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id, role=LEAD)
        found = parameters(request, ("question", *pagination.PAGING))
        question = question_of(project, found.get("question"))
        answers = GoldAnswer.objects.in_force().filter(question=question)

        def read(after: Key | None, size: int) -> list[tuple[Key, Any]]:
            later = answers.filter(item__gt=after[0]) if after else answers
            rows = list(later.select_related("item", "by").order_by("item_id")[:size])
            return list(zip([(row.item_id,) for row in rows], _shown(question, rows), strict=True))

        return Response(page(request, found, key=1, read=read))


class OneGold(ApiView):
    http_method_names = ["get", "head", "put"]

    @reads("getGold", "The gold answer of an item, and what it was before", OneGoldOut, [QUESTION])
    def get(self, request: Request, project_id: int, item_key: str) -> Response:
        project = self.project(request, project_id, role=LEAD)
        found = parameters(request, ("question",))
        question = question_of(project, found.get("question"))
        return Response(_one(question, _item(project, item_key)))

    @writes("setGold", "Set the gold answer of an item", body=GoldIn, answer=OneGoldOut)
    def put(self, request: Request, project_id: int, item_key: str) -> Response:
        """Another answer is the next version; what was set before is kept. The same one changes
        nothing."""
        project = self.project(request, project_id, role=LEAD)
        parameters(request)
        item = _item(project, item_key)
        given = GoldIn(data=request.data)
        given.is_valid(raise_exception=True)
        asked = given.validated_data
        question = question_of(project, asked.get("question"))
        if asked["answer"] is None:
            gold.retire_gold(item=item, question=question, by=request.user)
            return Response(_one(question, item))
        try:
            answer = gold.read_answer(asked["answer"], gold_rows.codes_of(question))
            new = gold.New(item.pk, answer, asked.get("explanation"))
            gold.set_many(question=question, answers=[new], by=request.user)
        except gold.InvalidGold as error:
            raise BadRequest(
                "The request has invalid fields.", fields={"answer": str(error)}
            ) from None
        return Response(_one(question, item))


def _item(project: Project, key: str) -> Item:
    item = Item.objects.filter(project=project, key=key).first()
    if item is None:
        raise Http404("No such item.")
    return item


def _one(question: Question, item: Item) -> dict[str, Any]:
    rows = GoldAnswer.objects.filter(question=question, item=item).select_related("item", "by")
    versions = list(rows.order_by("version"))
    labels = _labels(question)
    shown = _shown(question, [row for row in versions if row.retired_at is None])
    return {
        "item": item.key,
        "question": question.key,
        "gold": shown[0] if shown else None,
        "versions": [_version(row, labels) for row in versions],
    }


def _shown(question: Question, rows: list[GoldAnswer]) -> list[dict[str, Any]]:
    labels = _labels(question)
    seen = GoldItem.objects.filter(gold__in=[row.pk for row in rows])
    known = {row.pop("gold_id"): row for row in seen.values("gold_id", *NOT_SEEN)}
    return [
        {
            "item": row.item.key,
            "question": question.key,
            **_version(row, labels),
            **known.get(row.pk, NOT_SEEN),
        }
        for row in rows
    ]


def _labels(question: Question) -> dict[int, str]:
    return {category.code: category.label for category in question.categories.all()}


def _version(row: GoldAnswer, labels: dict[int, str]) -> dict[str, Any]:
    return {
        "version": row.version,
        "answer": gold.shown(row.answer, labels),
        "explanation": row.explanation,
        "by": row.by.get_username() if row.by else None,
        "made_at": row.made_at,
        "retired_at": row.retired_at,
    }
