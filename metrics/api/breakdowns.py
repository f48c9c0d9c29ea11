"""What lies behind agreement: single categories, disputed items, and what explains a change."""

from __future__ import annotations

import datetime
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import BadRequest
from core.api.parameters import choice, parameters
from core.api.schema import QUESTION, parameter, reads
from metrics.agreement.weights import NONE
from metrics.attribution import attribution_jobs
from metrics.models import Attribution, Diagnosis, Reading, Span
from metrics.results.disagreement import disputed_items
from metrics.results.values import not_counted
from metrics.scale import QuestionScale
from projects.api.base import question_of
from projects.models import Member, Question, Rater

from . import filtered
from .coefficients import CategoryAgreementOut
from .serializers import ReadingOut

VIEWER = Member.Role.VIEWER
SPANS = (Span.WEEK.value, Span.MONTH.value)
NO_MOVE: dict[str, Any] = {
    "from": None,
    "to": None,
    "move": None,
    "se": None,
    "raters": [],
    "categories": [],
    "attributes": {},
}
PERIODS_NAMED = 12  # in a refusal


class CategoriesOut(serializers.Serializer):
    question = serializers.CharField()
    categories = CategoryAgreementOut(many=True)


class DisputedItemOut(serializers.Serializer):
    item = serializers.CharField()
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="Label -> ratings")
    ratings = serializers.IntegerField()
    disagreement = serializers.FloatField(
        help_text="Mean distance, 1 - weight, of two ratings of the item"
    )


class DisputedOut(serializers.Serializer):
    question = serializers.CharField()
    weights = serializers.CharField()
    looked_at = serializers.IntegerField(help_text="Items: the newest ones")
    whole = serializers.BooleanField(help_text="Whether these are all items with ratings")
    items = DisputedItemOut(many=True)


class PartOut(serializers.Serializer):
    name = serializers.CharField(allow_null=True)
    contribution = serializers.FloatField(allow_null=True, help_text="Share of the move")
    before = serializers.FloatField(allow_null=True, help_text="The coefficient without it")
    after = serializers.FloatField(allow_null=True)
    n_ratings = serializers.ListField(child=serializers.IntegerField(), help_text="Taken out")
    reason = serializers.CharField(allow_null=True)


class ChangeOut(serializers.Serializer):
    question = serializers.CharField()
    weights = serializers.CharField()
    span = serializers.CharField()
    to = serializers.DateField(allow_null=True, help_text="First day of the later period")
    before = ReadingOut()
    after = ReadingOut()
    move = serializers.FloatField(allow_null=True)
    se = serializers.FloatField(allow_null=True)
    raters = PartOut(many=True)
    categories = PartOut(many=True)
    attributes = serializers.DictField(child=PartOut(many=True), help_text="Name -> its values")

    def get_fields(self) -> dict[str, serializers.Field]:
        """``from`` is no name in Python."""
        start = serializers.DateField(allow_null=True, help_text="First day of the earlier period")
        return {"from": start, **super().get_fields()}


class Categories(filtered.ResultsView):
    @reads(
        "listCategoryAgreement",
        "Each category against the rest",
        CategoriesOut,
        [QUESTION, *filtered.FILTERS],
        later=True,
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id, role=VIEWER)
        found, chosen = filtered.asked(request, ("question",))
        question = question_of(project, found.get("question"))
        question.project = project
        if chosen:
            details = filtered.project(question, chosen)[0]["details"]
        else:
            whole = Reading.objects.filter(question=question, span=Span.ALL).first()
            details = whole.details if whole else {}
        return Response({"question": question.key, "categories": details.get("categories", [])})


class Disputed(filtered.ResultsView):
    @reads(
        "listDisputedItems",
        "The ten items on which raters differ most",
        DisputedOut,
        [QUESTION, parameter("weights", "none when left out"), *filtered.FILTERS],
        later=True,
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id, role=VIEWER)
        found, chosen = filtered.asked(request, ("question", "weights"))
        question = question_of(project, found.get("question"))
        question.project = project
        scale = QuestionScale.of(question)
        weights = choice(found, "weights", scale.weighting_names(), default=NONE)
        if chosen:
            stored = filtered.project(question, chosen)[0]["disputes"]
        else:
            row = Diagnosis.objects.filter(question=question).first()
            stored = row.disputes if row else {}
        read = disputed_items.read(stored, scale, weights)
        return Response(
            {
                "question": question.key,
                "weights": weights,
                "looked_at": read.n_items,
                "whole": read.whole,
                "items": [
                    {
                        "item": one.item.key,
                        "counts": dict(one.counts),
                        "ratings": one.n_ratings,
                        "disagreement": one.disagreement,
                    }
                    for one in read.top
                ],
            }
        )


class Change(filtered.ResultsView):
    @reads(
        "explainChange",
        "How much of a move between two weeks or months each rater, category and kind of item "
        "explains",
        ChangeOut,
        [
            QUESTION,
            parameter("span", "week when left out", enum=SPANS),
            parameter("from", "First day of the earlier period; with `to`, or the last two"),
            parameter("to", "First day of the later period"),
            parameter("weights", "none when left out"),
        ],
        later=True,
    )
    def get(self, request: Request, project_id: int) -> Response:
        """Made on request: 202 while a worker is at it."""
        project = self.project(request, project_id, role=VIEWER)
        found = parameters(request, ("question", "span", "from", "to", "weights"))
        question = question_of(project, found.get("question"))
        scale = QuestionScale.of(question)
        weights = choice(found, "weights", scale.weighting_names(), default=NONE)
        span = choice(found, "span", SPANS, default=Span.WEEK.value)
        named = {"question": question.key, "weights": weights, "span": span}
        periods = _periods(question, span, found)
        if periods is None:
            return Response(named | NO_MOVE | {"before": not_counted(), "after": not_counted()})
        start, end = periods
        row = attribution_jobs.ask(
            question, span=span, start_from=start, start_to=end, weights=weights
        )
        if row.result is None:
            raise filtered.Waiting
        return Response(named | {"from": start, "to": end} | _told(row))


def _periods(
    question: Question, span: str, found: dict[str, str]
) -> tuple[datetime.date, datetime.date] | None:
    """The first days of both periods: those asked for, or the last two; None where there are no
    two. Raises BadRequest, which names those that have ratings."""
    rows = Reading.objects.filter(question=question, span=span).order_by("-start")
    known = {str(start): start for start in rows.values_list("start", flat=True)}
    if "from" not in found and "to" not in found:
        newest = list(known.values())[:2]
        return (newest[1], newest[0]) if len(newest) == 2 else None
    wrong = {}
    for name in ("from", "to"):
        if found.get(name) not in known:
            days = ", ".join(list(known)[:PERIODS_NAMED]) or "none yet"
            wrong[name] = f"the first day of a {span} with ratings is needed; {days}"
    if not wrong and known[found["from"]] >= known[found["to"]]:
        wrong["to"] = "must be later than 'from'"
    if wrong:
        raise BadRequest("Which periods?", fields=wrong)
    return known[found["from"]], known[found["to"]]


def _told(row: Attribution) -> dict[str, Any]:
    result = row.result or {}
    ids = [entry["name"] for entry in result["raters"]]
    keys = dict(Rater.objects.filter(pk__in=ids).values_list("pk", "key"))
    raters = [
        _part(entry, keys[entry["name"]]) for entry in result["raters"] if entry["name"] in keys
    ]
    return {
        **{name: result[name] for name in ("before", "after", "move", "se")},
        "raters": raters,
        "categories": [_part(entry, entry["name"]) for entry in result["categories"]],
        "attributes": {
            one["name"]: [_part(entry, entry["name"]) for entry in one["values"]]
            for one in result["attributes"]
        },
    }


def _part(entry: dict[str, Any], name: str | None) -> dict[str, Any]:
    names = ("contribution", "before", "after", "n_ratings", "reason")
    return {"name": name, **{field: entry[field] for field in names}}
