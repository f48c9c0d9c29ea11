"""Making a project and setting it up: the lead's pages."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from projects.forms.question_templates import STARTS
from projects.forms.settings import ProjectForm, SetupForm
from projects.guidelines import as_html
from projects.models import Deletion, Member
from projects.permissions import get_project, refuse_new_projects
from projects.services import project_validation, projects
from projects.services.project_validation import Refused
from projects.services.question_validation import InvalidQuestions

from .form_handling import (
    all_valid,
    begin_question,
    is_sent,
    new_question,
    show,
    show_question,
    status_of,
    with_added_row,
)

DELETIONS_SHOWN = 50
PROJECT_FIELDS = (
    "name",
    "description",
    "guidelines",
    "overlap",
    "time_zone",
    "queue_order",
    "corrections",
    *project_validation.BOUNDS,
)


KEPT = ("name", "description", "overlap", "time_zone")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def project_new(request: HttpRequest) -> HttpResponse:
    """A project with its first question, on one page; ``?start=`` fills in one of STARTS, and what
    is KEPT the fields of the project itself."""
    refuse_new_projects(request.user)
    start, question, categories = begin_question(request)
    form = ProjectForm(with_added_row(request))
    # What was typed before another start was chosen.
    form.initial.update({name: request.GET[name] for name in KEPT if name in request.GET})
    if start is not None:
        form.initial["guidelines"] = start.guidelines
    if is_sent(request) and all_valid(form, question, categories):
        try:
            project = projects.create_project(
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
        "zones": project_validation.time_zones(),
        "starts": STARTS.items(),
        "start": start,
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
            projects.change_project(project=project, by=request.user, **form.cleaned_data)
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
        "zones": project_validation.time_zones(),
        "deletions": project.deletions.select_related("by")[:DELETIONS_SHOWN],
    }
    return render(request, "projects/settings.html", context, status=status_of(form))


@login_required
@require_POST
def project_archive(request: HttpRequest, project_id: int) -> HttpResponse:
    """Let the project rest, or take it up again. What is being deleted stays where it is. Back to
    the set-up, or to the list of projects as it was (``passed``)."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    archived = request.POST.get("do") != "restore"
    back = reverse("setup", args=[project.pk])
    if "passed" in request.POST:
        passed = QueryDict(request.POST["passed"][:1000], mutable=True)
        passed.pop("page", None)  # it may have been the last one of its page
        back = f"{reverse('projects')}?{passed.urlencode()}".removesuffix("?")
    going = Deletion.objects.filter(kind="project", target=project.pk, finished_at=None)
    if not archived and going.exists():
        messages.error(request, _("This project is being deleted."))
        return redirect(back)
    projects.archive_project(project=project, archived=archived, by=request.user)
    if archived:
        messages.success(
            request, _("The project rests: nobody rates in it, and it stands in the archive.")
        )
    else:
        messages.success(request, _("The project is taken up again."))
    return redirect(back)


@login_required
@require_POST
def guidelines_preview(request: HttpRequest) -> HttpResponse:
    """The typed Markdown as raters will see it, for the page to put beside the field."""
    text = request.POST.get("guidelines", "")[: project_validation.MOST_TEXT]
    return render(request, "projects/_guidelines.html", {"html": as_html(text)})
