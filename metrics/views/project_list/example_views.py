"""The buttons "Try the example" and "Worked examples"."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from metrics.example import loader
from projects.permissions import refuse_new_projects


@login_required
@require_POST
def load_example(request: HttpRequest) -> HttpResponse:
    """Load what the user does not have yet and show the larger example; the worker counts
    meanwhile."""
    refuse_new_projects(request.user)
    if "worked" in request.POST:
        loader.load(owner=request.user, count=False, worked=True)
        messages.success(request, _("Here are the worked examples; each says what it shows."))
        return redirect("projects")
    loader.load(owner=request.user, count=False)
    project = loader.own_example(request.user)
    if project is None:  # given away meanwhile
        return redirect("projects")
    messages.success(request, _("Here is the example; its numbers fill in within seconds."))
    return redirect("dashboard", project.pk)
