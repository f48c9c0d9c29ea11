"""The system status page for administrators."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from core.web.dates import relative_time
from metrics.integrity.schedule import AuditSummary
from metrics.views.common.number_formats import format_count
from projects.models import Question

from .report import SystemStatus, collect_status

MAX_LISTED_QUESTIONS = 20  # maximum number of late questions that the page lists


@login_required
@require_safe
def show_system_status(request: HttpRequest) -> HttpResponse:
    """Show the status of the site to superusers."""
    if not request.user.is_superuser:
        raise PermissionDenied(_("Only administrators can open this."))
    status, now = collect_status(), timezone.now()
    late = Question.objects.filter(pk__in=status.late).select_related("project")
    context = {
        "status": status,
        "now": now,
        "late": late.order_by("pk")[:MAX_LISTED_QUESTIONS],
        "rows": list(_iter_rows(status, now)),
    }
    return render(request, "agreement_site/system_status.html", context)


def _iter_rows(status: SystemStatus, now: datetime.datetime) -> Iterator[tuple[str, str]]:
    """Yield the label and the text of each detail."""
    version = ".".join(map(str, connection.get_database_version()))
    yield _("Release"), status.release
    yield _("Database"), f"{connection.display_name} {version}"
    yield _("Uncounted ratings"), _describe_uncounted(status, now)
    yield _("Questions with pending work"), format_count(status.pending_questions)
    for question, progress in _list_backlogs(status.backlogs):
        counted = {name: format_count(progress[name]) for name in ("done", "total")}
        label = f"{_('Backlog')}: {question.project.name}, {question.text}"
        yield label, _("%(done)s of %(total)s ratings counted") % counted
    if status.mails:
        yield _("Queued mails"), format_count(status.mails["waiting"])
    yield _("Running imports"), format_count(status.running_imports)
    yield _("Count audit"), _describe_audit(status.audit, now)
    broker = {
        "answers": _("responding"),
        "none": _("none (workers find work later)"),
    }
    yield _("Broker"), broker.get(status.broker, status.broker)
    yield _("Free disk space"), filesizeformat(status.disk_free_bytes)
    for name, seconds in status.workers.items():
        moment = _format_past_time(now, seconds)
        text = _("active %(moment)s") % {"moment": moment}
        yield f"{_('Worker')} {name}", mark_safe(text)  # noqa: S308 (a translation and a time)
    if not status.workers:
        yield _("Worker"), _("none active in the last hour")


def _describe_uncounted(status: SystemStatus, now: datetime.datetime) -> str:
    n_ratings, seconds = format_count(status.uncounted), status.oldest_uncounted_seconds
    if seconds is None:
        return n_ratings
    oldest = _("oldest from %(moment)s") % {"moment": _format_past_time(now, seconds)}
    return mark_safe(f"{n_ratings} ({oldest})")  # noqa: S308 (a number, a translation and a time)


def _describe_audit(audit: AuditSummary | None, now: datetime.datetime) -> str:
    if not audit:
        return _("none yet")
    n_different = audit["questions_that_differ"]
    result = _("all counts match")
    if n_different:
        result = ngettext(
            "%(number)s question differs", "%(number)s questions differ", n_different
        ) % {"number": n_different}
    return format_html("{}, {}", _format_past_time(now, audit["seconds_ago"]), result)


def _format_past_time(now: datetime.datetime, seconds: float) -> SafeString:
    return relative_time(timezone.localtime(now - datetime.timedelta(seconds=seconds)))


def _list_backlogs(progress: Mapping[str, dict[str, int]]) -> list[tuple[Question, dict[str, int]]]:
    """Return the questions that are counted in portions, with counted and total ratings."""
    questions = Question.objects.select_related("project").in_bulk(list(map(int, progress)))
    return [(question, progress[str(pk)]) for pk, question in questions.items()]
