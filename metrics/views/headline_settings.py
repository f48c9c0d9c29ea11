"""Headline settings: the lead chooses the headline, the band scheme and the target value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from core.text import describe_saved
from metrics.agreement.headline import list_headline_choices
from metrics.views.common import display_names
from metrics.views.common.selection import Selection, get_permitted_selection
from projects.models import BandScheme, Member
from projects.services.project_validation import InvalidProjectChange
from projects.services.projects import change_project
from projects.services.questions import MAX_NOTE_LENGTH, change_headline


class HeadlineForm(forms.Form):
    """Headline settings of a question, and the band scheme and target of its whole project."""

    headline = forms.ChoiceField(label=gettext_lazy("Headline"), required=False)
    note = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=MAX_NOTE_LENGTH,
        required=False,
    )
    pooled = forms.BooleanField(label=gettext_lazy("Pool people and models"), required=False)
    band_scheme = forms.ChoiceField(
        label=gettext_lazy("Labels for values (whole project)"), choices=BandScheme.choices
    )
    target_agreement = forms.FloatField(
        label=gettext_lazy("Target (whole project)"),
        required=False,
        help_text=gettext_lazy("Such as 0.8. Blank: none."),
        widget=forms.NumberInput({"step": "any", "min": 0, "max": 1}),
    )

    def __init__(self, *args: Any, selection: Selection, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scale = selection.scale
        names = list_headline_choices(
            scale.kind, values=scale.values, custom=scale.matrix is not None
        )
        field = self.fields["headline"]
        default_label = _("automatic (by scale, raters and weights)")
        if isinstance(field, forms.ChoiceField):
            field.choices = [
                ("", default_label),
                *((name, display_names.get_coefficient_name(name)) for name in names),
            ]


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit_headline(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show and save the headline settings of a question, for leads only."""
    selection = get_permitted_selection(request, project_id, role=Member.Role.LEAD)
    project, question = selection.project, selection.question
    current_values = {
        "headline": question.headline,
        "note": question.headline_note,
        "pooled": question.headline_pooled,
        "band_scheme": project.band_scheme,
        "target_agreement": project.target_agreement,
    }
    form = HeadlineForm(request.POST or None, selection=selection, initial=current_values)
    if form.is_valid():
        try:
            _save_changes(request, selection, form.cleaned_data)
        except InvalidProjectChange as error:
            for name, message in error.fields.items():
                form.add_error(name if name in form.fields else None, message)
        else:
            messages.success(request, describe_saved(_("Headline")))
            return redirect(f"{request.path}?question={question.key}")
    context = {"project": project, "selection": selection, "form": form}
    return render(
        request, "metrics/coefficients/headline.html", context, status=400 if form.errors else 200
    )


@transaction.atomic
def _save_changes(
    request: HttpRequest, selection: Selection, cleaned_data: Mapping[str, Any]
) -> None:
    """Save the settings that differ: an unchanged headline must not be recomputed."""
    question, project, by = selection.question, selection.project, request.user
    new_values = cleaned_data["headline"], cleaned_data["note"].strip(), cleaned_data["pooled"]
    if new_values != (question.headline, question.headline_note, question.headline_pooled):
        headline, note, pooled = new_values
        change_headline(question=question, headline=headline, note=note, pooled=pooled, by=by)
    project_values = {
        "band_scheme": cleaned_data["band_scheme"],
        "target_agreement": cleaned_data["target_agreement"],
    }
    if project_values != {
        "band_scheme": project.band_scheme,
        "target_agreement": project.target_agreement,
    }:
        change_project(project=project, by=by, **project_values)
