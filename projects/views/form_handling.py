"""Helpers for forms that the views of projects, questions and members share."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, QueryDict
from django.utils.text import slugify

from core.web.forms import add_form_errors
from projects.forms.question_templates import QUESTION_TEMPLATES, QuestionTemplate
from projects.forms.settings import (
    MAX_CATEGORY_ROWS,
    BaseCategoryFormSet,
    QuestionForm,
    build_category_formset,
)
from projects.models import Project
from projects.services.question_validation import InvalidQuestions, NewQuestion

CATEGORY_PREFIX = "c"
MAX_LABEL_LENGTH = 200


def get_form_data(request: HttpRequest) -> QueryDict | None:
    """Return the submitted data, with the rows that a button requests; None if it is no POST.

    "Add a row" adds an empty row; "Paste" puts each pasted line into an empty or new row.
    """
    if request.method != "POST":
        return None
    if not {"add_row", "paste_rows"} & request.POST.keys():
        return request.POST
    data = request.POST.copy()
    total = data.get(f"{CATEGORY_PREFIX}-TOTAL_FORMS", "")
    n_rows = int(total) if total.isascii() and total.isdigit() and len(total) < 4 else 0
    if "paste_rows" not in request.POST:
        data[f"{CATEGORY_PREFIX}-TOTAL_FORMS"] = str(n_rows + 1)
        return data
    lines = [line.strip() for line in request.POST.get("pasted", "").splitlines() if line.strip()]
    empty_rows = [
        index
        for index in range(n_rows)
        if not data.get(f"{CATEGORY_PREFIX}-{index}-label", "").strip()
    ]
    target_rows = [*empty_rows, *range(n_rows, MAX_CATEGORY_ROWS)]
    for target_row, line in zip(target_rows, lines, strict=False):
        data[f"{CATEGORY_PREFIX}-{target_row}-label"] = line[:MAX_LABEL_LENGTH]
        n_rows = max(n_rows, target_row + 1)
    data[f"{CATEGORY_PREFIX}-TOTAL_FORMS"] = str(n_rows)
    data["pasted"] = ""
    return data


def is_submitted(request: HttpRequest) -> bool:
    """Return True if the form is to be saved, False if it is shown again with more rows."""
    return request.method == "POST" and not {"add_row", "paste_rows"} & request.POST.keys()


def build_question_forms(
    request: HttpRequest,
) -> tuple[QuestionTemplate | None, QuestionForm, BaseCategoryFormSet]:
    """Return the template named by ``?template=`` (or None) and the two forms of a new question.

    The forms are bound to the submitted data, or have the template's initial values.
    """
    data = get_form_data(request)
    template = QUESTION_TEMPLATES.get(request.GET.get("template", ""))
    form = QuestionForm(data)
    initial_rows = None
    if template is not None:
        form.initial.update(text=template.question, scale=template.scale)
        initial_rows = template.rows
    extra = 0 if initial_rows else 3
    initial = initial_rows if data is None else None  # submitted data replaces the template
    formset_class = build_category_formset(extra=extra, fixed=True)
    return template, form, formset_class(data, prefix=CATEGORY_PREFIX, initial=initial)


def are_all_valid(*forms: Any) -> bool:
    """Return True if all forms are valid; validates each, so that all errors are shown at once."""
    results = [form.is_valid() for form in forms]
    return all(results)


def get_form_status(*forms: Any) -> int:
    """Return 400 for a page that shows errors of submitted forms, 200 otherwise."""
    has_errors = [form.is_bound and (any(form.errors) or _get_form_errors(form)) for form in forms]
    return 400 if any(has_errors) else 200


def _get_form_errors(form: Any) -> Any:
    return (
        form.non_form_errors() if isinstance(form, BaseCategoryFormSet) else form.non_field_errors()
    )


def build_question(
    form: QuestionForm, categories: BaseCategoryFormSet, project: Project | None = None
) -> NewQuestion:
    """Return the validated question of the forms, with a generated key if none was entered."""
    text = form.cleaned_data["text"]
    position = project.questions.count() + 1 if project else 1
    key = form.cleaned_data["key"] or slugify(text)[:40].strip("-_") or f"question-{position}"
    new_categories = [row.build_category() for row in categories.get_rows()]
    return NewQuestion(
        key=key, text=text, scale=form.cleaned_data["scale"], categories=new_categories
    )


def add_question_errors(
    form: QuestionForm, categories: BaseCategoryFormSet, error: InvalidQuestions
) -> None:
    """Add the problems of a new question to its forms."""
    problems = dict(error.problems["0"])
    for message in categories.add_problems(categories.get_rows(), problems.pop("categories", {})):
        form.add_error(None, message)
    add_form_errors(form, problems)
