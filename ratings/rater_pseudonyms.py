"""Pseudonyms that hide the raters' identities from a project's leads, and their disclosure.

The page hides the identities, and discloses them for a reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from core import security_log
from core.text import describe_saved
from events.kinds import RATER_KEY_FIELDS
from events.models import Event
from projects import hooks
from projects.models import Approval, Member, Project
from projects.permissions import get_project
from projects.services import approvals, pseudonyms

EVENTS_PER_BATCH = 500


@transaction.atomic
def hide_raters(*, project: Project, by: Any) -> None:
    """Give pseudonyms to all human raters of the project, present and future."""
    # Waits for transactions that create a rater; later ones see that raters are hidden.
    locked_project = Project.objects.select_for_update().get(pk=project.pk)
    if locked_project.hides_raters:
        return
    _set_hidden(locked_project, hidden=True)
    renamed = pseudonyms.assign_pseudonyms(project.pk)
    _rename_in_events(locked_project, renamed)
    security_log.log_event("raters_hidden", project_id=project.pk, by=by.pk, raters=len(renamed))


@transaction.atomic
def restore_raters(*, project: Project, by: Any) -> None:
    """Restore the original keys and names of all raters."""
    locked_project = Project.objects.select_for_update().get(pk=project.pk)
    if not locked_project.hides_raters:
        return
    approvals.use_approval(project=project, action=Approval.Action.RESTORE_RATERS, by=by)
    renamed = pseudonyms.restore_identities(project.pk)
    _set_hidden(locked_project, hidden=False)
    _rename_in_events(locked_project, renamed)
    security_log.log_event("raters_unhidden", project_id=project.pk, by=by.pk, raters=len(renamed))


@transaction.atomic
def disclose_raters(*, project: Project, reason: str, by: Any) -> list[dict[str, object]]:
    """Return the raters' identities; record in the audit log who asked for them, and the reason."""
    approvals.use_approval(project=project, action=Approval.Action.DISCLOSE_RATERS, by=by)
    identity_rows = pseudonyms.list_identities(project)
    security_log.log_event(
        "rater_identities_viewed",
        project_id=project.pk,
        by=by.pk,
        reason=reason,
        raters=len(identity_rows),
    )
    return identity_rows


def _set_hidden(project: Project, *, hidden: bool) -> None:
    project.hides_raters = hidden
    project.save(update_fields=["hides_raters"])
    Project.objects.filter(pk=project.pk).increment_items_and_raters_version()


def _rename_in_events(project: Project, renamed: Mapping[str, str]) -> None:
    """Replace the raters' old keys in stored events, and notify listeners of the new ones."""
    names_rater = Q(data__has_key=RATER_KEY_FIELDS[0]) | Q(data__has_key=RATER_KEY_FIELDS[1])
    changed_events = []
    for event in Event.objects.filter(names_rater, project=project).iterator(
        chunk_size=EVENTS_PER_BATCH
    ):
        new_keys = {
            name: renamed[key]
            for name in RATER_KEY_FIELDS
            if (key := event.data.get(name)) in renamed
        }
        if new_keys:
            event.data |= new_keys
            changed_events.append(event)
    Event.objects.bulk_update(changed_events, ["data"], batch_size=EVENTS_PER_BATCH)
    hooks.RATERS_RENAMED.call(project.pk, renamed)


class HideForm(forms.Form):
    hidden = forms.TypedChoiceField(
        choices=[("1", "1"), ("0", "0")], coerce=lambda value: value == "1"
    )
    confirm = forms.BooleanField(label=gettext_lazy("Apply to the whole project"))


class DisclosureForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=500,
        help_text=gettext_lazy("Your access is recorded."),
    )


@never_cache
@login_required
@require_safe
def edit_pseudonyms(request: HttpRequest, project_id: int) -> HttpResponse:
    return _render_pseudonyms(request, get_project(request.user, project_id, role=Member.Role.LEAD))


@never_cache
@login_required
@require_POST
def set_raters_hidden(request: HttpRequest, project_id: int) -> HttpResponse:
    """Hide the raters' identities, or restore them."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    form = HideForm(request.POST)
    if not form.is_valid():
        return _render_pseudonyms(request, project, hide_form=form, status=400)
    if form.cleaned_data["hidden"]:
        hide_raters(project=project, by=request.user)
    else:
        restore_raters(project=project, by=request.user)
    messages.success(request, describe_saved(_("Rater identities")))
    return redirect("rater_pseudonyms", project.pk)


@never_cache
@login_required
@require_POST
def show_disclosed_raters(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the raters' identities once, in the response to the request that states the reason."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    form = DisclosureForm(request.POST)
    if not form.is_valid():
        return _render_pseudonyms(request, project, look_form=form, status=400)
    if not project.hides_raters:
        return redirect("rater_pseudonyms", project.pk)
    identity_rows = disclose_raters(
        project=project, reason=form.cleaned_data["reason"], by=request.user
    )
    return _render_pseudonyms(request, project, identities=identity_rows)


def _render_pseudonyms(
    request: HttpRequest, project: Project, *, status: int = 200, **extra_context: Any
) -> HttpResponse:
    context = {
        "project": project,
        "hide_form": HideForm(),
        "look_form": DisclosureForm(),
        **extra_context,
    }
    return render(request, "ratings/rater_pseudonyms.html", context, status=status)
