"""The page where a lead says what follows when labels are not sure after the planned ratings."""

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

from metrics.views.common.selection import Selection, chosen_question
from projects.models import Member
from quality.escalation import settings
from quality.escalation.summary import summary
from quality.validation import Refused


class RulesForm(forms.Form):
    """What may be chosen; its bounds are those of quality.escalation.settings."""

    escalate = forms.BooleanField(
        label=_lazy("Ask again for an item whose label is in doubt"), required=False
    )
    sure_from = forms.FloatField(
        label=_lazy("A label is sure from"),
        help_text=_lazy("The probability of the label; with a majority, its share of the votes."),
        widget=forms.NumberInput({"step": "any"}),
    )
    most = forms.IntegerField(
        label=_lazy("Ratings an item at most"),
        help_text=_lazy("With the planned ones. After that it goes to a decision."),
    )
    budget = forms.IntegerField(
        label=_lazy("Ratings beyond the planned ones, in all"),
        help_text=_lazy("When they are used up, items in doubt go to a decision."),
    )
    second_share = forms.FloatField(
        label=_lazy("Share of decided items for a second adjudicator"),
        help_text=_lazy("From 0 (none) to 1. Nobody is told which: the second one decides blind."),
        widget=forms.NumberInput({"step": "any"}),
    )
    tell_raters = forms.BooleanField(
        label=_lazy("Raters learn what was decided of items that they rated"), required=False
    )
    tell_after = forms.IntegerField(label=_lazy("After so many days"))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def label_rules(request: HttpRequest, project_id: int) -> HttpResponse:
    chosen = chosen_question(request, project_id, role=Member.Role.LEAD)
    question = chosen.question
    rules = settings.rules_of(question)
    stands = {name: getattr(rules, name) for name in RulesForm.base_fields}
    form = RulesForm(request.POST or None, initial=stands)
    if request.method == "POST" and form.is_valid():
        try:
            settings.choose(question=question, by=request.user, **form.cleaned_data)
        except Refused as refused:
            for name, said in refused.fields.items():
                form.add_error(name, said)
        else:
            messages.success(request, _("Saved."))
            return _again(chosen)
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "form": form,
        "escalation": summary(question, rules),
    }
    status = 400 if form.errors else 200
    return render(request, "quality/escalation/settings.html", context, status=status)


def _again(chosen: Selection) -> HttpResponse:
    address = reverse("label_rules", args=[chosen.project.pk])
    return redirect(f"{address}?question={chosen.question.key}")
