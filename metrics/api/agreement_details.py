"""API details of agreement: single categories, disputed items, and explanations of a change."""

from __future__ import annotations

import datetime

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import BadRequest
from core.api.parameters import get_choice, parse_query_parameters
from core.api.schema import QUESTION_PARAMETER, build_parameter, describe_get
from metrics import change_attribution
from metrics.filtered.item_ranking import find_disputed_items
from metrics.models import Attribution, PeriodUnit, Result
from metrics.question_scale import QuestionScale
from metrics.results.findings import load_diagnosis
from metrics.results.stored_values import build_uncounted_value
from projects.api.base import ApiView, ResultPending, get_question
from projects.models import Member, Question, Rater

from . import filtered
from .coefficients import CategoryAgreementOut
from .serializers import ValueOut

VIEWER = Member.Role.VIEWER
SPANS = (PeriodUnit.WEEK.value, PeriodUnit.MONTH.value)
EMPTY_CHANGE: dict[str, object] = {
    "from": None,
    "to": None,
    "change": None,
    "se": None,
    "raters": [],
    "categories": [],
    "attributes": {},
}
MAX_LISTED_PERIODS = 12  # in an error message


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


class DisputedItemsOut(serializers.Serializer):
    question = serializers.CharField()
    weights = serializers.CharField()
    items_examined = serializers.IntegerField(help_text="Number of rated items")
    complete = serializers.BooleanField(help_text="Always true")
    items = DisputedItemOut(many=True)


class ContributionOut(serializers.Serializer):
    name = serializers.CharField(allow_null=True)
    contribution = serializers.FloatField(allow_null=True, help_text="Share of the move")
    before = serializers.FloatField(allow_null=True, help_text="The coefficient without it")
    after = serializers.FloatField(allow_null=True)
    n_ratings = serializers.ListField(child=serializers.IntegerField(), help_text="Taken out")
    reason = serializers.CharField(allow_null=True)


class ChangeOut(serializers.Serializer):
    question = serializers.CharField()
    weights = serializers.CharField()
    period = serializers.CharField()
    to = serializers.DateField(allow_null=True, help_text="First day of the later period")
    before = ValueOut()
    after = ValueOut()
    change = serializers.FloatField(allow_null=True)
    se = serializers.FloatField(allow_null=True)
    raters = ContributionOut(many=True)
    categories = ContributionOut(many=True)
    attributes = serializers.DictField(
        child=ContributionOut(many=True), help_text="Name -> its values"
    )

    def get_fields(self) -> dict[str, serializers.Field]:
        """Return the fields with ``from``, which Python does not allow as a name in the class."""
        from_field = serializers.DateField(
            allow_null=True, help_text="First day of the earlier period"
        )
        return {"from": from_field, **super().get_fields()}


class CategoryAgreementView(ApiView):
    @describe_get(
        "listCategoryAgreement",
        "Each category against the rest",
        CategoriesOut,
        [QUESTION_PARAMETER, *filtered.FILTER_PARAMETERS],
        may_be_pending=True,
    )
    def get(self, request: Request, project_id: int) -> Response:
        _project, question, _params, rating_filter = filtered.parse_results_request(
            self, request, project_id, pools_all=True
        )
        agreement = filtered.SelectedAgreement.load(question, rating_filter).agreement
        if agreement is None:
            filtered.require_first_results(question)
        categories = agreement.details.get("categories", []) if agreement else []
        return Response({"question": question.key, "categories": categories})


class DisputedItemsView(ApiView):
    @describe_get(
        "listDisputedItems",
        "The ten items on which raters differ most; listItems sorts more",
        DisputedItemsOut,
        [
            QUESTION_PARAMETER,
            filtered.WEIGHTS_PARAMETER,
            *filtered.FILTER_PARAMETERS,
        ],
        may_be_pending=True,
    )
    def get(self, request: Request, project_id: int) -> Response:
        _project, question, params, rating_filter = filtered.parse_results_request(
            self, request, project_id, "weights", pools_all=True
        )
        scale = QuestionScale.for_question(question)
        weights = filtered.choose_weights(params, question, scale)
        diagnosis = (
            filtered.get_or_request_dashboard(question, rating_filter).diagnosis
            if rating_filter
            else load_diagnosis(question)
        )
        if not diagnosis.disputes:
            filtered.require_first_results(question)
        disputed = find_disputed_items(question, diagnosis.disputes, scale, weights)
        if disputed.pending:
            raise ResultPending
        return Response(
            {
                "question": question.key,
                "weights": weights,
                "items_examined": disputed.n_items,
                "complete": True,
                "items": [
                    {
                        "item": item.item.key,
                        "counts": dict(item.counts),
                        "ratings": item.n_ratings,
                        "disagreement": item.disagreement,
                    }
                    for item in disputed.items
                ],
            }
        )


class ChangeExplanationView(ApiView):
    @describe_get(
        "explainChange",
        "How much of a change between two weeks or months each rater, category and kind of item "
        "explains",
        ChangeOut,
        [
            QUESTION_PARAMETER,
            build_parameter("period", "week when left out", enum=SPANS),
            build_parameter("from", "First day of the earlier period; with `to`, or the last two"),
            build_parameter("to", "First day of the later period"),
            filtered.WEIGHTS_PARAMETER,
            filtered.POPULATION_PARAMETER,
        ],
        may_be_pending=True,
    )
    def get(self, request: Request, project_id: int) -> Response:
        """Return the contributions to the change; 202 while a worker computes them."""
        project = self.get_project(request, project_id, role=VIEWER)
        names = ("question", "period", "from", "to", "weights", "population")
        params = parse_query_parameters(request, names)
        question = get_question(project, params.get("question"))
        scale = QuestionScale.for_question(question)
        weights = filtered.choose_weights(params, question, scale)
        span = get_choice(params, "period", SPANS, default=PeriodUnit.WEEK.value)
        common = {"question": question.key, "weights": weights, "period": span}
        population = ""
        if "population" in params:
            population = get_choice(
                params, "population", list(filtered.POPULATION_KINDS), default="people"
            )
        periods = _get_periods(question, span, params)
        if periods is None:
            return Response(
                common
                | EMPTY_CHANGE
                | {"before": build_uncounted_value(), "after": build_uncounted_value()}
            )
        from_date, to_date = periods
        row = change_attribution.get_or_request_attribution(
            question,
            period_unit=span,
            earlier_start=from_date,
            later_start=to_date,
            weights=weights,
            population=population,
        )
        if row.result is None:
            raise ResultPending
        return Response(common | {"from": from_date, "to": to_date} | _build_explanation(row))


def _get_periods(
    question: Question, span: str, params: dict[str, str]
) -> tuple[datetime.date, datetime.date] | None:
    """Return the first days of both periods: the requested ones, or the last two.

    None where there are fewer than two. Raises BadRequest unless both requested days are first days
    of periods with ratings, which the message lists, and the earlier one comes first.
    """
    rows = Result.objects.filter(question=question, period_unit=span).order_by("-start")
    starts = {str(start): start for start in rows.values_list("start", flat=True)}
    if "from" not in params and "to" not in params:
        newest = list(starts.values())[:2]
        return (newest[1], newest[0]) if len(newest) == 2 else None
    errors = {}
    for name in ("from", "to"):
        if params.get(name) not in starts:
            days = ", ".join(list(starts)[:MAX_LISTED_PERIODS]) or "none yet"
            errors[name] = f"the first day of a {span} with ratings is needed; {days}"
    if not errors and starts[params["from"]] >= starts[params["to"]]:
        errors["to"] = "must be later than 'from'"
    if errors:
        raise BadRequest("Which periods?", fields=errors)
    return starts[params["from"]], starts[params["to"]]


def _build_explanation(row: Attribution) -> dict[str, object]:
    result = row.result or {}
    ids = [entry["name"] for entry in result["raters"]]
    keys = dict(Rater.objects.filter(pk__in=ids).values_list("pk", "key"))
    raters = [
        _build_contribution(entry, keys[entry["name"]])
        for entry in result["raters"]
        if entry["name"] in keys
    ]
    return {
        **{name: result[name] for name in ("before", "after", "change", "se")},
        "raters": raters,
        "categories": [_build_contribution(entry, entry["name"]) for entry in result["categories"]],
        "attributes": {
            attribute["name"]: [
                _build_contribution(entry, entry["name"]) for entry in attribute["values"]
            ]
            for attribute in result["attributes"]
        },
    }


def _build_contribution(entry: dict[str, object], name: str | None) -> dict[str, object]:
    names = ("contribution", "before", "after", "n_ratings", "reason")
    return {"name": name, **{field: entry[field] for field in names}}
