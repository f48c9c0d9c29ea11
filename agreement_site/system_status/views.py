"""The page of whoever runs the site: what to look at, and how it stands."""

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

from .report import standing

NAMED = 20  # questions that are named, of those that are not brought up to date


@login_required
@require_safe
def operations(request: HttpRequest) -> HttpResponse:
    """For administrators (superusers)."""
    if not request.user.is_superuser:
        raise PermissionDenied(_("How the site stands is for administrators."))
    found, now = standing(), timezone.now()
    late = Question.objects.filter(pk__in=found["late"]).select_related("project")
    context: dict[str, Any] = {
        "found": found,
        "now": now,
        "database": connection.get_database_version(),
        "vendor": connection.display_name,
        "late": late.order_by("pk")[:NAMED],
        "workers": [
            (name, now - datetime.timedelta(seconds=ago)) for name, ago in found["workers"].items()
        ],
        "oldest_at": _before(now, found["oldest_uncounted_seconds"]),
        "audited_at": _before(now, (found["audit"] or {}).get("seconds_ago")),
        "backlogs": _backlogs(found["backlogs"]),
    }
    return render(request, "agreement_site/system_status.html", context)


def _before(now: datetime.datetime, seconds: float | None) -> datetime.datetime | None:
    return None if seconds is None else now - datetime.timedelta(seconds=seconds)


def _backlogs(progress: dict[str, Any]) -> list[tuple[Question, dict[str, int]]]:
    """The questions that are counted in shares, with how many ratings of how many are."""
    questions = Question.objects.select_related("project").in_bulk(list(map(int, progress)))
    return [(question, progress[str(pk)]) for pk, question in questions.items()]
