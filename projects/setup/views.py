"""Making a project and setting it up: the lead's pages."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from projects.access import get_project
from projects.models import Member, Project

from . import actions, project_rules
from .forms import BaseCategories, ProjectForm, QuestionForm, SetupForm, categories_formset
from .guidelines import as_html
from .project_rules import Refused
from .question_rules import InvalidQuestions, NewQuestion

PREFIX = "c"  # of the fields of categories
PROJECT_FIELDS = (
    "name",
    "description",
    "guidelines",
    "overlap",
    "time_zone",
    "queue_order",
    "corrections",
)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def project_new(request: HttpRequest) -> HttpResponse:
    """A project with its first question, on one page."""
    data = with_added_row(request)
    form, question = ProjectForm(data), QuestionForm(data)
    categories = categories_formset(extra=3, fixed=True)(data, prefix=PREFIX)
    if (
        request.method == "POST"
        and "add_row" not in request.POST
        and all_valid(form, question, categories)
    ):
        try:
            project = actions.create_project(
                by=request.user, questions=[new_question(question, categories)], **form.cleaned_data
            )
        except Refused as refused:
            show(form, refused.fields)
        except InvalidQuestions as refused:
            show_question(question, categories, refused)
        else:
            messages.success(
                request,
                _("The project is made. Next, bring in items and ratings, or invite people."),
            )
            return redirect("dashboard", project.pk)
    context = {
        "form": form,
        "question_form": question,
        "categories": categories,
        "zones": project_rules.time_zones(),
    }
    return render(
        request, "projects/project_new.html", context, status=status_of(form, question, categories)
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: HttpRequest, project_id: int) -> HttpResponse:
    """The project's own settings and the list of its questions."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    form = SetupForm(
        request.POST or None, initial={name: getattr(project, name) for name in PROJECT_FIELDS}
    )
    if request.method == "POST" and form.is_valid():
        try:
            actions.change_project(project=project, by=request.user, **form.cleaned_data)
        except Refused as refused:
            show(form, refused.fields)
        else:
            messages.success(request, _("Saved."))
            return redirect("setup", project.pk)
    questions = project.questions.prefetch_related("categories")
    context = {
        "project": project,
        "form": form,
        "questions": questions,
        "zones": project_rules.time_zones(),
    }
    return render(request, "projects/setup.html", context, status=status_of(form))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def question_new(request: HttpRequest, project_id: int) -> HttpResponse:
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    data = with_added_row(request)
    form = QuestionForm(data)
    categories = categories_formset(extra=3, fixed=True)(data, prefix=PREFIX)
    if request.method == "POST" and "add_row" not in request.POST and all_valid(form, categories):
        try:
            made = actions.add_question(
                project=project, question=new_question(form, categories, project), by=request.user
            )
        except Refused as refused:
            show(form, refused.fields)
        except InvalidQuestions as refused:
            show_question(form, categories, refused)
        else:
            messages.success(request, _("The question is added."))
            return redirect("question", project.pk, made.key)
    context = {"project": project, "question_form": form, "categories": categories}
    return render(
        request, "projects/question_new.html", context, status=status_of(form, categories)
    )


@login_required
@require_POST
def guidelines_preview(request: HttpRequest) -> HttpResponse:
    """The typed Markdown as raters will see it, for the page to put beside the field."""
    text = request.POST.get("guidelines", "")[: project_rules.MOST_TEXT]
    return render(request, "projects/_guidelines.html", {"html": as_html(text)})


def with_added_row(request: HttpRequest) -> QueryDict | None:
    """What was typed, with one more empty row where the button "Add a row" was pressed; None for a
    GET."""
    if request.method != "POST":
        return None
    if "add_row" not in request.POST:
        return request.POST
    data = request.POST.copy()
    total = data.get(f"{PREFIX}-TOTAL_FORMS", "")
    rows = int(total) if total.isascii() and total.isdigit() and len(total) < 4 else 0
    data[f"{PREFIX}-TOTAL_FORMS"] = str(rows + 1)
    return data


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
