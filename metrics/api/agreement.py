"""API of agreement, from stored results: nothing is computed over ratings here."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from django.db.models import TextField
from django.db.models.functions import Cast
from django.http import Http404, HttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.pagination import CursorKey, paginate, render_json_page
from core.api.schema import (
    PAGE_PARAMETERS,
    QUESTION_PARAMETER,
    build_page_serializer,
    describe_get,
)
from metrics.agreement.coefficients import cohen
from metrics.agreement.headline import COHEN, LEAD_CHOICE, HeadlineFacts, choose_headline
from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.agreement.weights import get_weighted_name
from metrics.counting.store import encode_json
from metrics.models import PairTally, RaterResult
from metrics.question_scale import QuestionScale
from metrics.results import pair_results
from metrics.results.headline.headline_computation import MODELS, PEOPLE
from metrics.results.intervals import QuestionClusters, describe_clusters
from metrics.results.question_agreement import QuestionAgreement
from metrics.results.stored_values import (
    HeadlineResult,
    ResultDetails,
    Values,
    build_uncounted_value,
    build_undefined_value,
)
from projects.api.base import ApiView
from projects.models import Member, Project, Question, Rater

from . import filtered
from .serializers import AgreementOut, PairAgreementOut, RaterAgreementOut

VIEWER = Member.Role.VIEWER
RATER_COLUMNS = {
    "rater": "rater__key",
    "name": "rater__name",
    "kind": "rater__kind",
    "group": "rater__group",
    "ratings": "n_ratings",
}
RANK_WEIGHTED_MEANS = [
    get_weighted_name(MEAN_PAIRWISE, weights) for weights in ("linear", "quadratic")
]


class AgreementView(ApiView):
    @describe_get(
        "getAgreement",
        "All coefficients of a question, and what they are based on",
        AgreementOut,
        [QUESTION_PARAMETER, *filtered.FILTER_PARAMETERS],
        may_be_pending=True,
    )
    def get(self, request: Request, project_id: int) -> Response:
        """Return the coefficients of all ratings, or of those that a filter selects.

        A filter's results are those of its ratings alone, as if there were no others; 202 while a
        worker computes them.
        """
        project, question, params, rating_filter = filtered.parse_results_request(
            self, request, project_id
        )
        selected = filtered.SelectedAgreement.load(question, rating_filter)
        agreement, scale = selected.agreement, QuestionScale.for_question(question)
        clusters = agreement.clusters if agreement else None
        headline, groups = _get_headline(agreement, scale)
        pooled = params.get("population") == "all"
        return Response(
            {
                "question": question.key,
                "counted_at": selected.computed_at,
                "uncounted": max(filtered.count_pending_ratings(question), int(selected.is_stale)),
                **_describe_basis(agreement, selected.n_items),
                "headline": _describe_headline(headline, question),
                **groups,
                "coefficients": _get_coefficients(agreement, scale, pooled=pooled),
                "cluster": describe_clusters(project, clusters, headline["name"]),
            }
        )


class PairListView(ApiView):
    @describe_get(
        "listPairs",
        "Cohen's kappa of each pair of raters that shares an item",
        build_page_serializer("Pair", PairAgreementOut),
        [
            QUESTION_PARAMETER,
            filtered.WEIGHTS_PARAMETER,
            *filtered.FILTER_PARAMETERS,
            *PAGE_PARAMETERS,
        ],
        may_be_pending=True,
    )
    def get(self, request: Request, project_id: int) -> Response:
        """Return the pairs; with a filter, those of the 40 raters with the most of its ratings."""
        _project, question, params, rating_filter = filtered.parse_results_request(
            self, request, project_id, "weights", *pagination.PAGE_PARAMETER_NAMES
        )
        scale = QuestionScale.for_question(question)
        weights = filtered.choose_weights(params, question, scale)
        if rating_filter:
            body = filtered.get_or_request_dashboard(question, rating_filter)
            rows = filtered.list_pairs(body, scale, weights)
            return Response(
                paginate(request, params, key_length=1, read=filtered.build_list_reader(rows))
            )
        reader = partial(_read_pairs, question, scale, weights=weights)
        page = paginate(request, params, key_length=2, read=reader)
        if not page["results"]:
            filtered.require_first_results(question)
        return Response(page)


class RaterListView(ApiView):
    @describe_get(
        "listRaterAgreement",
        "Each rater's agreement with the others",
        build_page_serializer("Rater", RaterAgreementOut),
        [QUESTION_PARAMETER, *filtered.FILTER_PARAMETERS, *PAGE_PARAMETERS],
        may_be_pending=True,
    )
    def get(self, request: Request, project_id: int) -> HttpResponse:
        """Return the raters; with a filter, the 500 with the most of its ratings."""
        _project, question, params, rating_filter = filtered.parse_results_request(
            self, request, project_id, *pagination.PAGE_PARAMETER_NAMES
        )
        if rating_filter:
            body = filtered.get_or_request_dashboard(question, rating_filter)
            list_reader = filtered.build_list_reader(filtered.list_raters(body))
            return Response(paginate(request, params, key_length=1, read=list_reader))
        page = paginate(request, params, key_length=1, read=partial(_read_raters, question))
        if not page["results"]:
            filtered.require_first_results(question)
        return render_json_page(page)


# --- the question


def _describe_basis(agreement: QuestionAgreement | None, total: int) -> dict[str, object]:
    """Return the numbers of ratings and items that the results are based on.

    ``total``: number of items of the project.
    """
    details: ResultDetails = agreement.details if agreement else {}
    n_ratings = sum(category["ratings"] for category in details.get("categories", ()))
    items = {
        "total": total,
        "rated": details.get("rated", 0),
        "with_two_or_more": details.get("with_two_or_more", 0),
    }
    return {"ratings": n_ratings, "items": items}


def _get_coefficients(
    agreement: QuestionAgreement | None, scale: QuestionScale, *, pooled: bool
) -> Values:
    """Return name -> Value of all coefficients that suit the scale.

    They are those of the headline's population; with ``pooled``, of people and models together.
    Means over pairs with rank weights are left out where the categories have no order.
    """
    if agreement is None:
        names = [*scale.list_pattern_coefficients(), *scale.list_mean_coefficients()]
        values = {name: build_uncounted_value() for name in names}
    else:
        values = agreement.coefficients if pooled else agreement.population_coefficients
    excluded = () if scale.type.ordered else RANK_WEIGHTED_MEANS
    return {name: value for name, value in values.items() if name not in excluded}


def _get_headline(
    agreement: QuestionAgreement | None, scale: QuestionScale
) -> tuple[HeadlineResult, Values]:
    """Return the headline, and the values of its coefficient by group of raters.

    The groups are people, models, and people_models: between people and models.
    """
    if agreement is None or not agreement.headline:
        return _build_uncounted_headline(scale)
    headline, value = agreement.headline, agreement.headline["value"]
    undefined_value = build_undefined_value("no_pairable_items")
    only_models = headline["population"] == MODELS
    return headline, {
        "people": headline.get(PEOPLE, undefined_value if only_models else value),
        "models": headline.get(MODELS, value if only_models else undefined_value),
        "people_models": headline.get("between", undefined_value),
    }


def _describe_headline(headline: HeadlineResult, question: Question) -> dict[str, object]:
    return {
        **headline["value"],
        "name": headline["name"],
        "why": headline["why"],
        "population": headline["population"],
        "unweighted": headline.get("unweighted"),
        **_describe_sample(headline),
        "note": question.headline_note if headline["why"] == LEAD_CHOICE else "",
    }


def _build_uncounted_headline(scale: QuestionScale) -> tuple[HeadlineResult, Values]:
    """Return the headline that the rules choose before anything is counted, without values.

    The second part has a Value without a number for each group of raters.
    """
    choice = choose_headline(
        HeadlineFacts(scale.kind, 0, scale.weights), choice=scale.chosen_headline
    )
    headline = HeadlineResult(
        name=choice.name, why=choice.reason, population=PEOPLE, value=build_uncounted_value()
    )
    groups = {name: build_uncounted_value() for name in ("people", "models", "people_models")}
    return headline, groups


def _describe_sample(headline: HeadlineResult) -> dict[str, object]:
    """Return the sizes of the random sample, and the headline of all ratings as ``pooled``.

    Both are None where the headline is based on all ratings.
    """
    if "sample" not in headline:
        return {"sample": None, "pooled": None}
    sample, full_headline = headline["sample"], headline["pooled"]
    return {
        "sample": {"ratings": sample["n_ratings"], "left_out": sample["left_out"]},
        "pooled": {**full_headline["value"], "name": full_headline["name"]},
    }


# --- pairs and raters


def _read_pairs(
    question: Question, scale: QuestionScale, after: CursorKey | None, size: int, *, weights: str
) -> list[tuple[CursorKey, Any]]:
    """Return (cursor key, values and table) of at most ``size`` pairs after a cursor key.

    The values are computed from the stored tables, of all pairs in one call.
    """
    rows = PairTally.objects.filter(question=question).order_by("rater_a_id", "rater_b_id")
    if after:
        rater_a, rater_b = after
        rows = rows.filter(rater_a__gte=rater_a).exclude(rater_a=rater_a, rater_b__lte=rater_b)
    names = ("rater_a_id", "rater_b_id", "rater_a__key", "rater_b__key", "width", "table")
    stored = list(rows.values_list(*names)[:size])
    tables = pair_results.decode_tables([row[4:] for row in stored], scale)
    values = cohen.kappa(tables, scale.build_weight_matrices()[weights]).to_values()
    if clusters := QuestionClusters.load(question.pk, question.project):
        values = [
            clusters.widen_interval(get_weighted_name(COHEN, weights), value) for value in values
        ]
    entries: list[tuple[CursorKey, Any]] = []
    for row, value, table in zip(stored, values, tables.tolist(), strict=True):
        rater_a, rater_b, key_a, key_b, *_stored = row
        pair = {"rater_a": key_a, "rater_b": key_b, "weights": weights, "table": table}
        entries.append(((rater_a, rater_b), {**value, **pair}))
    return entries


def _read_raters(
    question: Question, after: CursorKey | None, size: int
) -> list[tuple[CursorKey, str]]:
    """Return (cursor key, JSON text) of at most ``size`` raters after a cursor key.

    The RATER_COLUMNS come first, then the stored coefficients, whose intervals are widened
    where the project has clusters.
    """
    rows = RaterResult.objects.filter(question=question)
    rows = rows.filter(rater__gt=after[0] if after else 0).order_by("rater_id")
    text = Cast("coefficients", TextField())
    columns = rows.values_list("rater_id", *RATER_COLUMNS.values(), text)
    entries: list[tuple[CursorKey, str]] = []
    clusters = QuestionClusters.load(question.pk, question.project)
    for rater_id, *columns_of_rater, stored_values in columns[:size]:
        values = stored_values
        if clusters:
            values = encode_json(clusters.widen_all(json.loads(stored_values)))
        head = encode_json(dict(zip(RATER_COLUMNS, columns_of_rater, strict=True)))
        entries.append(((rater_id,), f"{head[:-1]},{values[1:]}"))
    return entries


def get_rater(project: Project, key: str) -> Rater:
    """Return the rater with this key, or raise Http404.

    PostgreSQL rejects NUL, so a key with NUL is not looked up.
    """
    rater = None
    if "\x00" not in key:
        rater = Rater.objects.filter(project=project, key=key).first()
    if rater is None:
        raise Http404("Rater not found.")
    return rater
