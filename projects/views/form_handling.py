"""What the pages with forms of projects, questions and people do alike."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, QueryDict
from django.utils.text import slugify

from projects.forms.question_templates import STARTS, Start
from projects.forms.settings import MOST_ROWS, BaseCategories, QuestionForm, categories_formset
from projects.models import Project
from projects.services.question_validation import InvalidQuestions, NewQuestion

PREFIX = "c"  # of the fields of categories
LONGEST_LABEL = 200


def with_added_row(request: HttpRequest) -> QueryDict | None:
    """What was typed, with one more empty row where the button "Add a row" was pressed, or a row
    for each line that was pasted; None for a GET."""
    if request.method != "POST":
        return None
    if not {"add_row", "paste_rows"} & request.POST.keys():
        return request.POST
    data = request.POST.copy()
    total = data.get(f"{PREFIX}-TOTAL_FORMS", "")
    rows = int(total) if total.isascii() and total.isdigit() and len(total) < 4 else 0
    if "paste_rows" not in request.POST:
        data[f"{PREFIX}-TOTAL_FORMS"] = str(rows + 1)
        return data
    lines = [line.strip() for line in request.POST.get("pasted", "").splitlines() if line.strip()]
    empty = [row for row in range(rows) if not data.get(f"{PREFIX}-{row}-label", "").strip()]
    places = [*empty, *range(rows, MOST_ROWS)]
    for place, line in zip(places, lines, strict=False):
        data[f"{PREFIX}-{place}-label"] = line[:LONGEST_LABEL]
        rows = max(rows, place + 1)
    data[f"{PREFIX}-TOTAL_FORMS"] = str(rows)
    data["pasted"] = ""
    return data


def is_sent(request: HttpRequest) -> bool:
    """Whether the form is to be saved, and not to be shown again with more rows."""
    return request.method == "POST" and not {"add_row", "paste_rows"} & request.POST.keys()


def begin_question(request: HttpRequest) -> tuple[Start | None, QuestionForm, BaseCategories]:
    """The forms of a new question, filled in by the one of STARTS that ``?start=`` names, or as
    they were sent."""
    data = with_added_row(request)
    start = STARTS.get(request.GET.get("start", ""))
    form = QuestionForm(data)
    rows = None
    if start is not None:
        form.initial.update(text=start.question, scale=start.scale)
        rows = start.rows
    extra = 0 if rows else 3
    initial = rows if data is None else None  # what was typed stands alone
    made = categories_formset(extra=extra, fixed=True)
    return start, form, made(data, prefix=PREFIX, initial=initial)


def all_valid(*forms: Any) -> bool:
    """Whether all are; looks at each, so that all troubles are shown at once."""
    found = [form.is_valid() for form in forms]
    return all(found)


def status_of(*forms: Any) -> int:
    """400 for a page that shows what is wrong with what was sent; 200 otherwise."""
    wrong = [form.is_bound and (any(form.errors) or _loose_errors(form)) for form in forms]
    return 400 if any(wrong) else 200


def _loose_errors(form: Any) -> Any:
    return form.non_form_errors() if isinstance(form, BaseCategories) else form.non_field_errors()


def new_question(
    form: QuestionForm, categories: BaseCategories, project: Project | None = None
) -> NewQuestion:
    text = form.cleaned_data["text"]
    number = project.questions.count() + 1 if project else 1
    key = form.cleaned_data["key"] or slugify(text)[:40].strip("-_") or f"question-{number}"
    specs = [row.spec() for row in categories.rows()]
    return NewQuestion(key=key, text=text, scale=form.cleaned_data["scale"], categories=specs)


def show(form: Any, fields: dict[str, Any]) -> None:
    """Put the messages of a refusal beside the fields that they name."""
    for name, message in fields.items():
        form.add_error(name if name in form.fields else None, str(message))


def show_question(
    form: QuestionForm, categories: BaseCategories, refused: InvalidQuestions
) -> None:
    problems = dict(refused.problems["0"])
    for message in categories.add_problems(categories.rows(), problems.pop("categories", {})):
        form.add_error(None, message)
    show(form, problems)
