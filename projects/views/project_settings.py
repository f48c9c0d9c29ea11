"""Views of a project: create it, its guidelines, its settings, and approvals of a second person."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.text import describe_saved
from core.web.forms import SettingsForm, add_form_errors
from projects.forms.question_templates import QUESTION_TEMPLATES
from projects.forms.settings import (
    CopyForm,
    GeneralSettingsForm,
    GuidelinesSettingsForm,
    ProjectForm,
    QualityChecksForm,
)
from projects.guidelines import compare_versions, render_preview
from projects.models import Approval, Deletion, GuidelineVersion, Member, Project
from projects.permissions import MAX_ID, get_project, require_can_create_projects
from projects.services import approvals, project_validation, projects
from projects.services.project_validation import InvalidProjectChange
from projects.services.question_validation import InvalidQuestions

from .form_handling import (
    add_question_errors,
    are_all_valid,
    build_question,
    build_question_forms,
    get_form_data,
    get_form_status,
    is_submitted,
)


@login_required
@never_cache
@require_safe
def show_guidelines(
    request: HttpRequest, project_id: int, number: int | None = None
) -> HttpResponse:
    """Show the current guidelines, or version ``number``, and what that version changed.

    Raises Http404 for a version that the project does not have. An open annotation page sends
    ``?version=NUMBER`` with the version that it shows; the response is 204 if that is the current
    one.
    """
    project = get_project(request.user, project_id)
    if request.GET.get("version") == str(project.guidelines_version):
        return HttpResponse(status=204)
    shown_number = project.guidelines_version if number is None else number
    current_number = project.guidelines_version
    text = (
        project.guidelines
        if shown_number == current_number
        else _get_guidelines_text(project, shown_number)
    )
    if text is None:
        raise Http404
    context = {
        "project": project,
        "versions": project.guideline_versions.select_related("by")
        .defer("text")
        .order_by("-number"),
        "number": shown_number,
        "is_current": shown_number == current_number,
        "text": text,
        "changes": _compare_with_previous(project, shown_number, text),
    }
    return render(request, "projects/guidelines.html", context)


def _get_guidelines_text(project: Project, number: int) -> str | None:
    """Return the text of a version of the guidelines, or None if this project does not have it.

    Imported ratings may refer to versions whose text only their original project has.
    """
    versions = GuidelineVersion.objects.filter(project=project, number=number)
    return versions.values_list("text", flat=True).first()


def _compare_with_previous(
    project: Project, number: int, text: str
) -> list[tuple[str, str]] | None:
    previous_text = _get_guidelines_text(project, number - 1) if number > 1 else None
    return [] if previous_text is None else compare_versions(previous_text, text)


MAX_DELETIONS_SHOWN = 50
PRESERVED_FIELDS = ("name", "description", "tags", "overlap", "time_zone")


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
            messages.success(request, _("Project created. Next, add items."))
            return redirect("dashboard", project.pk)
    context = {
        "form": form,
        "question_form": question_form,
        "categories": categories,
        "question_templates": QUESTION_TEMPLATES.items(),
        "selected_template": template,
    }
    status = get_form_status(form, question_form, categories)
    return render(request, "projects/project_new.html", context, status=status)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def copy_project(request: HttpRequest, project_id: int) -> HttpResponse:
    """Ask for the name of a copy of the project, create it, and redirect to it."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    require_can_create_projects(request.user)
    form = CopyForm(
        request.POST if request.method == "POST" else None,
        initial={"name": projects.suggest_copy_name(project)},
    )
    if request.method == "POST" and form.is_valid():
        try:
            copy = projects.copy_project(
                project=project, name=form.cleaned_data["name"], by=request.user
            )
        except InvalidProjectChange as error:
            add_form_errors(form, error.fields)
        else:
            messages.success(request, _("Project created. Next, add items."))
            return redirect("dashboard", copy.pk)
    context = {"project": project, "form": form}
    return render(request, "projects/project_copy.html", context, status=get_form_status(form))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def change_settings(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show and change the general settings of the project."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    names = projects.list_attribute_names(project)
    return _edit_settings(
        request, project, GeneralSettingsForm, page="project_settings", attribute_names=names
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def change_guidelines(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show and change the guidelines; a changed text is a new version."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    return _edit_settings(request, project, GuidelinesSettingsForm, page="guidelines_settings")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def change_quality_checks(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show and change the percentages of gold items and repeats that raters get."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    return _edit_settings(request, project, QualityChecksForm, page="quality_checks")


def _edit_settings(
    request: HttpRequest,
    project: Project,
    form_class: type[SettingsForm],
    *,
    page: str,
    **context: Any,
) -> HttpResponse:
    """Show a form of settings, or save it and redirect. ``page``: name of its URL and template.

    ``context``: further variables of the template.
    """
    initial = {name: getattr(project, name) for name in form_class.base_fields}
    form = form_class(request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            projects.change_project(project=project, by=request.user, **form.get_changes())
        except InvalidProjectChange as error:
            add_form_errors(form, error.fields)
        else:
            messages.success(request, describe_saved(_("Settings")))
            return redirect(page, project.pk)
    context = {"project": project, "form": form, **context}
    return render(request, f"projects/{page}.html", context, status=get_form_status(form))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def archive_project(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the page to archive or delete a project; a POST archives it, or restores it by ``do``.

    A project that is being deleted is not restored. Redirects to the page, or to the list of
    projects if ``passed`` has its query.
    """
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    if request.method != "POST":
        deletions = project.deletions.select_related("by")[:MAX_DELETIONS_SHOWN]
        context = {"project": project, "deletions": deletions}
        return render(request, "projects/archive.html", context)
    archived = request.POST.get("do") != "restore"
    next_url = reverse("project_archive", args=[project.pk])
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
        messages.success(request, _("Project archived."))
    else:
        messages.success(request, _("Project restored."))
    return redirect(next_url)


@login_required
@require_POST
def preview_guidelines(request: HttpRequest) -> HttpResponse:
    """Render the submitted Markdown as raters will see it, for the preview beside the field."""
    text = request.POST.get("guidelines", "")[: project_validation.MAX_TEXT_LENGTH]
    return render(request, "projects/_guidelines.html", {"html": render_preview(text)})


MAX_APPROVALS_SHOWN = 100


class ApprovalForm(forms.Form):
    """Form of a request that a second person approves an action, with the reason."""

    action = forms.ChoiceField(label=gettext_lazy("Action"), choices=Approval.Action.choices)
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=500)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def list_approvals(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the requests of the project; POST adds one."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    if request.method != "POST":
        initial = {"action": request.GET.get("action", "")}
        return _render_approvals(request, project, ApprovalForm(initial=initial))
    form = ApprovalForm(request.POST)
    if not form.is_valid():
        return _render_approvals(request, project, form, status=400)
    approvals.request_approval(project=project, by=request.user, **form.cleaned_data)
    messages.success(request, _("Approval requested."))
    return redirect("approvals", project.pk)


@never_cache
@login_required
@require_POST
def decide_approval(request: HttpRequest, project_id: int, approval_id: int) -> HttpResponse:
    """Approve or reject (``do``) what somebody else requested."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    approval = get_object_or_404(Approval, project=project, pk=min(approval_id, MAX_ID))
    approved = request.POST.get("do") == "approve"
    try:
        approvals.decide_approval(approval=approval, approved=approved, by=request.user)
    except approvals.InvalidApproval as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Approved.") if approved else _("Rejected."))
    return redirect("approvals", project.pk)


def _render_approvals(
    request: HttpRequest, project: Project, form: ApprovalForm, *, status: int = 200
) -> HttpResponse:
    rows = project.approvals.select_related("requested_by", "decided_by")[:MAX_APPROVALS_SHOWN]
    context: dict[str, object] = {
        "project": project,
        "form": form,
        "approvals": rows,
        "is_needed": approvals.is_approval_needed(),
        "may_decide": approvals.may_decide(request.user),
    }
    return render(request, "projects/approvals.html", context, status=status)
