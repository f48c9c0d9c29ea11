"""Pages for leads: how raters do on gold answers, and which gold answers are in doubt."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from core.web.tables import a_page
from metrics.agreement.rater_quality.gold import PAUSE_AT, WORDED_FROM
from metrics.views.common.selection import Selection, chosen_question
from projects.models import GoldAnswer, Item, Member, Question, Rater, Scale
from quality.gold import input_version, interventions, settings, suspected_answers
from quality.models import GoldAct, GoldItem, GoldReview, GoldScore, GoldState
from ratings.services.days import date_of

RATERS_A_PAGE = 50
ITEMS_A_PAGE = 25
ACTS_SHOWN = 100
LEAD = Member.Role.LEAD


@login_required
@require_safe
def gold(request: HttpRequest, project_id: int) -> HttpResponse:
    """The scores of a question's raters, the gold answers in doubt, and how often each was
    shown."""
    chosen = chosen_question(request, project_id, role=LEAD)
    question = chosen.question
    scores = GoldScore.objects.filter(question=question).select_related("rater")
    ordered = scores.order_by("-highest", "low", "rater__key")
    raters = Paginator(ordered, a_page(RATERS_A_PAGE)).get_page(request.GET.get("page"))
    in_force = GoldItem.objects.filter(question=question, gold__retired_at=None)
    items = in_force.select_related("item", "gold")
    shown = items.order_by("-exposures", "item__id")
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "state": GoldState.objects.filter(question=question).first(),
        "has_gold": GoldAnswer.objects.in_force().filter(question=question).exists(),
        "waiting": input_version.is_old(question.pk),
        "raters": raters,
        "suspected": [
            _worded(item, chosen)
            for item in items.filter(suspected=True).order_by("-probability")[:ITEMS_A_PAGE]
        ],
        "leaked": [_worded(item, chosen) for item in items.filter(leaked=True)[:ITEMS_A_PAGE]],
        "items": Paginator(shown, a_page(ITEMS_A_PAGE)).get_page(request.GET.get("items")),
        "acts": _acts(question),
        "rules": GoldState.Rule.choices,
        "pause_at": PAUSE_AT,
        "worded_from": WORDED_FROM,
        "ordered": Scale(question.scale).ordered,
    }
    return render(request, "quality/gold/overview.html", context)


def _acts(question: Question) -> list[GoldAct]:
    """What is proposed or stands, what waits for the lead first; those of models never exist."""
    rows = GoldAct.objects.filter(question=question).exclude(state=GoldAct.State.OVERRIDDEN)
    found = rows.select_related("rater", "by").order_by("-pk")[:ACTS_SHOWN]
    return sorted(found, key=lambda act: act.state != GoldAct.State.PROPOSED)


def _worded(row: GoldItem, chosen: Selection) -> dict[str, Any]:
    """A gold answer in doubt, with what its sentence says."""
    labels = {one.code: one.label for one in chosen.question.categories.all()}
    answer = row.gold.answer
    right = [labels.get(int(code), "") for code in answer]
    good = row.good > 0
    return {
        "row": row,
        "gold": ", ".join(right),
        "better": labels.get(row.better, "") if row.better is not None else "",
        "good": good,
        "saying": row.good_better,
        "of": row.good,
    }


@login_required
@require_safe
def rater(request: HttpRequest, project_id: int, rater_id: int) -> HttpResponse:
    """One rater's answers on gold: by category and week by week."""
    chosen = chosen_question(request, project_id, role=LEAD)
    found = get_object_or_404(Rater, project=chosen.project, pk=rater_id)
    score = GoldScore.objects.filter(question=chosen.question, rater=found).first()
    labels = {one.code: one.label for one in chosen.question.categories.all()}
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "rater": found,
        "score": score,
        "state": GoldState.objects.filter(question=chosen.question).first(),
        "classes": [
            {**one, "label": labels.get(one["code"], "")}
            for one in (score.classes if score else [])
        ],
        "weeks": [
            {**one, "date": date_of(one["start"])} for one in reversed(score.weeks if score else [])
        ],
        "pause_at": PAUSE_AT,
        "worded_from": WORDED_FROM,
    }
    return render(request, "quality/gold/rater.html", context)


@login_required
@require_POST
def review(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Keep a gold answer or retire it."""
    chosen = chosen_question(request, project_id, role=LEAD)
    item = get_object_or_404(Item, project=chosen.project, pk=item_id)
    answers = GoldAnswer.objects.in_force().select_related("question", "item")
    answer = get_object_or_404(answers, question=chosen.question, item=item)
    verdict = request.POST.get("verdict", "")
    reason = request.POST.get("reason", "").strip()
    try:
        suspected_answers.review(gold=answer, verdict=verdict, reason=reason, by=request.user)
    except suspected_answers.Refused as error:
        return HttpResponseBadRequest(str(error), content_type="text/plain; charset=utf-8")
    kept = verdict == GoldReview.Verdict.KEEP
    said = _("The gold answer of %(key)s is kept.") if kept else _("Retired: gold of %(key)s.")
    messages.success(request, said % {"key": item.key})
    return _back(chosen)


@login_required
@require_POST
def decide_act(request: HttpRequest, project_id: int, act_id: int) -> HttpResponse:
    """Carry out what is proposed against a rater, or override it (``do``) with a ``reason``."""
    chosen = chosen_question(request, project_id, role=LEAD)
    act = get_object_or_404(GoldAct, question=chosen.question, pk=act_id)
    try:
        if request.POST.get("do") == "carry_out":
            interventions.carry_out(act=act, by=request.user)
        else:
            reason = request.POST.get("reason", "")
            interventions.override(act=act, reason=reason, by=request.user)
    except interventions.Refused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, _("Done, and written down."))
    return _back(chosen)


@login_required
@require_POST
def choose_bar(request: HttpRequest, project_id: int) -> HttpResponse:
    """How often raters are to be right at least, and what follows when one is not."""
    chosen = chosen_question(request, project_id, role=LEAD)
    bar, rule = request.POST.get("bar", ""), request.POST.get("rule")
    try:
        settings.choose(question=chosen.question, bar=bar, rule=rule, by=request.user)
    except ValueError as error:
        return HttpResponseBadRequest(str(error), content_type="text/plain; charset=utf-8")
    return _back(chosen)


def _back(chosen: Selection) -> HttpResponse:
    return redirect(f"{reverse('gold', args=[chosen.project.pk])}?question={chosen.question.key}")
