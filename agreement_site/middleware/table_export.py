"""Tables of pages as CSV (core/web/tables.py)."""

from __future__ import annotations

import csv
import re

from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.utils.translation import gettext as _

from core import security_log
from core.web import tables
from ratings.files.formula_escaping import guard

from .base import Around


class TablesAsFiles(Around):
    """A page asked for with ``?csv=NAME`` answers with that table of it alone, to whom it would
    show the page."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        name = request.GET.get(tables.PARAMETER)
        if not name or request.method != "GET":
            return self.get_response(request)
        with tables.making():
            page = self.get_response(request)
        is_page = page.status_code == 200 and page["Content-Type"].startswith("text/html")
        return _file(request, page, name) if is_page else page


def _file(request: HttpRequest, page: HttpResponse, name: str) -> HttpResponse:
    rows = tables.rows_of(page.content.decode(), name)
    if rows is None:
        said = _("This page has no such table, or nothing stands in it yet.")
        return HttpResponseNotFound(f"{said}\n", content_type="text/plain; charset=utf-8")
    security_log.event("export", what_of=f"table {name}", kind="csv")
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{_file_name(request, name, rows)}"'
    csv.writer(response).writerows(map(guard, row) for row in rows)
    return response


def _file_name(request: HttpRequest, name: str, rows: list[list[str]]) -> str:
    match = request.resolver_match
    page = (match.url_name if match else None) or "page"
    number = match.kwargs.get("project_id", "") if match else ""
    cut = f"first-{tables.MOST_ROWS}" if len(rows) > tables.MOST_ROWS else ""
    parts = ["concord", str(number), page, name.removesuffix("-title"), cut]
    return re.sub(r"[^A-Za-z0-9_-]", "_", "-".join(filter(None, parts))) + ".csv"
