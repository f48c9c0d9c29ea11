"""Page that hides the raters' identities, and discloses them for a reason."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from projects.models import Member, Project
from projects.permissions import get_project

from . import rater_pseudonyms


class HideForm(forms.Form):
    hidden = forms.TypedChoiceField(
        choices=[("1", "1"), ("0", "0")], coerce=lambda value: value == "1"
    )
    confirm = forms.BooleanField(label=gettext_lazy("Apply to the whole project"))


class DisclosureForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=500,
        help_text=gettext_lazy("Recorded with your name and the time."),
    )


@never_cache
@login_required
@require_safe
def edit_pseudonyms(request: HttpRequest, project_id: int) -> HttpResponse:
    return _render_page(request, get_project(request.user, project_id, role=Member.Role.LEAD))


@never_cache
@login_required
@require_POST
def set_raters_hidden(request: HttpRequest, project_id: int) -> HttpResponse:
    """Hide the raters' identities, or restore them."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    form = HideForm(request.POST)
    if not form.is_valid():
        return _render_page(request, project, hide_form=form, status=400)
    if form.cleaned_data["hidden"]:
        rater_pseudonyms.hide_raters(project=project, by=request.user)
    else:
        rater_pseudonyms.restore_raters(project=project, by=request.user)
    messages.success(request, _("Saved."))
    return redirect("rater_pseudonyms", project.pk)


@never_cache
@login_required
@require_POST
def disclose_raters(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the raters' identities, on this response only."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    form = DisclosureForm(request.POST)
    if not form.is_valid():
        return _render_page(request, project, look_form=form, status=400)
    if not project.hides_raters:
        return redirect("rater_pseudonyms", project.pk)
    identity_rows = rater_pseudonyms.disclose_raters(
        project=project, reason=form.cleaned_data["reason"], by=request.user
    )
    return _render_page(request, project, identities=identity_rows)


def _render_page(
    request: HttpRequest, project: Project, *, status: int = 200, **extra_context: Any
) -> HttpResponse:
    context = {
        "project": project,
        "hide_form": HideForm(),
        "look_form": DisclosureForm(),
        **extra_context,
    }
    return render(request, "ratings/rater_pseudonyms.html", context, status=status)
