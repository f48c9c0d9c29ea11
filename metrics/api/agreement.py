"""The API of agreement: stored readings, never computed over ratings here."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db.models import TextField
from django.db.models.functions import Cast
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.pagination import Key, of_texts, page
from core.api.parameters import choice
from core.api.schema import PAGING, QUESTION, page_of, parameter, reads
from metrics.agreement.coefficients import cohen
from metrics.agreement.headline import CHOSEN, Facts, headline
from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.agreement.weights import NONE, WEIGHTINGS, weighted
from metrics.counting.store import json_text
from metrics.filters import Filter
from metrics.jobs import question_updates
from metrics.models import CountState, PairTally, RaterReading, Reading
from metrics.results import bootstrap
from metrics.results.headline.headline_computation import MODELS, PEOPLE
from metrics.results.pairs import pair_results
from metrics.results.values import not_counted, undefined
from metrics.scale import QuestionScale
from projects.models import Member, Project, Question, Rater
from projects.selectors.item_counts import n_items

from . import filtered
from .serializers import AgreementOut, PairOut, RaterOut

VIEWER = Member.Role.VIEWER
RATER_COLUMNS = {
    "rater": "rater__key",
    "name": "rater__name",
    "kind": "rater__kind",
    "group": "rater__group",
    "ratings": "n_ratings",
}
BY_RANK = [weighted(MEAN_PAIRWISE, weights) for weights in ("linear", "quadratic")]


class Agreement(filtered.ResultsView):
    @reads(
        "getAgreement",
        "All coefficients of a question, and what they rest on",
        AgreementOut,
        [QUESTION, *filtered.FILTERS],
        later=True,
    )
    def get(self, request: Request, project_id: int) -> Response:
        """With a filter: of the chosen ratings alone, as if there were no others; 202 while a
        worker is at it."""
        project, question, _found, chosen = filtered.of_request(self, request, project_id)
        if chosen:
            return _of_some(project, question, chosen)
        whole = Reading.objects.filter(question=question).first()
        state = CountState.objects.filter(question=question).first()
        scale = QuestionScale.of(question)
        return Response(
            {
                "question": question.key,
                "counted_at": state.counted_at if state and whole else None,
                "uncounted": question_updates.waiting_ratings(question, state),
                **_basis(whole, n_items(project)),
                **_headline(whole, state, question, scale),
                "coefficients": _coefficients(whole, state, scale),
            }
        )


class Pairs(filtered.ResultsView):
    @reads(
        "listPairs",
        "Cohen's kappa of each pair of raters that shares an item",
        page_of("Pair", PairOut),
        [
            QUESTION,
            parameter(
                "weights",
                "none when left out; custom where the question has a matrix",
                enum=list(WEIGHTINGS),
            ),
            *filtered.FILTERS,
            *PAGING,
        ],
        later=True,
    )
    def get(self, request: Request, project_id: int) -> Response:
        """With a filter: of the 40 raters with the most of these ratings."""
        _project, question, found, chosen = filtered.of_request(
            self, request, project_id, "weights", *pagination.PAGING
        )
        scale = QuestionScale.of(question)
        weights = choice(found, "weights", scale.weighting_names(), default=NONE)
        if chosen:
            body, _at = filtered.project(question, chosen)
            rows = filtered.pairs(question, body, scale, weights)
            return Response(page(request, found, key=1, read=filtered.listed(rows)))
        read = partial(_pairs, question, scale, weights=weights)
        return Response(page(request, found, key=2, read=read))


class Raters(filtered.ResultsView):
    @reads(
        "listRaterAgreement",
        "Each rater's agreement with the others",
        page_of("Rater", RaterOut),
        [QUESTION, *filtered.FILTERS, *PAGING],
        later=True,
    )
    def get(self, request: Request, project_id: int) -> HttpResponse:
        """With a filter: the 500 raters with the most of these ratings."""
        _project, question, found, chosen = filtered.of_request(
            self, request, project_id, *pagination.PAGING
        )
        if chosen:
            body, _at = filtered.project(question, chosen)
            read_some = filtered.listed(filtered.raters(body))
            return Response(page(request, found, key=1, read=read_some))
        read = partial(_raters, question)
        return of_texts(page(request, found, key=1, read=read))


def _of_some(project: Project, question: Question, chosen: Filter) -> Response:
    """What `Agreement` answers of all ratings, of the chosen ones."""
    body, computed_at = filtered.project(question, chosen)
    reading, scale = filtered.reading(question, body), QuestionScale.of(question)
    return Response(
        {
            "question": question.key,
            "counted_at": computed_at,
            "uncounted": filtered.uncounted(question),
            **_basis(reading, body.get("n_items", n_items(project))),
            **_headline(reading, None, question, scale),
            "coefficients": body["coefficients"],
        }
    )


# --- the whole question


def _basis(whole: Reading | None, total: int) -> dict[str, Any]:
    """What the numbers rest on: ratings, and items of ``total``."""
    details = whole.details if whole else {}
    held = sum(category["ratings"] for category in details.get("categories", ()))
    items = {
        "total": total,
        "rated": details.get("rated", 0),
        "with_two_or_more": details.get("with_two_or_more", 0),
    }
    return {"ratings": held, "items": items}


def _coefficients(
    whole: Reading | None, state: CountState | None, scale: QuestionScale
) -> dict[str, Any]:
    """Name -> value of all coefficients that the scale gives sense to: where categories have no
    order, a mean over pairs by ranks says nothing."""
    if whole is None:
        names = [*scale.pattern_names(), *scale.mean_names()]
        found: dict[str, Any] = {name: not_counted() for name in names}
    else:
        found = bootstrap.filled(whole.coefficients, state.bootstrap if state else {})
    senseless = () if scale.type.ordered else BY_RANK
    return {name: value for name, value in found.items() if name not in senseless}


def _headline(
    whole: Reading | None, state: CountState | None, question: Question, scale: QuestionScale
) -> dict[str, Any]:
    """What is read first and why, and the same coefficient of people, of models, and between."""
    if whole is None or not whole.headline:
        chosen = headline(Facts(scale.kind, 0, scale.weights), chosen=scale.chosen)
        first: dict[str, Any] = {
            "name": chosen.name,
            "why": chosen.why,
            "of": PEOPLE,
            "value": not_counted(),
        }
        groups: dict[str, Any] = dict.fromkeys(("people", "models", "people_models"), not_counted())
    else:
        first = bootstrap.first_filled(whole.headline, state)
        nobody = undefined("no_pairable_items")
        own = first["value"]
        groups = {
            "people": first.get(PEOPLE, nobody if first["of"] == MODELS else own),
            "models": first.get(MODELS, own if first["of"] == MODELS else nobody),
            "people_models": first.get("between", nobody),
        }
    named = {name: first[name] for name in ("name", "why", "of")}
    named["drawn"], named["pooled"] = _drawn(first)
    named["note"] = question.headline_note if first["why"] == CHOSEN else ""
    return {"headline": {**first["value"], **named}, **groups}


def _drawn(first: dict[str, Any]) -> tuple[dict[str, int] | None, dict[str, Any] | None]:
    """Where the headline rests on some ratings alone, how many were left out, and the same of
    all."""
    if "drawn" not in first:
        return None, None
    drawn, whole = first["drawn"], first["pooled"]
    told = {"ratings": drawn["n_ratings"], "left_out": drawn["left_out"]}
    return told, {**whole["value"], "name": whole["name"]}


# --- pairs and raters


def _pairs(
    question: Question, scale: QuestionScale, after: Key | None, size: int, *, weights: str
) -> list[tuple[Key, Any]]:
    """Whole values of the pairs on one page, from their stored tables in one call."""
    rows = PairTally.objects.filter(question=question).order_by("rater_a_id", "rater_b_id")
    if after:
        a, b = after
        rows = rows.filter(rater_a__gte=a).exclude(rater_a=a, rater_b__lte=b)
    names = ("rater_a_id", "rater_b_id", "rater_a__key", "rater_b__key", "width", "table")
    found = list(rows.values_list(*names)[:size])
    tables = pair_results.declared([row[4:] for row in found], scale)
    values = cohen.kappa(tables, scale.weightings()[weights]).readings()
    shown: list[tuple[Key, Any]] = []
    for row, value, table in zip(found, values, tables.tolist(), strict=True):
        a, b, key_a, key_b, *_stored = row
        shown.append(((a, b), {**value, "rater_a": key_a, "rater_b": key_b, "table": table}))
    return shown


def _raters(question: Question, after: Key | None, size: int) -> list[tuple[Key, str]]:
    """The raters on one page as JSON: the stored text, which names vs_peers and more, behind the
    RATER_COLUMNS."""
    rows = RaterReading.objects.filter(question=question)
    rows = rows.filter(rater__gt=after[0] if after else 0).order_by("rater_id")
    text = Cast("coefficients", TextField())
    columns = rows.values_list("rater_id", *RATER_COLUMNS.values(), text)
    shown: list[tuple[Key, str]] = []
    for rater_id, *own, values in columns[:size]:
        head = json_text(dict(zip(RATER_COLUMNS, own, strict=True)))
        shown.append(((rater_id,), f"{head[:-1]},{values[1:]}"))
    return shown


def rater_of(project: Project, key: str) -> Rater:
    """The rater of this key, or Http404; PostgreSQL refuses a NUL and is never asked for one."""
    rater = None
    if "\x00" not in key:
        rater = Rater.objects.filter(project=project, key=key).first()
    if rater is None:
        raise Http404(_("No such rater."))
    return rater
