"""Views for leads: create a project, and change its settings."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from projects.forms.question_templates import QUESTION_TEMPLATES
from projects.forms.settings import ProjectForm, ProjectSettingsForm
from projects.guidelines import render_preview
from projects.models import Deletion, Member
from projects.permissions import get_project, require_can_create_projects
from projects.services import project_validation, projects
from projects.services.project_validation import InvalidProjectChange
from projects.services.question_validation import InvalidQuestions

from .form_handling import (
    add_form_errors,
    add_question_errors,
    are_all_valid,
    build_question,
    build_question_forms,
    get_form_data,
    get_form_status,
    is_submitted,
)

MAX_DELETIONS_SHOWN = 50
SETTINGS_FIELDS = (
    "name",
    "description",
    "guidelines",
    "overlap",
    "time_zone",
    "queue_order",
    "allows_corrections",
    "cluster_attribute",
    *project_validation.BOUNDS,
)


PRESERVED_FIELDS = ("name", "description", "overlap", "time_zone")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def create_project(request: HttpRequest) -> HttpResponse:
    """Create a project with its first question on one page.

    ``?template=`` names a question template; the parameters in PRESERVED_FIELDS are initial values.
    """
    require_can_create_projects(request.user)
    template, question_form, categories = build_question_forms(request)
    form = ProjectForm(get_form_data(request))
    # Values entered before another template was selected.
    form.initial.update(
        {name: request.GET[name] for name in PRESERVED_FIELDS if name in request.GET}
    )
    if template is not None:
        form.initial["guidelines"] = template.guidelines
    if is_submitted(request) and are_all_valid(form, question_form, categories):
        try:
            project = projects.create_project(
                by=request.user,
                questions=[build_question(question_form, categories)],
                **form.cleaned_data,
            )
        except InvalidProjectChange as error:
            add_form_errors(form, error.fields)
        except InvalidQuestions as error:
            add_question_errors(question_form, categories, error)
        else:
            messages.success(
                request,
                _("Project created. Next, add items."),
            )
            return redirect("dashboard", project.pk)
    context = {
        "form": form,
        "question_form": question_form,
        "categories": categories,
        "question_templates": QUESTION_TEMPLATES.items(),
        "selected_template": template,
    }
    return render(
        request,
        "projects/project_new.html",
        context,
        status=get_form_status(form, question_form, categories),
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def change_settings(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show and change the project's settings, and list its questions."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    form = ProjectSettingsForm(
        request.POST or None, initial={name: getattr(project, name) for name in SETTINGS_FIELDS}
    )
    if request.method == "POST" and form.is_valid():
        try:
            projects.change_project(project=project, by=request.user, **form.cleaned_data)
        except InvalidProjectChange as error:
            add_form_errors(form, error.fields)
        else:
            messages.success(request, _("Saved."))
            return redirect("project_settings", project.pk)
    questions = project.questions.prefetch_related("categories")
    context = {
        "project": project,
        "form": form,
        "questions": questions,
        "attribute_names": projects.list_attribute_names(project),
        "deletions": project.deletions.select_related("by")[:MAX_DELETIONS_SHOWN],
    }
    return render(request, "projects/settings.html", context, status=get_form_status(form))


@login_required
@require_POST
def archive_project(request: HttpRequest, project_id: int) -> HttpResponse:
    """Archive or restore the project.

    A project that is being deleted stays archived. Redirects to the settings, or to the list of
    projects with the query in ``passed``.
    """
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    archived = request.POST.get("do") != "restore"
    next_url = reverse("project_settings", args=[project.pk])
    if "passed" in request.POST:
        list_query = QueryDict(request.POST["passed"][:1000], mutable=True)
        list_query.pop("page", None)  # the page may not exist any more
        next_url = f"{reverse('projects')}?{list_query.urlencode()}".removesuffix("?")
    running_deletions = Deletion.objects.filter(kind="project", target=project.pk, finished_at=None)
    if not archived and running_deletions.exists():
        messages.error(request, _("This project is being deleted."))
        return redirect(next_url)
    projects.archive_project(project=project, archived=archived, by=request.user)
    if archived:
        messages.success(request, _("Project archived. It no longer accepts ratings."))
    else:
        messages.success(request, _("Project restored."))
    return redirect(next_url)


@login_required
@require_POST
def preview_guidelines(request: HttpRequest) -> HttpResponse:
    """Render the submitted Markdown as raters will see it, for the preview beside the field."""
    text = request.POST.get("guidelines", "")[: project_validation.MAX_TEXT_LENGTH]
    return render(request, "projects/_guidelines.html", {"html": render_preview(text)})
