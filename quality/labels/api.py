"""The API of final labels."""

from __future__ import annotations

import math
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import BadRequest, Conflict
from core.api.pagination import Key, page
from core.api.parameters import choice, parameters
from core.api.schema import PAGING, QUESTION, page_of, parameter, reads, writes
from projects.api.base import ApiView, question_of
from projects.models import Item, Member, Project, Question
from quality.labels import selectors
from quality.models import Consensus, Decision, Source
from quality.review import decisions

from .serializers import DecisionIn, DecisionOut, LabelOut

VIEWER = Member.Role.VIEWER
ADJUDICATOR = Member.Role.ADJUDICATOR


class Labels(ApiView):
    @reads(
        "listLabels",
        "The final label of each item",
        page_of("Label", LabelOut),
        [
            QUESTION,
            parameter("source", "Only labels of this source", enum=Source.values),
            parameter("min_confidence", "Only labels at least so sure, from 0 to 1"),
            *PAGING,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        """A decision stands above a gold answer, and that above what the ratings come to."""
        project = self.project(request, project_id, role=VIEWER)
        found = parameters(request, ("question", "source", "min_confidence", *pagination.PAGING))
        question = question_of(project, found.get("question"))
        source = None
        if "source" in found:
            source = choice(found, "source", Source.values, default="")
        labels = selectors.chosen(
            question, source=source, at_least=_share(found.get("min_confidence"))
        )
        words = selectors.Words.of(question, Consensus.objects.filter(question=question).first())

        def read(after: Key | None, size: int) -> list[tuple[Key, Any]]:
            later = labels.filter(item__gt=after[0]) if after else labels
            return [((item,), row) for item, row in selectors.rows(later[:size], words)]

        return Response(page(request, found, key=1, read=read))

    @writes(
        "decideLabel",
        "Decide the label of an item, or take a decision back",
        body=DecisionIn,
        answer=DecisionOut,
        status=201,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """First ratings stay as they are, and so does every earlier decision. 409 while somebody
        else is deciding the item in the browser."""
        project = self.project(request, project_id, role=ADJUDICATOR)
        parameters(request)
        given = DecisionIn(data=request.data)
        given.is_valid(raise_exception=True)
        asked = given.validated_data
        question = question_of(project, asked.get("question"))
        item = _item(project, asked["item"])
        code = _code(question, asked["label"])
        try:
            made = decisions.decide(
                question=question,
                item=item,
                code=code,
                reason=asked.get("reason", ""),
                by=request.user,
            )
        except decisions.Held as error:
            raise Conflict(error.said) from None
        except decisions.Refused as error:
            raise BadRequest(
                "The decision was not made.", fields={error.field: error.said}
            ) from None
        return Response(_shown(made, item, question, asked["label"]), status=201)


def _share(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise BadRequest(
            "The query has invalid parameters.",
            fields={"min_confidence": "a number from 0 to 1"},
        )
    return value


def _item(project: Project, key: str) -> Item:
    item = Item.objects.filter(project=project, key=key).first()
    if item is None:
        raise BadRequest("The decision was not made.", fields={"item": f"unknown: '{key[:60]}'"})
    return item


def _code(question: Question, label: str | None) -> int | None:
    if label is None:
        return None
    codes = {category.label: category.code for category in question.active_categories()}
    if label not in codes:
        said = f"unknown label '{label[:60]}'; one of {', '.join(codes)}"
        raise BadRequest("The decision was not made.", fields={"label": said})
    return codes[label]


def _shown(made: Decision, item: Item, question: Question, label: str | None) -> dict[str, Any]:
    return {
        "item": item.key,
        "question": question.key,
        "label": label,
        "reason": made.reason,
        "number": made.number,
        "decided_by": made.by.username if made.by else None,
        "made_at": made.made_at,
    }
