"""Hiding who the raters are: a page to switch it, and to look who they are for a reason."""

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
    sure = forms.BooleanField(label=gettext_lazy("Yes, do this for the whole project"))


class LookForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=500,
        help_text=gettext_lazy("It stands in the audit trail, with your name."),
    )


@never_cache
@login_required
@require_safe
def identities(request: HttpRequest, project_id: int) -> HttpResponse:
    return _page(request, get_project(request.user, project_id, role=Member.Role.LEAD))


@never_cache
@login_required
@require_POST
def hide(request: HttpRequest, project_id: int) -> HttpResponse:
    """Switch it on, or off."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    form = HideForm(request.POST)
    if not form.is_valid():
        return _page(request, project, hide_form=form, status=400)
    if form.cleaned_data["hidden"]:
        rater_pseudonyms.hide(project=project, by=request.user)
        messages.success(request, _("Raters stand under pseudonyms now."))
    else:
        rater_pseudonyms.show(project=project, by=request.user)
        messages.success(request, _("Raters have their keys and names again."))
    return redirect("identities", project.pk)


@never_cache
@login_required
@require_POST
def look(request: HttpRequest, project_id: int) -> HttpResponse:
    """Who is who, on this one page."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    form = LookForm(request.POST)
    if not form.is_valid():
        return _page(request, project, look_form=form, status=400)
    if not project.raters_hidden:
        return redirect("identities", project.pk)
    found = rater_pseudonyms.look(
        project=project, reason=form.cleaned_data["reason"], by=request.user
    )
    return _page(request, project, found=found)


def _page(
    request: HttpRequest, project: Project, *, status: int = 200, **more: Any
) -> HttpResponse:
    context = {"project": project, "hide_form": HideForm(), "look_form": LookForm(), **more}
    return render(request, "ratings/rater_pseudonyms.html", context, status=status)
