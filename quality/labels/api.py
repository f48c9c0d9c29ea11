"""API of final labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.http.response import HttpResponseBase
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import INVALID_PARAMETERS, BadRequest, Conflict
from core.api.pagination import PAGE_PARAMETER_NAMES, paginate_rows
from core.api.parameters import get_choice, parse_query_parameters
from core.api.schema import (
    PAGE_PARAMETERS,
    QUESTION_PARAMETER,
    FileView,
    build_ordering_parameter,
    build_page_serializer,
    build_parameter,
    build_since_parameter,
    describe_file,
    describe_write,
)
from core.api.strict_fields import StrictCharField, StrictSerializer
from projects.api.base import ApiView, get_question
from projects.models import Item, Member, Project, Question
from quality.labels import files, selectors
from quality.models import Consensus, Decision, ItemLabel, LabelSource
from quality.review import decisions
from ratings.api.query_times import parse_since
from ratings.files import parquet_file

from .views import stream_labels


class LabelOut(serializers.Serializer):
    item = serializers.CharField()
    question = serializers.CharField()
    confidence = serializers.FloatField(
        allow_null=True,
        help_text="Probability of the label; null where the method has none. Often too high without"
        " gold answers for 30 items, because errors that all raters share are missed",
    )
    distribution = serializers.DictField(
        child=serializers.FloatField(), help_text="Probability or share of votes by label"
    )
    mean = serializers.FloatField(
        allow_null=True, help_text="Expected value, on interval and ratio scales"
    )
    ratings = serializers.IntegerField(help_text="Number of ratings")
    reason = serializers.CharField(
        allow_null=True, help_text="Reason of a decision; without a label: tied"
    )
    decided_by = serializers.CharField(allow_null=True)
    as_of = serializers.DateTimeField()

    def get_fields(self) -> dict[str, serializers.Field]:
        """Add ``label`` and ``source``, which would hide attributes of the serializer class."""
        fields = super().get_fields()
        return {
            "item": fields.pop("item"),
            "question": fields.pop("question"),
            "label": serializers.CharField(allow_null=True, help_text="null: no label"),
            "source": serializers.ChoiceField(LabelSource.values),
            **fields,
        }


class DecisionIn(StrictSerializer):
    item = StrictCharField(trim_whitespace=False)
    question = StrictCharField(required=False)
    reason = StrictCharField(required=False, allow_blank=True)

    def get_fields(self) -> dict[str, serializers.Field]:
        label = StrictCharField(
            allow_null=True, trim_whitespace=False, help_text="null withdraws the decision"
        )
        return super().get_fields() | {"label": label}


class DecisionOut(serializers.Serializer):
    item = serializers.CharField()
    question = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    number = serializers.IntegerField(help_text="Number of the item's decision, from 1")
    decided_by = serializers.CharField()
    created_at = serializers.DateTimeField()

    def get_fields(self) -> dict[str, serializers.Field]:
        return super().get_fields() | {"label": serializers.CharField(allow_null=True)}


VIEWER = Member.Role.VIEWER
ADJUDICATOR = Member.Role.ADJUDICATOR
FILTERS = ("question", "source", "label", "min_confidence", "since")
# A label without a confidence is ordered by its share of the votes.
ORDERINGS = {"confidence": "-doubt", "as_of": "computed_at"}
FILE_FORMATS = ("csv", "jsonl", "parquet")  # of other tools: by page, command and export


class LabelListView(FileView, ApiView):
    @describe_file(
        "listLabels",
        "The final label of each item, as a list or as a file",
        {kind: files.FORMATS[kind].content_type for kind in FILE_FORMATS},
        [
            QUESTION_PARAMETER,
            build_parameter("source", "Only labels of this source", enum=LabelSource.values),
            build_parameter("label", "Only items with this label"),
            build_parameter("min_confidence", "Minimum confidence, from 0 to 1"),
            build_since_parameter("Changed at or after this time"),
            build_ordering_parameter(ORDERINGS),
            *PAGE_PARAMETERS,
        ],
        default=build_page_serializer("Label", LabelOut),
    )
    def get(self, request: Request, project_id: int) -> HttpResponseBase:
        """Return the final labels: of the decision, else of gold, else of the ratings."""
        project = self.get_project(request, project_id, role=VIEWER)
        params = parse_query_parameters(
            request,
            (*FILTERS, "format", "ordering", *PAGE_PARAMETER_NAMES),
        )
        question = get_question(project, params.get("question"))
        source = None
        if "source" in params:
            source = get_choice(params, "source", LabelSource.values, default="")
        at_least = _parse_min_confidence(params)
        since = parse_since(params["since"]) if "since" in params else None
        code = _get_code(question, params.get("label"), INVALID_PARAMETERS)
        labels = selectors.get_labels(
            question, source=source, at_least=at_least, since=since, code=code
        )
        if "format" in params:
            kind = get_choice(params, "format", FILE_FORMATS, default="csv")
            parquet_file.require_parquet_support(kind)
            return stream_labels(project, question, kind, labels)
        label_names = selectors.LabelNames.for_question(
            question, Consensus.objects.filter(question=question).first()
        )

        def serialize(rows: list[ItemLabel]) -> Iterator[Any]:
            page = labels.filter(item__in=[row.item_id for row in rows])
            by_item = dict(selectors.iter_label_rows(page, label_names))
            return (by_item[row.item_id]._asdict() for row in rows if row.item_id in by_item)

        return Response(
            paginate_rows(
                request,
                params,
                labels.only("item_id", "doubt", "computed_at"),
                serialize=serialize,
                key="item_id",
                orderings=ORDERINGS,
            )
        )

    @describe_write(
        "decideLabel",
        "Decide the label of an item, or undo a decision",
        body=DecisionIn,
        response=DecisionOut,
        status=201,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """Store the decision; ratings and earlier decisions are kept.

        409 while somebody else has claimed the item.
        """
        project = self.get_project(request, project_id, role=ADJUDICATOR)
        data = self.parse_body(request, DecisionIn)
        question = get_question(project, data.get("question"))
        item = _get_item(project, data["item"])
        code = _get_code(question, data["label"])
        try:
            decision = decisions.create_decision(
                question=question,
                item=item,
                code=code,
                reason=data.get("reason", ""),
                by=request.user,
            )
        except decisions.ItemClaimed as error:
            raise Conflict(error.message) from None
        except decisions.InvalidDecision as error:
            raise BadRequest(
                "The decision was not saved.", fields={error.field: error.message}
            ) from None
        return Response(_serialize_decision(decision, item, question, data["label"]), status=201)


def _get_item(project: Project, key: str) -> Item:
    """Return the project's item with this key. Raises BadRequest if there is none."""
    item = Item.objects.filter(project=project, key=key).first()
    if item is None:
        raise BadRequest("The decision was not saved.", fields={"item": f"unknown: '{key[:60]}'"})
    return item


def _get_code(
    question: Question, label: str | None, message: str = "The decision was not saved."
) -> int | None:
    """Return the code of a label, or None for None. Raises BadRequest for an unknown label.

    ``message``: the message of that error.
    """
    if label is None:
        return None
    codes = {category.label: category.code for category in question.active_categories()}
    if label not in codes:
        problem = f"unknown label '{label[:60]}'; one of {', '.join(codes)}"
        raise BadRequest(message, fields={"label": problem})
    return codes[label]


def _serialize_decision(
    decision: Decision, item: Item, question: Question, label: str | None
) -> dict[str, object]:
    return {
        "item": item.key,
        "question": question.key,
        "label": label,
        "reason": decision.reason,
        "number": decision.number,
        "decided_by": decision.by.username if decision.by else None,
        "created_at": decision.created_at,
    }


def _parse_min_confidence(params: Mapping[str, str]) -> float | None:
    try:
        return selectors.parse_share(params.get("min_confidence"))
    except ValueError:
        fields = {"min_confidence": "a number from 0 to 1"}
        raise BadRequest(INVALID_PARAMETERS, fields=fields) from None
