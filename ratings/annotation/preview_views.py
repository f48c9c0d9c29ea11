"""Preview of a question's annotation form, beside the form that creates or changes the question."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from projects.forms.settings import build_category_formset
from projects.models import Category
from projects.views.form_handling import CATEGORY_PREFIX

from .forms import build_answer_options, fits_in_one_row

MAX_QUESTION_LENGTH = 500


@login_required
@require_POST
def preview_question(request: HttpRequest) -> HttpResponse:
    """Render the submitted question as raters will see it.

    Invalid rows are left out; the question's form reports their errors.
    """
    formset = build_category_formset(extra=0, fixed="stored" not in request.POST)(
        request.POST, prefix=CATEGORY_PREFIX
    )
    formset.is_valid()
    rows = [form.cleaned_data for form in formset.forms if hasattr(form, "cleaned_data")]
    rows = [row for row in rows if not row.get("DELETE")]
    rows.sort(key=lambda row: row.get("ORDER") or len(rows))
    categories = [
        Category(code=code, label=row["label"], hotkey=row.get("hotkey", ""))
        for code, row in enumerate(rows)
        if row.get("label")
    ]
    context = build_preview_context(request.POST.get("text", ""), categories)
    return render(request, "ratings/_question_preview.html", context)


def build_preview_context(text: str, categories: Sequence[Category]) -> dict[str, object]:
    """Return the context of the preview's template."""
    options = build_answer_options(categories, "preview")
    return {
        "text": text[:MAX_QUESTION_LENGTH].strip(),
        "options": options,
        "in_a_row": fits_in_one_row(options),
    }
