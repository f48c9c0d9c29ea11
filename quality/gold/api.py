"""API of gold answers: the current ones with their scores, and all versions of an item.

For leads only: raters must not learn which items have gold.
"""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import INVALID_FIELDS, BadRequest
from core.api.pagination import CursorKey, paginate
from core.api.parameters import parse_query_parameters
from core.api.schema import (
    PAGE_PARAMETERS,
    QUESTION_PARAMETER,
    build_page_serializer,
    describe_get,
    describe_write,
)
from projects.api.base import ApiView, get_question
from projects.models import GoldAnswer, Item, Member, Project, Question
from projects.services.items import gold, gold_rows
from quality.models import GoldItem

from .serializers import GoldDetailOut, GoldIn, GoldOut

LEAD = Member.Role.LEAD
# Values of gold answers that nobody has rated yet or that are newer than the last scores.
NO_SCORES = {
    "exposures": 0,
    "right": 0,
    "probability": None,
    "suspected": False,
    "leaked": False,
}


class GoldListView(ApiView):
    @describe_get(
        "listGold",
        "Current gold answers, with the results of raters on each",
        build_page_serializer("Gold", GoldOut),
        [QUESTION_PARAMETER, *PAGE_PARAMETERS],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        params = parse_query_parameters(request, ("question", *pagination.PAGE_PARAMETER_NAMES))
        question = get_question(project, params.get("question"))
        answers = GoldAnswer.objects.in_force().filter(question=question)

        def read(after: CursorKey | None, size: int) -> list[tuple[CursorKey, Any]]:
            next_answers = answers.filter(item__gt=after[0]) if after else answers
            rows = list(next_answers.select_related("item", "by").order_by("item_id")[:size])
            return list(
                zip([(row.item_id,) for row in rows], _serialize_gold(question, rows), strict=True)
            )

        return Response(paginate(request, params, key_length=1, read=read))


class GoldDetailView(ApiView):
    http_method_names = ["get", "head", "put"]

    @describe_get(
        "getGold",
        "The gold answer of an item, with earlier versions",
        GoldDetailOut,
        [QUESTION_PARAMETER],
    )
    def get(self, request: Request, project_id: int, item_key: str) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        params = parse_query_parameters(request, ("question",))
        question = get_question(project, params.get("question"))
        return Response(_serialize_item(question, _get_item_or_404(project, item_key)))

    @describe_write(
        "setGold", "Set the gold answer of an item", body=GoldIn, response=GoldDetailOut
    )
    def put(self, request: Request, project_id: int, item_key: str) -> Response:
        """Store a different answer as the next version; null retires the gold answer.

        The same answer changes nothing. Earlier versions are kept.
        """
        project = self.get_project(request, project_id, role=LEAD)
        item = _get_item_or_404(project, item_key)
        data = self.parse_body(request, GoldIn)
        question = get_question(project, data.get("question"))
        if data["answer"] is None:
            gold.retire_gold_answer(item=item, question=question, by=request.user)
            return Response(_serialize_item(question, item))
        try:
            answer = gold.parse_answer(data["answer"], gold_rows.get_codes_by_label(question))
            new_gold = gold.NewGoldAnswer(item.pk, answer, data.get("explanation"))
            gold.set_gold_answers(question=question, answers=[new_gold], by=request.user)
        except gold.InvalidGoldAnswer as error:
            raise BadRequest(INVALID_FIELDS, fields={"answer": str(error)}) from None
        return Response(_serialize_item(question, item))


def _get_item_or_404(project: Project, key: str) -> Item:
    item = Item.objects.filter(project=project, key=key).first()
    if item is None:
        raise Http404("No such item.")
    return item


def _serialize_item(question: Question, item: Item) -> dict[str, object]:
    rows = GoldAnswer.objects.filter(question=question, item=item).select_related("item", "by")
    versions = list(rows.order_by("version"))
    labels = _get_labels(question)
    current = _serialize_gold(question, [row for row in versions if row.retired_at is None])
    return {
        "item": item.key,
        "question": question.key,
        "gold": current[0] if current else None,
        "versions": [_serialize_version(row, labels) for row in versions],
    }


def _serialize_gold(question: Question, rows: list[GoldAnswer]) -> list[dict[str, object]]:
    labels = _get_labels(question)
    gold_items = GoldItem.objects.filter(gold__in=[row.pk for row in rows])
    scores_of_gold = {row.pop("gold_id"): row for row in gold_items.values("gold_id", *NO_SCORES)}
    return [
        {
            "item": row.item.key,
            "question": question.key,
            **_serialize_version(row, labels),
            **scores_of_gold.get(row.pk, NO_SCORES),
        }
        for row in rows
    ]


def _get_labels(question: Question) -> dict[int, str]:
    return {category.code: category.label for category in question.categories.all()}


def _serialize_version(row: GoldAnswer, labels: dict[int, str]) -> dict[str, object]:
    return {
        "version": row.version,
        "answer": gold.format_answer(row.answer, labels),
        "explanation": row.explanation,
        "by": row.by.get_username() if row.by else None,
        "created_at": row.created_at,
        "retired_at": row.retired_at,
    }
