"""The charts' specifications with their rows as JSON, and the rows alone as CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from metrics.results.pairs import pair_results
from metrics.scale import weighted
from metrics.views.changes import bar_chart, contributions
from metrics.views.common import display_names
from metrics.views.common.charts import heat_maps, vega_lite
from metrics.views.common.selection import Selection, by_key, select
from metrics.views.common.sources import source_of
from metrics.views.common.sources.base import Numbers
from metrics.views.common.trends import period_comparison, trend_points
from metrics.views.dashboard.csv_rows import TABLES
from metrics.views.raters import model_versions
from metrics.views.raters.rater_context import table_of
from projects.models import Member, Project, Question, Rater
from projects.permissions import get_project
from ratings.files.formula_escaping import guard

Rows = list[dict[str, Any]]
Made = tuple[vega_lite.Spec, Rows]
Marks = Sequence[tuple[str, str]]  # a day, and what came then

# What else marks the trend of a question, or of one rater in it. A higher room adds its own when
# the site starts.
MARKS: list[Callable[[Question, Rater | None], Marks]] = []


@login_required
@require_safe
def chart(request: HttpRequest, project_id: int, name: str, form: str) -> HttpResponse:
    """One chart of a project: ``form`` json (specification, rows and locale) or csv (rows); of a
    table (table_files) csv alone."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    return chart_of(request, project, name, form)


def chart_of(request: HttpRequest, project: Project, name: str, form: str) -> HttpResponse:
    chosen = select(request, project, filtered=name not in UNFILTERED)
    if chosen is not None and name in TABLES and form == "csv":
        return _table(chosen, name)
    if chosen is None or name not in CHARTS or form not in ("json", "csv"):
        raise Http404(_("No such chart."))
    spec, rows = CHARTS[name](request, chosen)
    if form == "csv":
        return _csv(rows, f"{project.pk}-{chosen.question.key}-{name}")
    return JsonResponse({"spec": spec, "rows": rows, "locale": vega_lite.locale()})


def _table(chosen: Selection, name: str) -> HttpResponse:
    numbers = source_of(chosen).project()
    if numbers.waiting:
        return HttpResponse(
            _("These numbers are being computed. Ask again in a moment."),
            status=202,
            content_type="text/plain; charset=utf-8",
            headers={"Retry-After": "1"},
        )
    rows = TABLES[name](chosen, numbers)
    return _csv(rows, f"{chosen.project.pk}-{chosen.question.key}-{name}")


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
    return guard(value) if isinstance(value, str) else value


def _project_trend(request: HttpRequest, chosen: Selection) -> Made:
    course = source_of(chosen).project().course(chosen.coefficient)
    (points,) = course.lines
    rows = _trend_rows(points)
    title = str(display_names.coefficient(chosen.coefficient))
    marks = _marks(points) + _more_marks(chosen)
    return vega_lite.trend(rows, title=title, period=course.period, marks=marks), rows


def _pair_trend(request: HttpRequest, chosen: Selection) -> Made:
    name = weighted("cohen_kappa", chosen.weights)
    return _own_trend(_pair_numbers(request, chosen), name)


def _pair_difference(request: HttpRequest, chosen: Selection) -> Made:
    return _own_trend(_pair_numbers(request, chosen), "mean_difference", bias=True)


def _rater_trend(request: HttpRequest, chosen: Selection) -> Made:
    more = _more_marks(chosen, _rater(request, chosen, "rater"))
    return _own_trend(_rater_numbers(request, chosen), chosen.vs_peers, more=more)


def _model_versions(request: HttpRequest, chosen: Selection) -> Made:
    """A line for each version of a model's prompt, of all ratings."""
    rater = _rater(request, chosen, "rater")
    found = model_versions.versions(chosen.question, rater)
    period = model_versions.period(chosen.period)
    rows = model_versions.chart_rows(chosen.question, found, period, chosen.vs_peers)
    names = list(dict.fromkeys(version.words for version in found))
    title = str(display_names.coefficient(chosen.vs_peers))
    return vega_lite.versions(rows, names, title=title, period=period), rows


def _rater_bias(request: HttpRequest, chosen: Selection) -> Made:
    more = _more_marks(chosen, _rater(request, chosen, "rater"))
    return _own_trend(_rater_numbers(request, chosen), "vs_peers_bias", bias=True, more=more)


def _own_trend(numbers: Numbers, name: str, *, bias: bool = False, more: Marks = ()) -> Made:
    """The trend of a rater or a pair; ``bias``: around zero, not up to one; ``more`` marks."""
    course = numbers.course(name)
    (points,) = course.lines
    rows = _trend_rows(points, cumulative=False)
    title = str(display_names.coefficient(name))
    marks = [*_marks(points), *more]
    return vega_lite.trend(rows, title=title, period=course.period, bias=bias, marks=marks), rows


def _marks(points: list[trend_points.Point]) -> list[tuple[str, str]]:
    """Days and words of the versions of the guidelines that came into force along the trend."""
    marks = [mark for point in points for mark in point.guidelines]
    return [
        (mark.day.isoformat(), _("guidelines %(number)s") % {"number": mark.number})
        for mark in marks
    ]


def _more_marks(chosen: Selection, rater: Rater | None = None) -> list[tuple[str, str]]:
    """What higher rooms have to mark on all of a question's trend, or on a rater's."""
    if chosen.filter:
        return []
    return [mark for marks in MARKS for mark in marks(chosen.question, rater)]


def _trend_rows(points: list[trend_points.Point], *, cumulative: bool = True) -> Rows:
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
    numbers = source_of(chosen).project()
    raters = numbers.heat_map_raters(chosen.who)
    address = f"{reverse('pair', args=[chosen.project.pk])}?{chosen.query}"
    rows = []
    found = numbers.pairs_among(raters)
    raters = pair_results.by_agreement(raters, found)
    for pair in found:
        if pair.reading["value"] is None:
            continue
        for one, other in ((pair.rater_a, pair.rater_b), (pair.rater_b, pair.rater_a)):
            row: dict[str, Any] = {"a": one.key, "b": other.key}
            for name in ("value", "low", "high", "n_items"):
                row[name] = pair.reading[name]
            row["wide"] = pair.wide
            row["url"] = f"{address}&{urlencode({'a': one.key, 'b': other.key})}"
            rows.append(row)
    met = {(row["a"], row["b"]) for row in rows}
    keys = [rater.key for rater in raters]
    apart = [(a, b) for a in keys for b in keys if a != b and (a, b) not in met]
    return heat_maps.pair_matrix(keys, apart), rows


def _rater_confusion(request: HttpRequest, chosen: Selection) -> Made:
    rater = _rater(request, chosen, "rater")
    table = table_of(source_of(chosen).rater(rater).whole)
    peers = _("peers on the same items")
    spec = heat_maps.confusion(chosen.scale.labels, rows_title=rater.key, columns_title=peers)
    return spec, table_rows(table, chosen.scale.labels)


def _pair_table(request: HttpRequest, chosen: Selection) -> Made:
    a, b = _rater(request, chosen, "a"), _rater(request, chosen, "b")
    table = source_of(chosen).pair(a, b).table().tolist()
    spec = heat_maps.confusion(chosen.scale.labels, rows_title=a.key, columns_title=b.key)
    return spec, table_rows(table, chosen.scale.labels)


def _change(request: HttpRequest, chosen: Selection) -> Made:
    row = period_comparison.stored(period_comparison.Change.of(request, chosen), chosen)
    found = contributions.told(row) if row else None
    rows = contributions.chart_rows(found)
    # The page that opened with the last two periods, for want of a move, draws them pale.
    sure = found is not None and found.clear and not request.GET.get("pale")
    title, most = _("part of the move"), contributions.BARS
    return bar_chart.chart_of(rows, title=title, most=most, sure=sure), rows


def table_rows(table: list[list[int]], labels: list[str]) -> Rows:
    """A k x k table as rows: own, other, n, the share of its row, and off the diagonal the share of
    all that is not the same."""
    apart = sum(map(sum, table)) - sum(line[place] for place, line in enumerate(table))
    return [
        {
            "own": own,
            "other": other,
            "n": n,
            "share": n / sum(line) if sum(line) else 0.0,
            "apart": n / apart if apart and own != other else 0.0,
        }
        for own, line in zip(labels, table, strict=False)
        for other, n in zip(labels, line, strict=True)
    ]


def _rater(request: HttpRequest, chosen: Selection, name: str) -> Rater:
    return by_key(Rater, chosen.project, request.GET.get(name, ""))


def _rater_numbers(request: HttpRequest, chosen: Selection) -> Numbers:
    return source_of(chosen).rater(_rater(request, chosen, "rater"))


def _pair_numbers(request: HttpRequest, chosen: Selection) -> Numbers:
    a, b = _rater(request, chosen, "a"), _rater(request, chosen, "b")
    return source_of(chosen).pair(a, b)


# The "from" and "to" of "change" are periods; versions are told of all ratings.
UNFILTERED = ("change", "model-versions")
CHARTS: dict[str, Callable[[HttpRequest, Selection], Made]] = {
    "trend": _project_trend,
    "pairs": _pairs,
    "rater-trend": _rater_trend,
    "rater-bias": _rater_bias,
    "model-versions": _model_versions,
    "rater-confusion": _rater_confusion,
    "pair-table": _pair_table,
    "pair-trend": _pair_trend,
    "pair-difference": _pair_difference,
    "change": _change,
}
