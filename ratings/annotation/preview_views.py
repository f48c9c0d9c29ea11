"""The desk of a question as it stands in a form, beside the form that makes or changes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from projects.forms.settings import categories_formset
from projects.models import Category
from projects.views.form_handling import PREFIX

from .forms import in_a_row, offered

LONGEST_QUESTION = 500


@login_required
@require_POST
def desk_preview(request: HttpRequest) -> HttpResponse:
    """What is typed as raters will see it; what cannot be is left out, and the form says why."""
    formset = categories_formset(extra=0, fixed="stored" not in request.POST)(
        request.POST, prefix=PREFIX
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
    context = shown(request.POST.get("text", ""), categories)
    return render(request, "ratings/_question_preview.html", context)


def shown(text: str, categories: Sequence[Category]) -> dict[str, Any]:
    """The context of the preview's template."""
    options = offered(categories, "preview")
    return {
        "text": text[:LONGEST_QUESTION].strip(),
        "options": options,
        "in_a_row": in_a_row(options),
    }
