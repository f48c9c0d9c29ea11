"""The lead's choice: what is read first of a question, in whose words, what it is to reach."""

from __future__ import annotations

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

from metrics.agreement.headline import choices
from metrics.views.common import display_names
from metrics.views.common.selection import Selection, chosen_question
from projects.models import BandScheme, Member
from projects.services.project_validation import Refused
from projects.services.projects import change_project
from projects.services.scales import MOST_NOTE, change_headline


class FirstForm(forms.Form):
    """`headline` of the question, `band_scheme` and `bar` of the whole project."""

    headline = forms.ChoiceField(label=gettext_lazy("Read first"), required=False)
    note = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=MOST_NOTE,
        required=False,
        help_text=gettext_lazy("Shown under the number, where you choose one yourself."),
    )
    pooled = forms.BooleanField(
        label=gettext_lazy("Count people and models together in it"), required=False
    )
    band_scheme = forms.ChoiceField(
        label=gettext_lazy("Words for values (whole project)"), choices=BandScheme.choices
    )
    bar = forms.FloatField(
        label=gettext_lazy("Bar to reach (whole project)"),
        required=False,
        help_text=gettext_lazy("Such as 0.667 or 0.8 (Krippendorff), 0.75 (Fleiss). Empty: none."),
        widget=forms.NumberInput({"step": "any", "min": 0, "max": 1}),
    )

    def __init__(self, *args: Any, chosen: Selection, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scale = chosen.scale
        names = choices(scale.kind, values=scale.values, custom=scale.matrix is not None)
        field = self.fields["headline"]
        by_table = _("what scale, raters and weights give")
        if isinstance(field, forms.ChoiceField):
            field.choices = [
                ("", by_table),
                *((name, display_names.coefficient(name)) for name in names),
            ]


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def first(request: HttpRequest, project_id: int) -> HttpResponse:
    """Choose, or leave it to the table."""
    chosen = chosen_question(request, project_id, role=Member.Role.LEAD)
    project, question = chosen.project, chosen.question
    stands = {
        "headline": question.headline,
        "note": question.headline_note,
        "pooled": question.headline_pooled,
        "band_scheme": project.band_scheme,
        "bar": project.bar,
    }
    form = FirstForm(request.POST or None, chosen=chosen, initial=stands)
    if form.is_valid():
        try:
            _change(request, chosen, form.cleaned_data)
        except Refused as refused:
            for name, message in refused.fields.items():
                form.add_error(name if name in form.fields else None, message)
        else:
            messages.success(request, _("Saved. The numbers follow within seconds."))
            return redirect(f"{request.path}?question={question.key}")
    context = {"project": project, "chosen": chosen, "form": form}
    return render(
        request, "metrics/coefficients/headline.html", context, status=400 if form.errors else 200
    )


@transaction.atomic
def _change(request: HttpRequest, chosen: Selection, found: dict[str, Any]) -> None:
    """Only what is another one now: a question whose choice stands is not computed anew."""
    question, project, by = chosen.question, chosen.project, request.user
    wanted = found["headline"], found["note"].strip(), found["pooled"]
    if wanted != (question.headline, question.headline_note, question.headline_pooled):
        headline, note, pooled = wanted
        change_headline(question=question, headline=headline, note=note, pooled=pooled, by=by)
    words_and_bar = {"band_scheme": found["band_scheme"], "bar": found["bar"]}
    if words_and_bar != {"band_scheme": project.band_scheme, "bar": project.bar}:
        change_project(project=project, by=by, **words_and_bar)
