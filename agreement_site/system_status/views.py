"""The system status page for administrators."""

from __future__ import annotations

import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from projects.models import Question

from .report import collect_status

MAX_LISTED_QUESTIONS = 20  # maximum number of late questions that the page lists


@login_required
@require_safe
def system_status(request: HttpRequest) -> HttpResponse:
    """Show the status of the site to superusers."""
    if not request.user.is_superuser:
        raise PermissionDenied(_("Only administrators can open the system status."))
    status, now = collect_status(), timezone.now()
    late = Question.objects.filter(pk__in=status["late"]).select_related("project")
    context: dict[str, Any] = {
        "status": status,
        "now": now,
        "database": connection.get_database_version(),
        "vendor": connection.display_name,
        "late": late.order_by("pk")[:MAX_LISTED_QUESTIONS],
        "workers": [
            (name, now - datetime.timedelta(seconds=seconds))
            for name, seconds in status["workers"].items()
        ],
        "oldest_at": _subtract_seconds(now, status["oldest_uncounted_seconds"]),
        "audited_at": _subtract_seconds(now, (status["audit"] or {}).get("seconds_ago")),
        "backlogs": _list_backlogs(status["backlogs"]),
    }
    return render(request, "agreement_site/system_status.html", context)


def _subtract_seconds(now: datetime.datetime, seconds: float | None) -> datetime.datetime | None:
    return None if seconds is None else now - datetime.timedelta(seconds=seconds)


def _list_backlogs(progress: dict[str, Any]) -> list[tuple[Question, dict[str, int]]]:
    """Return the questions that are counted in portions, with counted and total ratings."""
    questions = Question.objects.select_related("project").in_bulk(list(map(int, progress)))
    return [(question, progress[str(pk)]) for pk, question in questions.items()]
