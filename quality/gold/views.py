"""Pages for leads: scores of raters on gold answers, and suspected gold answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import FloatField, QuerySet, Sum, Value
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from core.text import describe_saved, get_list_separator
from core.web.forms import SettingsForm
from core.web.tables import Interval, get_page_size
from metrics.agreement.rater_quality.gold import MIN_ANSWERS
from metrics.views.common.selection import Selection, get_permitted_selection, get_selection
from projects.models import GoldAnswer, Item, Member, Question, Rater, Scale
from projects.permissions import get_project
from quality.gold import recomputation, services, suspected_answers
from quality.models import GoldIntervention, GoldItem, GoldScore, GoldState
from ratings.services.rating_timestamps import date_from_day

RATERS_PER_PAGE = 50
ITEMS_PER_PAGE = 25
MAX_INTERVENTIONS = 100
LEAD, VIEWER = Member.Role.LEAD, Member.Role.VIEWER


@dataclass(frozen=True)
class ScoreRow:
    """A rater's score as the page shows it.

    With fewer than MIN_ANSWERS answers, only the interval of the accuracy is shown.
    """

    score: GoldScore
    accuracy: Interval
    chance: float | None
    kappa: Mapping[str, Any] | None
    bias: Mapping[str, Any] | None


@dataclass(frozen=True)
class SuspectedAnswer:
    """A gold item, with the labels and counts for the sentence that explains the suspicion."""

    row: GoldItem
    gold: str
    likely_label: str
    n_passing_likely: int
    n_passing: int

    @property
    def has_passing_raters(self) -> bool:
        return self.n_passing > 0


@login_required
@require_safe
def show_gold(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show raters' scores, suspected gold answers, and how often each gold answer was shown."""
    selection = _get_readable_selection(request, project_id)
    question = selection.question
    scores = GoldScore.objects.with_result().filter(question=question).select_related("rater")
    sorted_scores = scores.order_by("high", "low", "rater__key")
    raters = Paginator(sorted_scores, get_page_size(RATERS_PER_PAGE)).get_page(
        request.GET.get("page")
    )
    in_force = GoldItem.objects.filter(question=question, gold__retired_at=None)
    items = in_force.select_related("item", "gold")
    by_exposure = _sort_by_exposure(items, question)
    state = GoldState.objects.filter(question=question).first()
    context = {
        "project": selection.project,
        "selection": selection,
        "state": state,
        "has_gold": GoldAnswer.objects.in_force().filter(question=question).exists(),
        "is_outdated": recomputation.is_outdated(question.pk),
        "raters": raters,
        "score_rows": [_build_score_row(score) for score in raters],
        "suspected": [
            _build_suspected_answer(item, selection)
            for item in items.filter(suspected=True).order_by("-probability")[:ITEMS_PER_PAGE]
        ],
        "leaked": [
            _build_suspected_answer(item, selection)
            for item in items.filter(leaked=True)[:ITEMS_PER_PAGE]
        ],
        "items": Paginator(by_exposure, get_page_size(ITEMS_PER_PAGE)).get_page(
            request.GET.get("items")
        ),
        "interventions": _list_interventions(question),
        "rules": GoldState.Rule.choices,
        "shown_rules": _build_shown_rules(question, state),
        "n_scored": scores.aggregate(n=Sum("n", default=0))["n"],
        "ordered": Scale(question.scale).ordered,
    }
    return render(request, "quality/gold/overview.html", context)


def _sort_by_exposure(items: QuerySet[GoldItem], question: Question) -> QuerySet[Any]:
    """Return the question's gold items, those that most raters answered first.

    ``items``: its gold items, which are computed once somebody has rated. Until then the gold
    answers themselves are returned, annotated with the same fields.
    """
    by_exposure = items.order_by("-exposures", "item__id")
    if by_exposure.exists():
        return by_exposure
    no_value = Value(None, output_field=FloatField())
    uncounted = {"exposures": Value(0), "right": Value(0), "probability": no_value}
    answers = GoldAnswer.objects.in_force().filter(question=question)
    return answers.select_related("item").order_by("item_id").annotate(**uncounted)


def _get_readable_selection(request: HttpRequest, project_id: int) -> Selection:
    """Return the selected question, for leads; in an example project, for every member.

    Raises Http404 for strangers and PermissionDenied for other members.
    """
    project = get_project(request.user, project_id, role=VIEWER)
    if not project.is_example:
        project = get_project(request.user, project_id, role=LEAD)
    return get_selection(request, project)


def _build_score_row(score: GoldScore) -> ScoreRow:
    if score.n < MIN_ANSWERS:
        return ScoreRow(score, Interval(None, score.low, score.high), None, None, None)
    accuracy = Interval(score.accuracy, score.low, score.high)
    return ScoreRow(score, accuracy, score.chance, score.kappa, score.bias)


def _list_interventions(question: Question) -> list[GoldIntervention]:
    """Return the newest MAX_INTERVENTIONS that were not overridden: proposed, then newest first."""
    rows = GoldIntervention.objects.filter(question=question).exclude(
        state=GoldIntervention.State.OVERRIDDEN
    )
    interventions = rows.select_related("rater", "by").order_by("-pk")[:MAX_INTERVENTIONS]
    return sorted(
        interventions,
        key=lambda intervention: intervention.state != GoldIntervention.State.PROPOSED,
    )


def _build_suspected_answer(row: GoldItem, selection: Selection) -> SuspectedAnswer:
    labels = {category.code: category.label for category in selection.question.categories.all()}
    answer = row.gold.answer
    right = [labels.get(int(code), "") for code in answer]
    likely_label = labels.get(row.likely_code, "") if row.likely_code is not None else ""
    return SuspectedAnswer(
        row, get_list_separator().join(right), likely_label, row.n_passing_likely, row.n_passing
    )


@login_required
@require_safe
def show_rater(request: HttpRequest, project_id: int, rater_id: int) -> HttpResponse:
    """Show one rater's answers on gold, by category and by week."""
    selection = _get_readable_selection(request, project_id)
    rater = get_object_or_404(Rater, project=selection.project, pk=rater_id)
    scores = GoldScore.objects.with_result().filter(question=selection.question, rater=rater)
    score = scores.first()
    labels = {row.code: row.label for row in selection.question.categories.all()}
    context = {
        "project": selection.project,
        "selection": selection,
        "rater": rater,
        "score": score,
        "state": GoldState.objects.filter(question=selection.question).first(),
        "classes": [
            {**row, "label": labels.get(row["code"], "")}
            for row in (score.classes if score else [])
        ],
        "weeks": [
            {**row, "date": date_from_day(row["start"])}
            for row in reversed(score.weeks if score else [])
        ],
    }
    return render(request, "quality/gold/rater.html", context)


@login_required
@require_POST
def submit_review(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Keep or retire a suspected gold answer, as ``verdict`` says."""
    selection = get_permitted_selection(request, project_id, role=LEAD)
    item = get_object_or_404(Item, project=selection.project, pk=item_id)
    answers = GoldAnswer.objects.in_force().select_related("question", "item")
    answer = get_object_or_404(answers, question=selection.question, item=item)
    verdict = request.POST.get("verdict", "")
    reason = request.POST.get("reason", "").strip()
    try:
        suspected_answers.create_review(
            gold=answer, verdict=verdict, reason=reason, by=request.user
        )
    except suspected_answers.InvalidGoldReview as error:
        return HttpResponseBadRequest(str(error), content_type="text/plain; charset=utf-8")
    messages.success(request, describe_saved(_("Gold answer")))
    return _redirect_to_gold(selection)


@login_required
@require_POST
def submit_intervention(
    request: HttpRequest, project_id: int, intervention_id: int
) -> HttpResponse:
    """Carry out a proposed warning or pause, or override it with a ``reason``, as ``do`` says."""
    selection = get_permitted_selection(request, project_id, role=LEAD)
    intervention = get_object_or_404(
        GoldIntervention, question=selection.question, pk=intervention_id
    )
    try:
        if request.POST.get("do") == "carry_out":
            services.carry_out_intervention(intervention=intervention, by=request.user)
        else:
            reason = request.POST.get("reason", "")
            services.override_intervention(
                intervention=intervention, reason=reason, by=request.user
            )
    except services.InvalidIntervention as invalid:
        messages.error(request, str(invalid))
    else:
        messages.success(request, describe_saved(_("Decision")))
    return _redirect_to_gold(selection)


@login_required
@require_POST
def change_rules(request: HttpRequest, project_id: int) -> HttpResponse:
    """Set the pass mark on gold, the consequence below it, and the tolerance of gold answers."""
    selection = get_permitted_selection(request, project_id, role=LEAD)
    question = selection.question
    state = GoldState.objects.filter(question=question).first()
    form = GoldRulesForm(request.POST, initial=_build_shown_rules(question, state))
    if not form.is_valid():  # the page now shows what somebody else saved
        for [message] in form.errors.values():
            messages.error(request, str(message))
        return _redirect_to_gold(selection)
    changes = {name: value for name, value in form.get_changes().items() if value}
    try:
        services.set_gold_rules(question=question, by=request.user, **changes)
    except ValueError as error:
        return HttpResponseBadRequest(str(error), content_type="text/plain; charset=utf-8")
    return _redirect_to_gold(selection)


class GoldRulesForm(SettingsForm):
    """Form of the rules for gold; quality.gold.services validates them."""

    pass_mark = forms.CharField(required=False)
    tolerance = forms.CharField(required=False)
    rule = forms.CharField(required=False)


def _build_shown_rules(question: Question, state: GoldState | None) -> dict[str, str]:
    """Return the current rules as texts of the form's fields; for None, the default rules."""
    state = state or GoldState()
    return {
        "pass_mark": f"{state.pass_mark:.2f}",
        "tolerance": f"{question.gold_tolerance:g}",
        "rule": state.rule,
    }


def _redirect_to_gold(selection: Selection) -> HttpResponse:
    return redirect(
        f"{reverse('gold', args=[selection.project.pk])}?question={selection.question.key}"
    )
