"""Pages of a project's connections, and the URL that Label Studio's webhooks call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from core.text import describe_saved
from events.webhooks.http_client import MAX_URL_LENGTH
from projects.models import Member
from projects.permissions import get_project
from ratings.label_studio import remote_tasks, services
from ratings.label_studio.client import format_error
from ratings.models import LabelStudioConnection


def _build_token_field(*, required: bool, help_text: Any) -> forms.CharField:
    return forms.CharField(
        label=gettext_lazy("Token"),
        required=required,
        max_length=services.MAX_TOKEN_LENGTH,
        help_text=help_text,
        widget=forms.PasswordInput({"autocomplete": "off"}),
    )


class ConnectForm(forms.Form):
    """A new connection."""

    address = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=MAX_URL_LENGTH,
        widget=forms.URLInput({"placeholder": "https://labels.example.org/projects/12"}),
    )
    remote_project = forms.IntegerField(
        label=gettext_lazy("Project number"),
        required=False,
        min_value=1,
        help_text=gettext_lazy("Leave empty if the address already contains it."),
    )
    token = _build_token_field(
        required=True,
        help_text=gettext_lazy("In Label Studio, under Account & Settings."),
    )


class ChangeForm(forms.Form):
    """Changes of a connection."""

    write_back = forms.ChoiceField(
        label=gettext_lazy("Final labels"),
        choices=LabelStudioConnection.WriteBack.choices,
    )
    token = _build_token_field(
        required=False, help_text=gettext_lazy("Leave empty to keep the current token.")
    )


@never_cache
@sensitive_post_parameters("token")
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def list_connections(request: HttpRequest, project_id: int) -> HttpResponse:
    """List the connections; a POST creates one."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    form = ConnectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            connection = services.create_connection(
                project=project, by=request.user, **form.cleaned_data
            )
        except services.InvalidConnection as error:
            _add_errors(form, error)
        else:
            return redirect(_get_url(connection))
    context = {
        "project": project,
        "form": form,
        "connections": [
            (connection, _get_url(connection), format_error(connection.error))
            for connection in services.list_connections(project)
        ],
    }
    return render(
        request, "ratings/label_studio/list.html", context, status=400 if form.errors else 200
    )


@never_cache
@sensitive_post_parameters("token")
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def show_connection(request: HttpRequest, project_id: int, connection_id: int) -> HttpResponse:
    """Show the state of a connection; a POST changes it."""
    connection = services.get_connection(request.user, project_id, connection_id)
    form = ChangeForm(request.POST or None, initial={"write_back": connection.write_back})
    if request.method == "POST" and form.is_valid():
        try:
            services.change_connection(connection=connection, by=request.user, **form.cleaned_data)
        except services.InvalidConnection as error:
            _add_errors(form, error)
        else:
            messages.success(request, describe_saved(_("Connection")))
            return redirect(_get_url(connection))
    hint_path = reverse("label_studio_hint", args=[connection.pk, connection.hint_secret])
    context = {
        "project": connection.project,
        "connection": connection,
        "form": form,
        "error": format_error(connection.error),
        "key_prefix": remote_tasks.build_key_prefix(connection.remote_project),
        "hint_address": request.build_absolute_uri(hint_path),
    }
    return render(
        request, "ratings/label_studio/connection.html", context, status=400 if form.errors else 200
    )


@login_required
@require_POST
def apply_action(request: HttpRequest, project_id: int, connection_id: int) -> HttpResponse:
    """Apply the posted action: pull, pause, resume, restart or delete the connection.

    Raises BadRequest for another action.
    """
    connection = services.get_connection(request.user, project_id, connection_id)
    action = request.POST.get("do", "")
    if action == "delete":
        services.delete_connection(connection=connection, by=request.user)
        messages.success(request, _("Disconnected. Items and ratings stay."))
        return redirect("label_studio_connections", project_id)
    if action == "pull":
        services.request_pull(connection)
        messages.success(request, _("Reading Label Studio …"))
    elif action in ACTIONS:
        ACTIONS[action](connection=connection, by=request.user)
    else:
        raise BadRequest
    return redirect(_get_url(connection))


ACTIONS: dict[str, Callable[..., None]] = {
    "pause": services.pause_connection,
    "resume": services.resume_connection,
    "restart": services.restart_connection,
}


@csrf_exempt
@require_POST
def receive_hint(request: HttpRequest, connection_id: int, secret: str) -> HttpResponse:
    """Take a webhook of Label Studio as a hint; its body is neither read nor trusted.

    Raises Http404 if the secret is wrong.
    """
    if not services.receive_hint(connection_id, secret):
        raise Http404
    return HttpResponse(status=204)


def _get_url(connection: LabelStudioConnection) -> str:
    return reverse("label_studio_connection", args=[connection.project_id, connection.pk])


def _add_errors(form: forms.Form, error: services.InvalidConnection) -> None:
    for name, message in error.fields.items():
        form.add_error(name if name in form.fields else None, message)
