"""Every coefficient of a question, and all that is known of two raters."""

from __future__ import annotations

from django.http import Http404
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import BadRequest
from core.api.parameters import parameters
from core.api.schema import QUESTION, parameter, reads
from metrics.filtered import filtered_jobs
from metrics.filters import EVERYTHING, ITEM, can_be_chosen
from metrics.models import CountState, Slice
from metrics.results.pairs.pair_details import PairDetails, stored
from metrics.results.scores import VALUES
from metrics.scale import QuestionScale
from projects.api.base import ApiView, question_of
from projects.models import Member

from .agreement import rater_of
from .serializers import ReadingOut

VIEWER = Member.Role.VIEWER
COUNTS = {
    "raters": "n_raters",
    "items": "n_items",
    "ratings": "n_ratings",
    "with_two_or_more": "with_two_or_more",
    "complete": "complete",
}


class PolicyOut(serializers.Serializer):
    name = serializers.CharField(help_text="available, by_item, complete or paired")
    coefficient = serializers.CharField()
    reading = ReadingOut()
    left_out_items = serializers.IntegerField()
    left_out_ratings = serializers.IntegerField()
    single_items = serializers.IntegerField(
        help_text="Items with one rating, which tells only how often a category is used"
    )


class CategoryAgreementOut(serializers.Serializer):
    label = serializers.CharField()  # type: ignore[assignment]
    ratings = serializers.IntegerField()
    agreement = ReadingOut(help_text="Fleiss' kappa of the category against the rest")


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
    coefficients = serializers.DictField(child=ReadingOut(), help_text="Name -> reading")


class EveryOut(serializers.Serializer):
    question = serializers.CharField()
    computed_at = serializers.DateTimeField(
        allow_null=True, help_text="null: a worker is at it; ask again"
    )
    of = serializers.CharField(help_text="people, models or all: whose ratings these are")
    raters = serializers.IntegerField()
    items = serializers.IntegerField()
    ratings = serializers.IntegerField()
    with_two_or_more = serializers.IntegerField(help_text="items with two ratings or more")
    complete = serializers.IntegerField(help_text="items that all raters rated")
    coefficients = serializers.DictField(
        child=ReadingOut(), help_text="Name -> reading; F, df1, df2 and p of an ICC, too"
    )
    policies = PolicyOut(many=True, help_text="Rules about missing ratings, side by side")
    categories = CategoryAgreementOut(many=True)
    scored = ScoredOut(required=False, help_text="Where `scores` were asked for")


class MarginalTestOut(serializers.Serializer):
    name = serializers.CharField()
    chi2 = serializers.FloatField(allow_null=True)
    df = serializers.IntegerField(allow_null=True)
    p = serializers.FloatField(allow_null=True)
    reason = serializers.CharField(allow_null=True)


class PairCategoryOut(serializers.Serializer):
    label = serializers.CharField()  # type: ignore[assignment]
    agreement = ReadingOut(help_text="Cohen's kappa of the category against the rest")


class TwoRatersOut(serializers.Serializer):
    question = serializers.CharField()
    rater_a = serializers.CharField()
    rater_b = serializers.CharField()
    table = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="Items by category of rater_a (rows) and of rater_b, in declared order",
    )
    kappas = serializers.DictField(child=ReadingOut(), help_text="Weights -> Cohen's kappa")
    coefficients = serializers.DictField(child=ReadingOut())
    tests = MarginalTestOut(many=True, help_text="Do both use the categories alike?")
    categories = PairCategoryOut(many=True)


class Every(ApiView):
    @reads(
        "listCoefficients",
        "Every coefficient of a question that says something on its scale",
        EveryOut,
        [QUESTION, parameter("scores", "values, or item.NAME: a gold score of the items")],
    )
    def get(self, request: Request, project_id: int) -> Response:
        """Made on request: the first answer may have no numbers yet, `computed_at` null."""
        project = self.project(request, project_id, role=VIEWER)
        given = parameters(request, ("question", "scores"))
        question = question_of(project, given.get("question"))
        question.project = project
        scores = given.get("scores", "")
        if scores not in ("", VALUES) and not _an_attribute(scores):
            raise BadRequest(
                "Unknown scores.", fields={"scores": f"{VALUES}, or {ITEM} and an attribute's name"}
            )
        wanted = filtered_jobs.Wanted(Slice.Kind.EVERY, EVERYTHING, scores=scores)
        row = filtered_jobs.ask(question, wanted, version=CountState.version_of(question.pk))
        body = row.body or {}
        counts = {name: body.get(key, 0) for name, key in COUNTS.items()}
        parts = {name: body.get(name, []) for name in ("policies", "categories")}
        found = {
            "question": question.key,
            "computed_at": row.computed_at,
            "of": body.get("of", "people"),
            "coefficients": body.get("coefficients", {}),
        }
        scored = {"scored": body["scored"]} if "scored" in body else {}
        return Response(found | counts | parts | scored)


class TwoRaters(ApiView):
    @reads(
        "getPair",
        "All that is known of two raters",
        TwoRatersOut,
        [
            QUESTION,
            parameter("rater_a", "Key of the one: the rows of the table", required=True),
            parameter("rater_b", "Key of the other", required=True),
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id, role=VIEWER)
        found = parameters(request, ("question", "rater_a", "rater_b"))
        question = question_of(project, found.get("question"))
        a, b = (rater_of(project, found.get(name, "")) for name in ("rater_a", "rater_b"))
        if a == b:
            raise Http404(_("A pair is two different raters."))
        scale = QuestionScale.of(question)
        details = PairDetails.from_table(stored(question, a, b, scale), scale)
        return Response(
            {
                "question": question.key,
                "rater_a": a.key,
                "rater_b": b.key,
                "table": details.table.tolist(),
                "kappas": details.kappas,
                "coefficients": details.others,
                "tests": [vars(test) for test in details.tests],
                "categories": [
                    {"label": label, "agreement": value} for label, value in details.categories
                ],
            }
        )


def _an_attribute(scores: str) -> bool:
    return scores.startswith(ITEM) and can_be_chosen(scores.removeprefix(ITEM))
