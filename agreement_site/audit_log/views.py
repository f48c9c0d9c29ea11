"""Views of the audit log, as page and CSV: of the site, or of one project for its leads."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_safe

from agreement_site.models import AuditLogEntry
from core import security_log
from metrics.views.common.selection import get_after_id
from projects.models import Project
from projects.permissions import get_project_or_site

from . import selectors
from .descriptions import ACTIONS, FIELD_LABELS, KEYED_ACTIONS, format_value
from .selectors import Mask, build_mask

ENTRIES_PER_PAGE = 50
MAX_SHOWN_LENGTH = 300  # characters of a value on the page; the file has all of them


@login_required
@require_safe
def show_audit_log(request: HttpRequest, project_id: int | None = None) -> HttpResponse:
    """Show entries, filtered by account, action and days, one page at a time."""
    project = get_project_or_site(request.user, project_id)
    before = get_after_id(request.GET)
    context: dict[str, object] = {
        "project": project,
        "actions": ACTIONS.items(),
        "errors": {},
        "entries": [],
    }
    try:
        log_filter = selectors.AuditLogFilter.from_query(request.GET)
        entries = selectors.filter_entries(project, log_filter)
    except selectors.InvalidAuditLogFilter as error:
        context["errors"] = error.fields
    else:
        mask = build_mask(project, request.user)
        entries = entries.filter(pk__lt=before) if before else entries
        page_entries = list(entries[: ENTRIES_PER_PAGE + 1])
        zone = ZoneInfo(project.time_zone if project else "UTC")
        project_names = {} if project else _get_project_names(page_entries)
        context["entries"] = [
            build_row(entry, mask, zone, project_names) for entry in page_entries[:ENTRIES_PER_PAGE]
        ]
        has_more = len(page_entries) > ENTRIES_PER_PAGE
        context["next_after"] = page_entries[ENTRIES_PER_PAGE - 1].pk if has_more else None
    values = {name: request.GET.get(name, "")[:200] for name in selectors.FILTER_NAMES}
    filters = {name: value for name, value in values.items() if value}
    url_name = "audit_log_file" if project is None else "project_audit_log_file"
    url_args = [] if project is None else [project.pk]
    context |= {
        "values": values | {"first": values["from"], "last": values["to"]},
        "query": urlencode(filters),
        "is_filtered": bool(filters),
        "before": before,
        "file": f"{reverse(url_name, args=url_args)}?{urlencode(filters)}",
    }
    status = 400 if context["errors"] else 200
    return render(request, "agreement_site/audit_log.html", context, status=status)


@login_required
@require_GET
def download_audit_log(request: HttpRequest, project_id: int | None = None) -> Any:
    """Return all matching entries as CSV. The download is recorded, too."""
    project = get_project_or_site(request.user, project_id)
    try:
        log_filter = selectors.AuditLogFilter.from_query(request.GET)
        entries = selectors.filter_entries(project, log_filter)
    except selectors.InvalidAuditLogFilter as error:
        return HttpResponse(str(error), status=400, content_type="text/plain; charset=utf-8")
    security_log.log_event("export", exported="audit_log", kind="csv")
    file_name = (
        "concord-audit-log.csv" if project is None else f"concord-audit-log-{project.pk}.csv"
    )
    return StreamingHttpResponse(
        selectors.iter_csv(entries, build_mask(project, request.user)),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{file_name}"'},
    )


def _get_project_names(entries: list[AuditLogEntry]) -> dict[int, str]:
    """Return {id: name} of the entries' projects that still exist."""
    ids = {entry.project_id for entry in entries if entry.project_id is not None}
    return dict(Project.objects.filter(pk__in=ids).values_list("pk", "name"))


def build_row(
    entry: AuditLogEntry, mask: Mask, zone: datetime.tzinfo, project_names: Mapping[int, str]
) -> dict[str, object]:
    """Return the template context of one audit log entry: time, actor, changes and details.

    Changes are (name, label, before, after); the other details are listed separately.
    """
    before, after, details = (
        mask(entry.action, values) or {} for values in (entry.before, entry.after, entry.details)
    )
    labels = {} if entry.action in KEYED_ACTIONS else FIELD_LABELS
    action_label: str | Promise = ACTIONS.get(entry.action, entry.action)

    def format_field(name: str, value: Any) -> str:
        formatted = format_value(name if labels else "", value, zone)
        return (
            formatted if len(formatted) <= MAX_SHOWN_LENGTH else f"{formatted[:MAX_SHOWN_LENGTH]}…"
        )

    changes = []
    for name in {**before, **after}:
        old, new = _compare_lists(before.get(name), after.get(name))
        changes.append(
            (name, labels.get(name, ""), format_field(name, old), format_field(name, new))
        )
    return {
        "created_at": entry.created_at,
        "action": action_label,
        "actor": entry.actor,
        "address": entry.address,
        "project_id": entry.project_id,
        "project_name": project_names.get(entry.project_id or 0, ""),
        "changes": changes,
        "details": [
            (name, FIELD_LABELS.get(name, ""), format_field(name, value))
            for name, value in details.items()
            if name not in before and name not in after
        ],
    }


def _compare_lists(before: Any, after: Any) -> tuple[Any, Any]:
    """Return (elements only in ``before``, elements only in ``after``) of two different lists.

    Other values are returned as they are.
    """
    if not (isinstance(before, list) and isinstance(after, list)) or before == after:
        return before, after
    return [element for element in before if element not in after], [
        element for element in after if element not in before
    ]
