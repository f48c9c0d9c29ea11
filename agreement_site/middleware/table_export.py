"""Export of a page's tables as CSV (core/web/tables.py)."""

from __future__ import annotations

import csv
import re

from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.utils.translation import gettext as _

from core import security_log
from core.web import tables
from core.web.tables import escape_formula

from .base import BaseMiddleware

SHARED_PREFIX = "/shared/"  # pages of share links (metrics.views.saved_views)


class TableExportMiddleware(BaseMiddleware):
    """Answer a page request with ``?csv=NAME`` with that table alone, as a CSV file.

    The permissions of the page apply. Shared pages offer no files: each download is recorded in the
    audit log, and everybody with the link could fill it.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        name = request.GET.get(tables.PARAMETER)
        is_shared = request.path_info.startswith(SHARED_PREFIX)
        if not name or request.method != "GET" or is_shared:
            return self.get_response(request)
        with tables.collect_table(name) as export:
            page = self.get_response(request)
        if page.status_code != 200 or not page["Content-Type"].startswith("text/html"):
            return page
        return _build_csv_response(request, name, export.table)


def _build_csv_response(
    request: HttpRequest, name: str, table: tables.Table | None
) -> HttpResponse:
    if table is None:
        message = _("This table is empty or doesn't exist.")
        return HttpResponseNotFound(f"{message}\n", content_type="text/plain; charset=utf-8")
    rows = table.build_rows()
    security_log.log_event("export", exported=f"table {name}", kind="csv")
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = (
        f'attachment; filename="{_build_file_name(request, name, rows)}"'
    )
    csv.writer(response).writerows(map(escape_formula, row) for row in rows)
    return response


def _build_file_name(request: HttpRequest, name: str, rows: list[list[str]]) -> str:
    match = request.resolver_match
    page = (match.url_name if match else None) or "page"
    project_id = match.kwargs.get("project_id", "") if match else ""
    truncated = f"first-{tables.MAX_EXPORT_ROWS}" if len(rows) > tables.MAX_EXPORT_ROWS else ""
    parts = ["concord", str(project_id), page, name.removesuffix("-title"), truncated]
    return re.sub(r"[^A-Za-z0-9_-]", "_", "-".join(filter(None, parts))) + ".csv"
