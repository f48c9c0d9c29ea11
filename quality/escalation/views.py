"""Settings page for labels that are uncertain after the planned ratings."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from django.views.decorators.http import require_http_methods

from core.web.forms import SettingsForm, add_form_errors
from metrics.views.common.selection import Selection, get_permitted_selection
from projects.models import Member
from quality.escalation import label_rules
from quality.escalation.label_rules import summarize_escalations
from quality.validation import InvalidSettings


class LabelRulesForm(SettingsForm):
    """Form of a question's label rules; quality.escalation.label_rules validates the bounds."""

    request_ratings = forms.BooleanField(
        label=_lazy("Request extra ratings for uncertain items"), required=False
    )
    certain_from = forms.FloatField(
        label=_lazy("Confidence threshold"),
        widget=forms.NumberInput({"step": "any"}),
    )
    max_ratings = forms.IntegerField(
        label=_lazy("Maximum ratings per item"),
        help_text=_lazy("Then the item goes to review."),
    )
    budget = forms.IntegerField(
        label=_lazy("Maximum extra ratings in total"),
        help_text=_lazy("Then the item goes to review."),
    )
    second_opinion_share = forms.FloatField(
        label=_lazy("Share of decisions for a second adjudicator"),
        help_text=_lazy("From 0 to 1. Nobody sees which items."),
        widget=forms.NumberInput({"step": "any"}),
    )
    show_to_raters = forms.BooleanField(
        label=_lazy("Show raters decisions on their items"), required=False
    )
    show_after_days = forms.IntegerField(label=_lazy("Delay in days"))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit_label_rules(request: HttpRequest, project_id: int) -> HttpResponse:
    selection = get_permitted_selection(request, project_id, role=Member.Role.LEAD)
    question = selection.question
    rules = label_rules.get_label_rules(question)
    current = {name: getattr(rules, name) for name in LabelRulesForm.base_fields}
    form = LabelRulesForm(request.POST or None, initial=current)
    if request.method == "POST" and form.is_valid():
        try:
            label_rules.set_label_rules(question=question, by=request.user, **form.get_changes())
        except InvalidSettings as invalid:
            add_form_errors(form, invalid.fields)
        else:
            messages.success(request, _("Saved."))
            return _redirect_to_form(selection)
    context = {
        "project": selection.project,
        "selection": selection,
        "form": form,
        "escalation": summarize_escalations(question, rules),
    }
    status = 400 if form.errors else 200
    return render(request, "quality/escalation/settings.html", context, status=status)


def _redirect_to_form(selection: Selection) -> HttpResponse:
    url = reverse("label_rules", args=[selection.project.pk])
    return redirect(f"{url}?question={selection.question.key}")
