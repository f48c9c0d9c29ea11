"""The page of whoever runs the site: what to look at, and how it stands."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from metrics.counting import backlog
from metrics.models import Worker
from metrics.work.heartbeat import LATE_SECONDS
from projects.models import Question

from .standing import standing

NAMED = 20  # questions that are named, of those that are not brought up to date


@login_required
@require_safe
def operations(request: HttpRequest) -> HttpResponse:
    """For administrators (superusers)."""
    if not request.user.is_superuser:
        raise PermissionDenied(_("How the site stands is for administrators."))
    found = standing()
    late = Question.objects.filter(pk__in=found["late"]).select_related("project")
    context: dict[str, Any] = {
        "found": found,
        "now": timezone.now(),
        "database": connection.get_database_version(),
        "vendor": connection.display_name,
        "late": late.order_by("pk")[:NAMED],
        "workers": Worker.objects.order_by("-swept_at"),
        "late_seconds": LATE_SECONDS,
        "backlogs": _backlogs(backlog.all_progress()),
    }
    return render(request, "agreement_site/operations.html", context)


def _backlogs(progress: dict[int, Any]) -> list[tuple[Question, dict[str, int]]]:
    """The questions that are counted in shares, with how many ratings of how many are."""
    questions = Question.objects.select_related("project").in_bulk(list(progress))
    return [(questions[pk], one) for pk, one in progress.items() if pk in questions]
