"""Permanent deletion of items, raters and projects, after the lead types the name to confirm.

The API starts the deletion of a project. Workers carry all of them out.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import npgettext_lazy
from django.views.decorators.http import require_http_methods, require_safe
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core import security_log
from core.api.parameters import parse_query_parameters
from core.api.schema import describe_delete
from core.text import parse_id
from projects.api.views import ProjectDetailView
from projects.models import Deletion, Item, Member, Project, Rater
from projects.permissions import MAX_ID, get_project
from ratings import personal_data

from . import removal

Kind = Deletion.Kind
MAX_ITEMS_PER_REQUEST = 200  # items


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete_item(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Confirm and start the deletion of one item."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    item = get_object_or_404(Item, project=project, pk=min(item_id, MAX_ID))
    return _confirm_deletion(request, project, Kind.ITEM, item, name=item.key, back="items")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete_rater(request: HttpRequest, project_id: int, rater_id: int) -> HttpResponse:
    """Confirm and start the deletion of a rater, or pseudonymize the rater and keep the ratings."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    rater = get_object_or_404(Rater, project=project, pk=min(rater_id, MAX_ID))
    if request.method == "POST" and request.POST.get("how") == "pseudonym":
        if request.POST.get("confirmation", "").strip() != rater.key:
            return _confirm_deletion(
                request, project, Kind.RATER, rater, name=rater.key, back="people"
            )
        pseudonymized = personal_data.pseudonymize_rater(
            rater=rater, by=request.user, comments="comments" in request.POST
        )
        message = _("Only ratings are kept, under %(key)s.")
        messages.success(request, message % {"key": pseudonymized.key})
        return redirect("people", project.pk)
    return _confirm_deletion(request, project, Kind.RATER, rater, name=rater.key, back="people")


@login_required
@require_safe
def export_rater_data(request: HttpRequest, project_id: int, rater_id: int) -> HttpResponseBase:
    """Stream all data about a rater as JSON Lines, to hand to the person."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    raters = Rater.objects.select_related("project", "user")
    rater = get_object_or_404(raters, project=project, pk=min(rater_id, MAX_ID))
    security_log.log_event(
        "person_exported",
        project_id=project.pk,
        by=request.user.pk,
        rater=rater.pk,
        before={"rater": rater.key},
    )
    file_name = f"rater-{rater.pk}.jsonl"
    return StreamingHttpResponse(
        personal_data.iter_personal_data(rater, as_shown=True),
        content_type="application/jsonl",
        headers={"Content-Disposition": f'attachment; filename="{file_name}"'},
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete_items(request: HttpRequest, project_id: int) -> HttpResponse:
    """Confirm and start the deletion of the selected items; their number is typed to confirm."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    data = request.POST if request.method == "POST" else request.GET
    item_ids = [item_id for text in data.getlist("item") if (item_id := parse_id(text)) is not None]
    items = list(Item.objects.filter(project=project, pk__in=item_ids[:MAX_ITEMS_PER_REQUEST]))
    if not items:
        messages.info(request, _("Select at least one row."))
        return redirect("items", project.pk)
    if request.method == "POST" and request.POST.get("confirmation", "").strip() == str(len(items)):
        removal.start_item_deletions(items=items, by=request.user)
        messages.success(
            request,
            _("Deletion started."),
        )
        return redirect("items", project.pk)
    context = {
        "project": project,
        "kind": "items",
        "items": items,
        "name": str(len(items)),
        "back": "items",
        "counts": _describe_counts(removal.count_rows_of_items(items)),
        "is_wrong": request.method == "POST",
    }
    status = 400 if request.method == "POST" else 200
    return render(request, "ratings/delete.html", context, status=status)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete_project(request: HttpRequest, project_id: int) -> HttpResponse:
    """Confirm and start the deletion of the project."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    return _confirm_deletion(
        request, project, Kind.PROJECT, project, name=project.name, back="project_archive"
    )


def _confirm_deletion(
    request: HttpRequest, project: Project, kind: str, target: Any, *, name: str, back: str
) -> HttpResponse:
    confirmation = request.POST.get("confirmation", "").strip()
    if request.method == "POST" and confirmation == name.strip():
        removal.start_deletion(kind=kind, target=target, by=request.user)
        messages.success(
            request,
            _("Deletion started."),
        )
        return redirect("projects") if kind == Kind.PROJECT else redirect(back, project.pk)
    context = {
        "project": project,
        "kind": kind,
        "name": name,
        "back": back,
        "counts": _describe_counts(removal.count_affected_rows(kind, target)),
        "is_wrong": request.method == "POST",
    }
    status = 400 if request.method == "POST" else 200
    return render(request, "ratings/delete.html", context, status=status)


def _describe_counts(counts: dict[str, int]) -> list[tuple[str, int]]:
    """Return (name of the kind of row, number) for each count."""
    texts = {
        "ratings": npgettext_lazy("deleted", "current rating", "current ratings"),
        "history": npgettext_lazy("deleted", "history entry", "history entries"),
        "check_answers": npgettext_lazy(
            "deleted",
            "check answer (hidden gold or a repeat)",
            "check answers (hidden gold and repeats)",
        ),
        "assignments": npgettext_lazy("deleted", "assignment", "assignments"),
        "gold": npgettext_lazy("deleted", "gold answer", "gold answers"),
        "versions": npgettext_lazy("deleted", "content version", "content versions"),
        "items": npgettext_lazy("deleted", "item", "items"),
        "raters": npgettext_lazy("deleted", "rater", "raters"),
        "questions": npgettext_lazy("deleted", "question", "questions"),
    }
    return [(texts[name] % number, number) for name, number in counts.items()]


class ProjectDeletionOut(serializers.Serializer):
    deleted = serializers.BooleanField(help_text="true: it is archived at once and then deleted")
    counts = serializers.DictField(
        child=serializers.IntegerField(), help_text="What is deleted, by kind"
    )


class DeletableProjectView(ProjectDetailView):
    @describe_delete(
        "deleteProject", "Delete a project with everything in it for good", ProjectDeletionOut
    )
    def delete(self, request: Request, project_id: int) -> Response:
        """Start the deletion, which workers finish within minutes; 403 while under legal hold."""
        project = self.get_project(request, project_id, role=Member.Role.LEAD)
        parse_query_parameters(request)
        deletion = removal.start_deletion(
            kind=Deletion.Kind.PROJECT, target=project, by=request.user
        )
        return Response({"deleted": True, "counts": deletion.counts})
