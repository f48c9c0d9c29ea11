"""The charts' specifications with their rows as JSON, and the rows alone as CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from metrics.models import RaterReading, Slice, Span
from metrics.readings import pairs
from metrics.scale import weighted
from projects.access import get_project
from projects.models import Member, Rater

from . import change_page, charts, pair_details, slice_views, trends, words
from .dashboard import Freshness
from .selection import Selection, by_key, select

Rows = list[dict[str, Any]]
Made = tuple[charts.Spec, Rows]


@login_required
@require_safe
def chart(request: HttpRequest, project_id: int, name: str, form: str) -> HttpResponse:
    """One chart of a project: ``form`` json (specification, rows and locale) or csv (rows)."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    chosen = select(request, project, filtered=name not in UNFILTERED)
    if chosen is None or name not in CHARTS or form not in ("json", "csv"):
        raise Http404(_("No such chart."))
    spec, rows = CHARTS[name](request, chosen)
    if form == "csv":
        return _csv(rows, f"{project.pk}-{chosen.question.key}-{name}")
    return JsonResponse({"spec": spec, "rows": rows, "locale": charts.locale()})


def _csv(rows: Rows, name: str) -> HttpResponse:
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    response["Content-Disposition"] = f'attachment; filename="concord-{safe}.csv"'
    columns = [column for column in (rows[0] if rows else {}) if column != "url"]
    writer = csv.writer(response)
    writer.writerow(columns)
    writer.writerows([_cell(row[column]) for column in columns] for row in rows)
    return response


def _cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula is told to be text."""
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" else value


def _project_trend(request: HttpRequest, chosen: Selection) -> Made:
    if chosen.filter:
        lines = _body(chosen, Slice.Kind.DASHBOARD).get("trend", {})
        period = chosen.period or slice_views.default_period(lines)
        points = slice_views.points(chosen, lines, period, chosen.coefficient)
    else:
        period = chosen.period or trends.project_period(chosen.question)
        points = trends.project_points(chosen.question, period, chosen.coefficient)
    rows = _trend_rows(points)
    title = str(words.coefficient(chosen.coefficient))
    return charts.trend(rows, title=title, period=period, marks=_marks(points)), rows


def _pair_trend(request: HttpRequest, chosen: Selection) -> Made:
    return _trend_of_pair(request, chosen, weighted("cohen_kappa", chosen.weights))


def _pair_difference(request: HttpRequest, chosen: Selection) -> Made:
    return _trend_of_pair(request, chosen, "mean_difference")


def _trend_of_pair(request: HttpRequest, chosen: Selection, name: str) -> Made:
    a, b = _rater(request, chosen, "a"), _rater(request, chosen, "b")
    lines = _body(chosen, Slice.Kind.PAIR, a, b).get("trend", {})
    period = chosen.period or slice_views.default_period(lines)
    points = slice_views.points(chosen, lines, period, name)
    bias = name == "mean_difference"
    title = str(words.coefficient(name))
    rows = _trend_rows(points, cumulative=False)
    return charts.trend(rows, title=title, period=period, bias=bias, marks=_marks(points)), rows


def _rater_trend(request: HttpRequest, chosen: Selection) -> Made:
    return _trend_of_rater(request, chosen, chosen.vs_peers)


def _rater_bias(request: HttpRequest, chosen: Selection) -> Made:
    return _trend_of_rater(request, chosen, "vs_peers_bias")


def _trend_of_rater(request: HttpRequest, chosen: Selection, coefficient: str) -> Made:
    rater = _rater(request, chosen, "rater")
    if chosen.filter:
        lines = _body(chosen, Slice.Kind.RATER, rater).get("trend", {})
        period = chosen.period or slice_views.default_period(lines)
        points = slice_views.points(chosen, lines, period, coefficient)
    else:
        period = chosen.period or trends.rater_period(chosen.question, rater)
        (points,) = trends.rater_lines(
            chosen.question, rater, period, coefficient, scale=chosen.scale
        )
    rows = _trend_rows(points, cumulative=False)
    title = str(words.coefficient(coefficient))
    bias = coefficient == "vs_peers_bias"
    return charts.trend(rows, title=title, period=period, bias=bias, marks=_marks(points)), rows


def _marks(points: list[trends.Point]) -> list[tuple[str, str]]:
    """Days and words of the versions of the guidelines that came into force along the trend."""
    marks = [mark for point in points for mark in point.guidelines]
    return [
        (mark.day.isoformat(), _("guidelines %(number)s") % {"number": mark.number})
        for mark in marks
    ]


def _trend_rows(points: list[trends.Point], *, cumulative: bool = True) -> Rows:
    """Rows of the points that have a value; an undefined point leaves a gap that the table
    explains."""
    return [
        {
            "start": point.start.isoformat(),
            "end": point.end.isoformat(),
            **{
                name: point.reading.get(name)
                for name in ("value", "low", "high", "n_items", "n_ratings")
            },
            **({"cumulative": (point.cumulative or {}).get("value")} if cumulative else {}),
            "firm": point.firm,
            "guidelines": ", ".join(str(mark.number) for mark in point.guidelines),
        }
        for point in points
        if point.reading.get("value") is not None
    ]


def _pairs(request: HttpRequest, chosen: Selection) -> Made:
    if chosen.filter:
        raters, found = slice_views.matrix(chosen, _body(chosen, Slice.Kind.DASHBOARD))
    else:
        raters = pairs.busiest_raters(chosen.question.pk)
        found = pairs.among(chosen.question, raters, chosen.weights)
    address = f"{reverse('pair', args=[chosen.project.pk])}?{chosen.query}"
    rows = []
    for pair in found:
        for one, other in ((pair.rater_a, pair.rater_b), (pair.rater_b, pair.rater_a)):
            rows.append(
                {
                    "a": one.key,
                    "b": other.key,
                    **{name: pair.reading[name] for name in ("value", "low", "high", "n_items")},
                    "wide": pair.wide,
                    "url": f"{address}&{urlencode({'a': one.key, 'b': other.key})}",
                }
            )
    defined = [row for row in rows if row["value"] is not None]
    return charts.pair_matrix([rater.key for rater in raters]), defined


def _rater_confusion(request: HttpRequest, chosen: Selection) -> Made:
    rater = _rater(request, chosen, "rater")
    if chosen.filter:
        table = _body(chosen, Slice.Kind.RATER, rater).get("table", [])
    else:
        whole = RaterReading.objects.filter(
            question=chosen.question, rater=rater, span=Span.ALL
        ).first()
        table = whole.details.get("table", []) if whole else []
    spec = charts.confusion(
        chosen.scale.labels, rows_title=rater.key, columns_title=_("peers on the same items")
    )
    return spec, table_rows(table, chosen.scale.labels)


def _pair_table(request: HttpRequest, chosen: Selection) -> Made:
    a, b = _rater(request, chosen, "a"), _rater(request, chosen, "b")
    if chosen.filter:
        table = _body(chosen, Slice.Kind.PAIR, a, b).get("table", [])
    else:
        table = pair_details.stored(chosen.question, a, b, chosen.scale).tolist()
    spec = charts.confusion(chosen.scale.labels, rows_title=a.key, columns_title=b.key)
    return spec, table_rows(table, chosen.scale.labels)


def _change(request: HttpRequest, chosen: Selection) -> Made:
    row = change_page.stored(change_page.Change.of(request, chosen), chosen)
    rows = change_page.chart_rows(change_page.told(row) if row else None)
    return charts.bars(rows, title=_("part of the move"), most=change_page.BARS), rows


def table_rows(table: list[list[int]], labels: list[str]) -> Rows:
    """A k x k table as rows: own, other, n, and the share of its row."""
    return [
        {"own": own, "other": other, "n": n, "share": n / sum(line) if sum(line) else 0.0}
        for own, line in zip(labels, table, strict=False)
        for other, n in zip(labels, line, strict=True)
    ]


def _rater(request: HttpRequest, chosen: Selection, name: str) -> Rater:
    return by_key(Rater, chosen.project, request.GET.get(name, ""))


def _body(chosen: Selection, kind: str, *raters: Rater) -> dict[str, Any]:
    """The body of the slice that the page shows; empty while there is none."""
    row = slice_views.asked(chosen, Freshness.of(chosen.question), kind, *raters).row
    return row.body or {}


UNFILTERED = ("change",)  # its "from" and "to" are periods
CHARTS: dict[str, Callable[[HttpRequest, Selection], Made]] = {
    "trend": _project_trend,
    "pairs": _pairs,
    "rater-trend": _rater_trend,
    "rater-bias": _rater_bias,
    "rater-confusion": _rater_confusion,
    "pair-table": _pair_table,
    "pair-trend": _pair_trend,
    "pair-difference": _pair_difference,
    "change": _change,
}
