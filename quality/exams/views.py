"""Pages of exams: the user's own attempts; for leads rules, results, attempts and waivers."""

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

from core.text import describe_saved
from core.web.forms import SettingsForm, add_form_errors
from core.web.tables import get_page_size
from metrics.agreement.rater_quality.gold import expected_exam_length
from metrics.views.common.number_formats import format_percent
from metrics.views.common.selection import Selection, get_permitted_selection
from projects.models import Category, GoldAnswer, Item, Member, Question, Rater
from quality.exams import exam_rules
from quality.models import Appeal
from quality.own_rater import get_own_rater_or_404
from quality.review import appeals
from quality.settings_changes import InvalidSettings
from ratings.annotation.assignments import exams
from ratings.items import content
from ratings.models import Exam, ExamRules

RATERS_PER_PAGE = 50
LEAD = Member.Role.LEAD
FINISHED_STATES = (Exam.State.PASSED, Exam.State.FAILED, Exam.State.WAIVED)


class ExamRulesForm(SettingsForm):
    """Form of a question's exam rules; quality.exams.exam_rules validates the bounds."""

    required = forms.BooleanField(label=_lazy("Require an exam before rating"), required=False)
    preset = forms.ChoiceField(
        label=_lazy("Difficulty"), required=False, widget=forms.RadioSelect, choices=()
    )
    everybody = forms.BooleanField(
        label=_lazy("Include raters who already rated this question"), required=False
    )
    p_fail = forms.FloatField(
        label=_lazy("Accuracy that should fail"),
        widget=forms.NumberInput({"step": "any"}),
    )
    p_pass = forms.FloatField(
        label=_lazy("Accuracy that should pass"),
        widget=forms.NumberInput({"step": "any"}),
    )
    alpha = forms.FloatField(
        label=_lazy("Share of poor raters who may pass"),
        widget=forms.NumberInput({"step": "any"}),
    )
    beta = forms.FloatField(
        label=_lazy("Share of good raters who may fail"),
        widget=forms.NumberInput({"step": "any"}),
    )
    max_answers = forms.IntegerField(
        label=_lazy("Maximum items"),
    )
    max_attempts = forms.IntegerField(
        label=_lazy("Attempts"),
    )

    def __init__(self, *args: Any, max_answers: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        preset = self.fields["preset"]
        assert isinstance(preset, forms.ChoiceField)
        preset.choices = _list_preset_choices(max_answers)

    def clean(self) -> dict[str, Any]:
        """Return the values, with the numbers of the preset if a different one was chosen.

        Adds a form error if the user also typed numbers that are not those of the preset.
        """
        cleaned = super().clean()
        changes = self.get_changes()
        numbers = exam_rules.PRESETS.get(cleaned.pop("preset", ""))
        if numbers is None or "preset" not in changes:
            return cleaned
        typed = set(numbers) & set(changes)
        if any(cleaned.get(name) != numbers[name] for name in typed):
            self.add_error("preset", _("Choose a difficulty or numbers, not both."))
        return cleaned | numbers


def _list_preset_choices(max_answers: int) -> list[tuple[str, str]]:
    """Return (name, description) of each preset, and last of CUSTOM.

    A description has the accuracies that pass and fail, and the expected number of items.
    ``max_answers``: answers that an attempt has at most.
    """
    labels = {"easy": _("Easy"), "standard": _("Standard"), "strict": _("Strict")}
    choices = []
    for name, numbers in exam_rules.PRESETS.items():
        length = expected_exam_length(
            numbers["p_pass"],
            p_fail=numbers["p_fail"],
            p_pass=numbers["p_pass"],
            alpha=numbers["alpha"],
            beta=numbers["beta"],
            max_answers=max_answers,
        )
        description = _("%(name)s: %(high)s right passes, %(low)s fails. About %(n)s items.") % {
            "name": labels[name],
            "high": format_percent(numbers["p_pass"]),
            "low": format_percent(numbers["p_fail"]),
            "n": round(length),
        }
        choices.append((name, description))
    return [*choices, (exam_rules.CUSTOM, _("Custom: see Advanced."))]


# --- pages for raters


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def show_own_exam(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the user's finished attempts with the right answers; POST begins the next attempt."""
    rater = get_own_rater_or_404(request, project_id)
    exam_status = None if rater.paused else exams.get_exam_status(rater)
    if request.method == "POST":
        if exam_status is not None and exam_status.availability == "not_started":
            exams.get_or_start_exam(question=exam_status.question, rater=rater)
        return redirect("rate", project_id)
    finished = Exam.objects.filter(rater=rater, state__in=FINISHED_STATES).select_related(
        "question"
    )
    context = {
        "project": rater.project,
        "exam_status": exam_status,
        "attempts": _build_reviews(rater, list(finished.order_by("-pk"))),
        "several_questions": rater.project.questions.count() > 1,
    }
    return render(request, "quality/exams/own_exam.html", context)


@dataclass(frozen=True)
class ReviewedAnswer:
    """An answer of an exam, next to the gold answer of that time."""

    item: Item
    blocks: Any
    label: str
    right: bool | None
    gold: str
    explanation: str
    appeal: Appeal | None = None


@dataclass(frozen=True)
class ReviewedAttempt:
    """An ended attempt with its answers, wrong ones first."""

    exam: Exam
    rows: list[ReviewedAnswer]
    may_contest: bool


def _build_reviews(rater: Rater, attempts: list[Exam]) -> list[ReviewedAttempt]:
    """Return each attempt with its answers, wrong ones first."""
    steps = [step for exam in attempts for step in exam.answers]
    items = Item.objects.in_bulk({step[0] for step in steps})
    golds = GoldAnswer.objects.in_bulk({step[3] for step in steps if step[3] is not None})
    rows = Category.objects.filter(question__in=[exam.question_id for exam in attempts])
    labels = {(row.question_id, row.code): row.label for row in rows}
    appeals_of_items = appeals.get_gold_appeals(rater)
    contestable = appeals.filter_questions_open_to_gold_appeals(
        rater, [exam.question_id for exam in attempts]
    )
    return [
        ReviewedAttempt(
            exam,
            [
                replace(row, appeal=appeals_of_items.get((exam.question_id, row.item.pk)))
                for row in _list_reviewed_answers(exam, items, golds, labels)
            ],
            may_contest=exam.question_id in contestable,
        )
        for exam in attempts
    ]


def _list_reviewed_answers(
    exam: Exam,
    items: dict[int, Item],
    golds: dict[int, GoldAnswer],
    labels: dict[tuple[int, int], str],
) -> list[ReviewedAnswer]:
    answers = []
    for item_id, code, right, gold_id in exam.answers:
        item, gold = items.get(item_id), golds.get(gold_id)
        if item is None or item.withdrawn_at is not None:
            continue
        gold_labels = (
            [labels.get((exam.question_id, gold_code), "") for gold_code in gold.answer]
            if gold
            else []
        )
        label = labels.get((exam.question_id, code), "")
        blocks = content.build_blocks(item.body)
        explanation = gold.explanation if gold else ""
        answers.append(
            ReviewedAnswer(item, blocks, label, right, " / ".join(gold_labels), explanation)
        )
    return sorted(answers, key=lambda row: row.right is not False)


# --- pages for leads


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit_exam_rules(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show and change the rules of a question's exam, with each rater's result."""
    selection = get_permitted_selection(request, project_id, role=LEAD)
    question = selection.question
    rules = exam_rules.get_exam_rules(question)
    initial = {name: getattr(rules, name) for name in exam_rules.RULES}
    initial["preset"] = exam_rules.get_preset_name(rules)
    question.exam_rules = rules
    exam_power = exam_rules.compute_exam_power(question, rules)
    # With too few gold items for an attempt, the length is that of an exam with enough of them.
    has_enough_items = exam_power.n_gold >= exam_power.min_items
    max_answers = exam_power.items_each if has_enough_items else rules.max_answers
    form = ExamRulesForm(request.POST or None, initial=initial, max_answers=max_answers)
    if request.method == "POST" and form.is_valid():
        try:
            exam_rules.set_exam_rules(question=question, by=request.user, **form.get_changes())
        except InvalidSettings as invalid:
            add_form_errors(form, invalid.fields)
        else:
            messages.success(request, describe_saved(_("Exam")))
            return _redirect_to_exams(selection)
    context = {
        "project": selection.project,
        "selection": selection,
        "form": form,
        "rules": rules,
        "is_custom": form["preset"].value() == exam_rules.CUSTOM or bool(form.errors),
        "power": exam_power,
        "page": _build_results_page(question, rules, exam_power.min_items, request.GET.get("page")),
    }
    return render(
        request, "quality/exams/overview.html", context, status=400 if form.errors else 200
    )


@dataclass(frozen=True)
class ExamResultRow:
    """A rater with their latest attempt, which is None before the first."""

    rater: Rater
    exam: Exam | None
    attempts: int
    required: bool
    max_attempts: int
    lacks_items: bool = False  # too few gold items are new to the rater for another attempt

    @property
    def is_out_of_attempts(self) -> bool:
        """Return whether the latest attempt failed and no further one is allowed."""
        failed = self.exam is not None and self.exam.state == Exam.State.FAILED
        return failed and self.attempts >= self.max_attempts

    @property
    def can_decide(self) -> bool:
        """Return whether a lead can grant an attempt or waive the exam.

        This is while an exam is required and the rater has neither passed nor a waiver.
        """
        is_done = self.exam is not None and self.exam.state in (
            Exam.State.PASSED,
            Exam.State.WAIVED,
        )
        return self.required and not is_done

    @property
    def is_blocked(self) -> bool:
        """Return whether the rater can neither rate nor begin an attempt that the rules allow."""
        is_running = self.exam is not None and self.exam.state == Exam.State.OPEN
        return (
            self.can_decide and self.lacks_items and not is_running and not self.is_out_of_attempts
        )

    @property
    def reason(self) -> str:
        """Return the reason of the latest attempt, translated if the program wrote it.

        Empty without a reason or an attempt.
        """
        reason = self.exam.reason if self.exam is not None else ""
        return (
            _("Rated before the exam was required") if reason == exam_rules.RATED_BEFORE else reason
        )

    @property
    def reason_with_name(self) -> str:
        """Return the reason of the latest attempt, with the lead who granted or waived it."""
        by = self.exam.by if self.exam is not None else None
        return f"{self.reason} ({by})" if self.reason and by else self.reason


def _build_results_page(
    question: Question, rules: ExamRules, min_items: int, page_number: str | None
) -> Any:
    """Return a page of ExamResultRow: raters with an exam and, if one is required, annotators.

    ``min_items``: gold items that an attempt needs.
    """
    by_rater: dict[int, list[Exam]] = {}
    for exam in Exam.objects.filter(question=question).select_related("by").defer("items"):
        by_rater.setdefault(exam.rater_id, []).append(exam)
    people = Rater.objects.filter(project=question.project_id, kind=Rater.Kind.HUMAN)
    leads = Member.objects.filter(project=question.project_id, role=LEAD).values("user")
    expected_raters = (
        people.exclude(user=None).exclude(user__in=leads) if rules.required else people.none()
    )
    raters = (people.filter(pk__in=list(by_rater)) | expected_raters).order_by("key").distinct()
    page: Any = Paginator(raters, get_page_size(RATERS_PER_PAGE)).get_page(page_number)
    page.object_list = list(page.object_list)
    new_items = exams.get_new_items_by_rater(question, page.object_list)
    page.object_list = [
        ExamResultRow(
            rater=rater,
            lacks_items=len(new_items[rater.pk]) < min_items,
            exam=by_rater[rater.pk][-1] if rater.pk in by_rater else None,
            attempts=len([exam for exam in by_rater.get(rater.pk, []) if exam.state != "waived"]),
            required=rules.required,
            max_attempts=rules.max_attempts,
        )
        for rater in page.object_list
    ]
    return page


@login_required
@require_POST
def submit_exam_action(request: HttpRequest, project_id: int, rater_id: int) -> HttpResponse:
    """Grant a rater another attempt or waive the exam (``do``), with a ``reason``."""
    selection = get_permitted_selection(request, project_id, role=LEAD)
    rater = get_object_or_404(Rater, project=selection.project, pk=rater_id)
    question = selection.question
    question.exam_rules = exam_rules.get_exam_rules(question)
    is_waiver = request.POST.get("do") == "waive"
    apply_action = exam_rules.waive_exam if is_waiver else exam_rules.grant_attempt
    try:
        apply_action(
            question=question, rater=rater, by=request.user, reason=request.POST.get("reason", "")
        )
    except exam_rules.InvalidExamAction as invalid:
        messages.error(request, str(invalid))
    else:
        message = (
            _("%(rater)s can rate without an exam.")
            if is_waiver
            else _("%(rater)s has another attempt.")
        )
        messages.success(request, message % {"rater": rater})
    return _redirect_to_exams(selection)


def _redirect_to_exams(selection: Selection) -> HttpResponse:
    return redirect(
        f"{reverse('exam_settings', args=[selection.project.pk])}?question={selection.question.key}"
    )
