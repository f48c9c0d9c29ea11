"""API of every coefficient of a question, and of all statistics of two raters."""

from __future__ import annotations

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import INVALID_PARAMETERS, BadRequest
from core.api.parameters import get_choice, parse_query_parameters
from core.api.schema import QUESTION_PARAMETER, build_parameter, describe_get
from metrics.filtered.coefficient_results import CoefficientResults
from metrics.filters import EVERY_KIND, ITEM_PREFIX, is_filterable_attribute
from metrics.models import FilteredResult
from metrics.question_scale import QuestionScale
from metrics.results.intervals import QuestionClusters
from metrics.results.other_weights import CATEGORY_VALUES
from metrics.results.pair_results import PairDetails, load_pair_table
from projects.api.base import ApiView, get_question
from projects.models import Member, Project, Rater

from . import filtered
from .agreement import get_rater
from .serializers import ValueOut

VIEWER = Member.Role.VIEWER


class PolicyOut(serializers.Serializer):
    name = serializers.CharField(help_text="available, by_item, complete or paired")
    coefficient = serializers.CharField()
    estimate = ValueOut()
    left_out_items = serializers.IntegerField()
    left_out_ratings = serializers.IntegerField()
    single_items = serializers.IntegerField(
        help_text="Items with one rating, which tells only how often a category is used"
    )


class CategoryAgreementOut(serializers.Serializer):
    label = serializers.CharField()  # type: ignore[assignment]
    ratings = serializers.IntegerField()
    agreement = ValueOut(help_text="Fleiss' kappa of the category against the rest")


class ScoredOut(serializers.Serializer):
    reason = serializers.CharField(
        allow_null=True, help_text="no_scores, equal_scores or unscored_category"
    )
    scores = serializers.ListField(
        child=serializers.FloatField(), help_text="One for each category, in declared order"
    )
    weights = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField()),
        help_text="Quadratic in the scores",
    )
    coefficients = serializers.DictField(child=ValueOut(), help_text="Name -> value")


class CoefficientsOut(serializers.Serializer):
    question = serializers.CharField()
    computed_at = serializers.DateTimeField(
        allow_null=True, help_text="null: a worker is computing it; request it again"
    )
    population = serializers.CharField(help_text="people, models or all: whose ratings these are")
    raters = serializers.IntegerField()
    items = serializers.IntegerField()
    ratings = serializers.IntegerField()
    with_two_or_more = serializers.IntegerField(help_text="items with two ratings or more")
    complete = serializers.IntegerField(help_text="items that all raters rated")
    coefficients = serializers.DictField(
        child=ValueOut(), help_text="Name -> value; F, df1, df2 and p of an ICC, too"
    )
    policies = PolicyOut(many=True, help_text="Rules about missing ratings, side by side")
    categories = CategoryAgreementOut(many=True)
    scored = ScoredOut(required=False, help_text="If `scores` were requested")


class MarginalTestOut(serializers.Serializer):
    name = serializers.CharField()
    chi2 = serializers.FloatField(allow_null=True)
    df = serializers.IntegerField(allow_null=True)
    p = serializers.FloatField(allow_null=True)
    reason = serializers.CharField(allow_null=True)


class PairCategoryOut(serializers.Serializer):
    label = serializers.CharField()  # type: ignore[assignment]
    agreement = ValueOut(help_text="Cohen's kappa of the category against the rest")


class PairDetailsOut(serializers.Serializer):
    question = serializers.CharField()
    rater_a = serializers.CharField()
    rater_b = serializers.CharField()
    table = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="Items by category of rater_a (rows) and of rater_b, in declared order",
    )
    kappas = serializers.DictField(child=ValueOut(), help_text="Weights -> Cohen's kappa")
    coefficients = serializers.DictField(child=ValueOut())
    tests = MarginalTestOut(many=True, help_text="Do both use the categories alike?")
    categories = PairCategoryOut(many=True)


class CoefficientsView(ApiView):
    @describe_get(
        "listCoefficients",
        "Every coefficient of a question that says something on its scale",
        CoefficientsOut,
        [
            QUESTION_PARAMETER,
            build_parameter("scores", "values, or item.NAME: a gold score of the items"),
            *filtered.FILTER_PARAMETERS,
        ],
        may_be_pending=True,
    )
    def get(self, request: Request, project_id: int) -> Response:
        """Return all coefficients; 202 until a worker has computed them."""
        _project, question, params, rating_filter = filtered.parse_results_request(
            self, request, project_id, "scores", pools_all=True
        )
        scores = params.get("scores", "")
        if scores not in ("", CATEGORY_VALUES) and not _is_item_attribute(scores):
            raise BadRequest(
                "Unknown scores.",
                fields={"scores": f"{CATEGORY_VALUES}, or {ITEM_PREFIX} and an attribute's name"},
            )
        stored, computed_at = filtered.get_or_request_filtered_results(
            question, rating_filter, FilteredResult.Kind.COEFFICIENTS, scores=scores
        )
        body = CoefficientResults.from_json(stored)
        return Response(
            {
                "question": question.key,
                "computed_at": computed_at,
                "population": EVERY_KIND if rating_filter.kind == EVERY_KIND else body.population,
                "raters": body.n_raters,
                "items": body.n_items,
                "ratings": body.n_ratings,
                "with_two_or_more": body.with_two_or_more,
                "complete": body.complete,
                "coefficients": body.coefficients | body.incomplete,
                "policies": [vars(policy) for policy in body.policies],
                "categories": body.categories,
                **({"scored": body.scored} if body.scored else {}),
            }
        )


class PairDetailsView(ApiView):
    @describe_get(
        "getPair",
        "All that is known of two raters",
        PairDetailsOut,
        [
            QUESTION_PARAMETER,
            build_parameter("rater_a", "Key of the one: the rows of the table", required=True),
            build_parameter("rater_b", "Key of the other", required=True),
            filtered.POPULATION_PARAMETER,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        """Return all statistics of the two raters; a population has no effect on them."""
        project = self.get_project(request, project_id, role=VIEWER)
        params = parse_query_parameters(request, ("question", "rater_a", "rater_b", "population"))
        get_choice(params, "population", list(filtered.POPULATION_KINDS), default="people")
        question = get_question(project, params.get("question"))
        rater_a, rater_b = (_get_named_rater(project, params, n) for n in ("rater_a", "rater_b"))
        if rater_a == rater_b:
            raise BadRequest(
                "A pair is two different raters.", fields={"rater_b": "the same as rater_a"}
            )
        scale = QuestionScale.for_question(question)
        table = load_pair_table(question, rater_a, rater_b, scale)
        clusters = QuestionClusters.load(question.pk, project)
        details = PairDetails.from_table(table, scale, clusters)
        return Response(
            {
                "question": question.key,
                "rater_a": rater_a.key,
                "rater_b": rater_b.key,
                "table": details.table.tolist(),
                "kappas": details.kappas,
                "coefficients": details.other_coefficients,
                "tests": [vars(test) for test in details.tests],
                "categories": [
                    {"label": label, "agreement": value} for label, value in details.categories
                ],
            }
        )


def _get_named_rater(project: Project, params: dict[str, str], name: str) -> Rater:
    """Return the rater whose key a parameter has. Raises BadRequest if it is missing or unknown.

    ``name``: of the parameter.
    """
    try:
        return get_rater(project, params.get(name, ""))
    except Http404:
        fields = {name: f"unknown rater '{params.get(name, '')[:64]}'"}
        raise BadRequest(INVALID_PARAMETERS, fields=fields) from None


def _is_item_attribute(scores: str) -> bool:
    return scores.startswith(ITEM_PREFIX) and is_filterable_attribute(
        scores.removeprefix(ITEM_PREFIX)
    )
