"""The exam of a question: what raters see of theirs, and what leads choose, see and decide."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from core.web.tables import a_page
from metrics.agreement.rater_quality.gold import exam_passes
from metrics.views.common.selection import Selection, chosen_question
from projects.models import Category, GoldAnswer, Item, Member, Question, Rater
from quality.access import own_rater
from quality.exams import decisions, settings
from quality.models import Appeal
from quality.review import gold_appeals
from quality.validation import Refused
from ratings.annotation.assignments import exams
from ratings.items import content
from ratings.models import Exam, ExamRules

RATERS_A_PAGE = 50
LEAD = Member.Role.LEAD
OVER = (Exam.State.PASSED, Exam.State.FAILED, Exam.State.WAIVED)


class ExamForm(forms.Form):
    """What may be chosen; its bounds are those of quality.exams.settings."""

    required = forms.BooleanField(
        label=_lazy("Raters pass an exam before their first item"), required=False
    )
    everybody = forms.BooleanField(
        label=_lazy("Also those who have rated this question already"), required=False
    )
    p_fail = forms.FloatField(
        label=_lazy("Too low: right so often"),
        help_text=_lazy("A share; 0.6 is usual."),
        widget=forms.NumberInput({"step": "any"}),
    )
    p_pass = forms.FloatField(
        label=_lazy("Good enough: right so often"),
        help_text=_lazy("A share; 0.8 is usual."),
        widget=forms.NumberInput({"step": "any"}),
    )
    alpha = forms.FloatField(
        label=_lazy("Share of the too low who may pass"),
        help_text=_lazy("0.05 is usual."),
        widget=forms.NumberInput({"step": "any"}),
    )
    beta = forms.FloatField(
        label=_lazy("Share of the good enough who may fail"),
        help_text=_lazy("0.05 is usual."),
        widget=forms.NumberInput({"step": "any"}),
    )
    most = forms.IntegerField(
        label=_lazy("Items at most"),
        help_text=_lazy("Then what speaks for the rater is weighed against the rest."),
    )
    tries = forms.IntegerField(
        label=_lazy("Tries"), help_text=_lazy("Each with items that are new to the rater.")
    )


# --- the rater's own


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def exam(request: HttpRequest, project_id: int) -> HttpResponse:
    """The user's tries that have ended, with the right answers; POST begins the next one."""
    rater = own_rater(request, project_id)
    examining = None if rater.paused else exams.standing(rater)
    if request.method == "POST":
        if examining is not None and examining.state == "to_begin":
            exams.begin(question=examining.question, rater=rater)
        return redirect("rate", project_id)
    ended = Exam.objects.filter(rater=rater, state__in=OVER).select_related("question")
    context = {
        "project": rater.project,
        "examining": examining,
        "tries": _reviews(rater, list(ended.order_by("-pk"))),
        "several_questions": rater.project.questions.count() > 1,
    }
    return render(request, "quality/exams/own_exam.html", context)


@dataclass(frozen=True)
class Shown:
    """An answer of an exam beside the one that was right then."""

    item: Item
    blocks: Any
    said: str
    right: bool | None
    gold: str
    explanation: str
    appeal: Appeal | None = None


def _reviews(rater: Rater, tries: list[Exam]) -> list[dict[str, Any]]:
    """Each try with its answers, those first that were wrong."""
    steps = [step for one in tries for step in one.course]
    items = Item.objects.in_bulk({step[0] for step in steps})
    golds = GoldAnswer.objects.in_bulk({step[3] for step in steps if step[3] is not None})
    rows = Category.objects.filter(question__in=[one.question_id for one in tries])
    labels = {(row.question_id, row.code): row.label for row in rows}
    appeals = gold_appeals.appeals_of(rater)
    letting = gold_appeals.may_contest(rater, [one.question_id for one in tries])
    return [
        {
            "exam": one,
            "rows": [
                replace(row, appeal=appeals.get((one.question_id, row.item.pk)))
                for row in _shown(one, items, golds, labels)
            ],
            "may_contest": one.question_id in letting,
        }
        for one in tries
    ]


def _shown(
    one: Exam,
    items: dict[int, Item],
    golds: dict[int, GoldAnswer],
    labels: dict[tuple[int, int], str],
) -> list[Shown]:
    found = []
    for item_id, code, right, gold_id in one.course:
        item, gold = items.get(item_id), golds.get(gold_id)
        if item is None or item.withdrawn_at is not None:
            continue
        known = [labels.get((one.question_id, each), "") for each in gold.answer] if gold else []
        said = labels.get((one.question_id, code), "")
        blocks = content.blocks(item.body)
        explanation = gold.explanation if gold else ""
        found.append(Shown(item, blocks, said, right, " / ".join(known), explanation))
    return sorted(found, key=lambda row: row.right is not False)


# --- the lead's


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def exam_rules(request: HttpRequest, project_id: int) -> HttpResponse:
    """The rules of a question's exam, and how each rater stands."""
    chosen = chosen_question(request, project_id, role=LEAD)
    question = chosen.question
    rules = settings.rules_of(question)
    initial = {name: getattr(rules, name) for name in settings.RULES}
    form = ExamForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            settings.choose(question=question, by=request.user, **form.cleaned_data)
        except Refused as refused:
            for name, said in refused.fields.items():
                form.add_error(name, said)
        else:
            messages.success(request, _("Saved."))
            return _back(chosen)
    question.exam_rules = rules
    power = _power(question, rules)
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "form": form,
        "rules": rules,
        **power,
        "page": _results(question, rules, power["least"], request.GET.get("page")),
    }
    return render(
        request, "quality/exams/overview.html", context, status=400 if form.errors else 200
    )


def _power(question: Question, rules: ExamRules) -> dict[str, Any]:
    """How many items there are, and what one try tells by them."""
    n_gold = len(exams.fit(question))
    test = {**rules.test(), "most": min(rules.most, max(n_gold, 1))}
    return {
        "n_gold": n_gold,
        "least": exams.least(question),
        "items_each": test["most"],
        "passing_low": exam_passes(rules.p_fail, **test),
        "failing_high": 1 - exam_passes(rules.p_pass, **test),
    }


@dataclass(frozen=True)
class Row:
    """A rater and their latest try."""

    rater: Rater
    exam: Exam | None
    tries: int
    required: bool
    most_tries: int
    short: bool = False  # too few gold items are new to them for another try

    @property
    def over(self) -> bool:
        """No try is left, and none was passed."""
        failed = self.exam is not None and self.exam.state == Exam.State.FAILED
        return failed and self.tries >= self.most_tries

    @property
    def may_act(self) -> bool:
        done = self.exam is not None and self.exam.state in (Exam.State.PASSED, Exam.State.WAIVED)
        return self.required and not done

    @property
    def stuck(self) -> bool:
        """Whether they may neither rate nor begin a try, though the rules leave them one."""
        going = self.exam is not None and self.exam.state == Exam.State.OPEN
        return self.may_act and self.short and not going and not self.over

    @property
    def reason(self) -> str:
        said = self.exam.reason if self.exam is not None else ""
        return _("rated before the exam was asked for") if said == settings.RATED_BEFORE else said


def _results(question: Question, rules: ExamRules, least: int, number: str | None) -> Any:
    """Those who had an exam, and where one is asked for all annotators; ``least`` items make up a
    try."""
    by_rater: dict[int, list[Exam]] = {}
    for one in Exam.objects.filter(question=question).select_related("by").defer("items"):
        by_rater.setdefault(one.rater_id, []).append(one)
    raters = Rater.objects.filter(project=question.project_id, kind=Rater.Kind.HUMAN)
    leads = Member.objects.filter(project=question.project_id, role=LEAD).values("user")
    shown = raters.exclude(user=None).exclude(user__in=leads) if rules.required else raters.none()
    listed = (raters.filter(pk__in=list(by_rater)) | shown).order_by("key").distinct()
    page: Any = Paginator(listed, a_page(RATERS_A_PAGE)).get_page(number)
    page.object_list = list(page.object_list)
    new = exams.drawable_by_rater(question, page.object_list)
    page.object_list = [
        Row(
            rater=rater,
            short=len(new[rater.pk]) < least,
            exam=by_rater[rater.pk][-1] if rater.pk in by_rater else None,
            tries=len([one for one in by_rater.get(rater.pk, []) if one.state != "waived"]),
            required=rules.required,
            most_tries=rules.tries,
        )
        for rater in page.object_list
    ]
    return page


@login_required
@require_POST
def decide(request: HttpRequest, project_id: int, rater_id: int) -> HttpResponse:
    """Another try for a rater (``do``: grant), or none needed (waive), with a ``reason``."""
    chosen = chosen_question(request, project_id, role=LEAD)
    rater = get_object_or_404(Rater, project=chosen.project, pk=rater_id)
    question = chosen.question
    question.exam_rules = settings.rules_of(question)
    waiving = request.POST.get("do") == "waive"
    act = decisions.waive if waiving else decisions.grant
    try:
        act(question=question, rater=rater, by=request.user, reason=request.POST.get("reason", ""))
    except decisions.Refused as refused:
        messages.error(request, str(refused))
    else:
        said = _("%(rater)s rates without an exam.") if waiving else _("%(rater)s has another try.")
        messages.success(request, said % {"rater": rater})
    return _back(chosen)


def _back(chosen: Selection) -> HttpResponse:
    return redirect(f"{reverse('exams', args=[chosen.project.pk])}?question={chosen.question.key}")
