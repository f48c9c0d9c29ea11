"""Charts: the specifications with their rows as JSON, or only the rows as CSV."""

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

from core.hooks import Hook
from core.web import tables
from core.web.links import has_links
from core.web.tables import escape_formula
from metrics.question_scale import get_weighted_name
from metrics.results import pair_results
from metrics.views import raters
from metrics.views.changes import contributions
from metrics.views.common import display_names, heat_maps, vega_lite
from metrics.views.common.selection import Selection, find_selection, get_by_key
from metrics.views.common.sources import get_sources
from metrics.views.common.sources.base import ResultSource
from metrics.views.common.trends import period_comparison, trend_points
from metrics.views.dashboard.csv_rows import TABLES
from metrics.views.raters import get_confusion_table
from projects.models import Member, Project, Question, Rater
from projects.permissions import get_project

Rows = list[vega_lite.Row]
ChartData = tuple[vega_lite.Spec, Rows]
Annotations = Sequence[tuple[str, str]]  # (day, text)

# Functions that return annotations of the trend of a question, or of one of its raters. Packages
# above register theirs at startup.
ANNOTATION_SOURCES: Hook[Callable[[Question, Rater | None], Annotations]] = Hook(
    "annotations_of_trends"
)


@login_required
@require_safe
def show_chart(request: HttpRequest, project_id: int, name: str, form: str) -> HttpResponse:
    """Return one chart of a project as a file; Http404 for an unknown chart or form.

    ``form``: json (specification, rows and locale) or csv (rows). TABLES exist as csv only.
    """
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    return build_chart_response(request, project, name, form)


def build_chart_response(
    request: HttpRequest, project: Project, name: str, form: str
) -> HttpResponse:
    """Return one chart of a project that the user may see. Raises Http404 for an unknown chart."""
    selection = find_selection(request, project, filtered=name not in UNFILTERED_CHARTS)
    if selection is not None and name in TABLES and form == "csv":
        return _build_table_response(selection, name)
    if selection is None or name not in CHARTS or form not in ("json", "csv"):
        raise Http404(_("Page not found."))
    spec, rows = CHARTS[name](request, selection)
    if form == "csv":
        return _build_csv_response(rows, f"{project.pk}-{selection.question.key}-{name}")
    return JsonResponse({"spec": spec, "rows": rows, "locale": vega_lite.build_locale()})


def _build_table_response(selection: Selection, name: str) -> HttpResponse:
    source = get_sources(selection).for_project()
    if source.pending:
        return HttpResponse(
            _("Computing …"),
            status=202,
            content_type="text/plain; charset=utf-8",
            headers={"Retry-After": "1"},
        )
    rows = TABLES[name](selection, source)
    return _build_csv_response(rows, f"{selection.project.pk}-{selection.question.key}-{name}")


def _build_csv_response(rows: Rows, name: str) -> HttpResponse:
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    safe_name = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    response["Content-Disposition"] = f'attachment; filename="concord-{safe_name}.csv"'
    columns = [column for column in (rows[0] if rows else {}) if column != "url"]
    writer = csv.writer(response)
    writer.writerow(columns)
    writer.writerows([_prepare_cell(row[column]) for column in columns] for row in rows)
    return response


def _prepare_cell(value: Any) -> Any:
    """Escape a text that a spreadsheet would take for a formula; round numbers to 15 digits."""
    if isinstance(value, float):
        return tables.remove_rounding_error(value)
    return escape_formula(value) if isinstance(value, str) else value


def _build_project_trend(request: HttpRequest, selection: Selection) -> ChartData:
    trend = get_sources(selection).for_project().get_trend(selection.coefficient)
    (points,) = trend.lines
    rows = _build_trend_rows(points)
    title = str(display_names.get_coefficient_name(selection.coefficient))
    annotations = _list_guideline_annotations(points) + _list_annotations_from_sources(selection)
    # The project's target is one of the headline, not of another coefficient.
    target = None if selection.requested_coefficient else selection.project.target_agreement
    return vega_lite.build_trend_chart(
        rows, title=title, period=trend.period, target=target, annotations=annotations
    ), rows


def _build_pair_trend(request: HttpRequest, selection: Selection) -> ChartData:
    name = get_weighted_name("cohen_kappa", selection.weights)
    return _build_trend(_get_pair_source(request, selection), name)


def _build_pair_difference(request: HttpRequest, selection: Selection) -> ChartData:
    return _build_trend(_get_pair_source(request, selection), "mean_difference", bias=True)


def _build_rater_trend(request: HttpRequest, selection: Selection) -> ChartData:
    annotations = _list_annotations_from_sources(selection, _get_rater(request, selection, "rater"))
    return _build_trend(
        _get_rater_source(request, selection), selection.vs_peers, extra_annotations=annotations
    )


def _build_model_versions(request: HttpRequest, selection: Selection) -> ChartData:
    """Build a chart, based on all ratings, with a line for each prompt version of a model."""
    rater = _get_rater(request, selection, "rater")
    versions = raters.list_prompt_versions(selection.question, rater)
    period = raters.choose_period(selection.period)
    rows = raters.build_chart_rows(selection.question, versions, period, selection.vs_peers)
    names = list(dict.fromkeys(version.label for version in versions))
    title = str(display_names.get_coefficient_name(selection.vs_peers))
    return vega_lite.build_versions_chart(rows, names, title=title, period=period), rows


def _build_rater_bias(request: HttpRequest, selection: Selection) -> ChartData:
    annotations = _list_annotations_from_sources(selection, _get_rater(request, selection, "rater"))
    return _build_trend(
        _get_rater_source(request, selection),
        "vs_peers_bias",
        bias=True,
        extra_annotations=annotations,
    )


def _build_trend(
    source: ResultSource, name: str, *, bias: bool = False, extra_annotations: Annotations = ()
) -> ChartData:
    """Build the trend chart of a rater or a pair; with ``bias``, its axis is centered on zero."""
    trend = source.get_trend(name)
    (points,) = trend.lines
    rows = _build_trend_rows(points, cumulative=False)
    title = str(display_names.get_coefficient_name(name))
    annotations = [*_list_guideline_annotations(points), *extra_annotations]
    return vega_lite.build_trend_chart(
        rows, title=title, period=trend.period, bias=bias, annotations=annotations
    ), rows


def _list_guideline_annotations(points: list[trend_points.TrendPoint]) -> list[tuple[str, str]]:
    """Return (day, text) of the guideline versions that started to apply during the trend."""
    guideline_marks = [mark for point in points for mark in point.guidelines]
    return [
        (mark.day.isoformat(), _("guidelines %(n)s") % {"n": mark.number})
        for mark in guideline_marks
    ]


def _list_annotations_from_sources(
    selection: Selection, rater: Rater | None = None
) -> list[tuple[str, str]]:
    """Return (day, text) of what higher packages mark on a question's or a rater's trend.

    Empty with a filter, because the marks concern all ratings. ``rater``: None for the question's.
    """
    if selection.filter:
        return []
    return [
        annotation
        for list_annotations in ANNOTATION_SOURCES
        for annotation in list_annotations(selection.question, rater)
    ]


def _build_trend_rows(points: list[trend_points.TrendPoint], *, cumulative: bool = True) -> Rows:
    """Return a chart row for each point that has a value; the others are gaps in the chart.

    With ``cumulative``, a row has the value up to the end of its period, too.
    """
    return [
        {
            "start": point.start.isoformat(),
            "end": point.end.isoformat(),
            **{
                name: point.estimate.get(name)
                for name in ("value", "low", "high", "n_items", "n_ratings")
            },
            **(
                {"cumulative": point.cumulative["value"] if point.cumulative else None}
                if cumulative
                else {}
            ),
            "enough_items": point.has_enough_items,
            "guidelines": ", ".join(str(mark.number) for mark in point.guidelines),
        }
        for point in points
        if point.estimate.get("value") is not None
    ]


def _build_pair_matrix(request: HttpRequest, selection: Selection) -> ChartData:
    source = get_sources(selection).for_project()
    raters = source.list_heat_map_raters(selection.heat_map_choice)
    pair_url = f"{reverse('pair', args=[selection.project.pk])}?{selection.query}"
    rows = []
    rater_pairs = source.list_pairs_among(raters)
    raters = pair_results.sort_by_agreement(raters, rater_pairs)
    for pair in rater_pairs:
        if pair.kappa["value"] is None:
            continue
        for first, second in ((pair.rater_a, pair.rater_b), (pair.rater_b, pair.rater_a)):
            row: vega_lite.Row = {"a": first.key, "b": second.key}
            for name in ("value", "low", "high", "n_items"):
                row[name] = pair.kappa[name]
            row["wide"] = pair.is_uncertain
            if has_links():
                row["url"] = f"{pair_url}&{urlencode({'a': first.key, 'b': second.key})}"
            rows.append(row)
    defined_pairs = {(row["a"], row["b"]) for row in rows}
    keys = [rater.key for rater in raters]
    undefined_pairs = [(a, b) for a in keys for b in keys if a != b and (a, b) not in defined_pairs]
    spec = heat_maps.build_pair_matrix(keys, [row["value"] for row in rows], undefined_pairs)
    return spec, rows


def _build_rater_confusion(request: HttpRequest, selection: Selection) -> ChartData:
    rater = _get_rater(request, selection, "rater")
    table = get_confusion_table(get_sources(selection).for_rater(rater).agreement)
    peers = _("peers on the same items")
    return _build_confusion_chart(table, selection, rater.key, peers)


def _build_pair_table(request: HttpRequest, selection: Selection) -> ChartData:
    a, b = _get_rater(request, selection, "a"), _get_rater(request, selection, "b")
    table = get_sources(selection).for_pair(a, b).get_table().tolist()
    return _build_confusion_chart(table, selection, a.key, b.key)


def _build_confusion_chart(
    table: Any, selection: Selection, rows_title: str, columns_title: str
) -> ChartData:
    rows = build_confusion_rows(table, selection.scale.labels)
    spec = heat_maps.build_confusion_table(
        selection.scale.labels,
        rows_title=rows_title,
        columns_title=columns_title,
        max_share=max((row["disagreement_share"] for row in rows), default=0) or 1.0,
    )
    return spec, rows


def _build_change_chart(request: HttpRequest, selection: Selection) -> ChartData:
    attribution = period_comparison.find_attribution(
        period_comparison.PeriodComparison.from_request(request, selection), selection
    )
    explanation = contributions.build_explanation(attribution) if attribution else None
    rows = contributions.build_chart_rows(explanation)
    # Pale where the page shows the last two periods because there is no clear change.
    is_clear = explanation is not None and explanation.is_clear and not request.GET.get("pale")
    title, max_bars = _("contribution"), contributions.MAX_BARS
    return contributions.build_bar_chart(
        rows, title=title, max_bars=max_bars, is_clear=is_clear
    ), rows


def build_confusion_rows(table: list[list[int]], labels: list[str]) -> Rows:
    """Return chart rows of a (k, k) table: own and other category, count, and two shares.

    ``share`` is that of the row, ``disagreement_share`` that of all disagreement: 0 on the
    diagonal.
    """
    n_differing = sum(map(sum, table)) - sum(row[index] for index, row in enumerate(table))
    return [
        {
            "own": own,
            "other": other,
            "n": n,
            "share": n / sum(row) if sum(row) else 0.0,
            "disagreement_share": n / n_differing if n_differing and own != other else 0.0,
        }
        for own, row in zip(labels, table, strict=False)
        for other, n in zip(labels, row, strict=True)
    ]


def _get_rater(request: HttpRequest, selection: Selection, name: str) -> Rater:
    return get_by_key(Rater, selection.project, request.GET.get(name, ""))


def _get_rater_source(request: HttpRequest, selection: Selection) -> ResultSource:
    return get_sources(selection).for_rater(_get_rater(request, selection, "rater"))


def _get_pair_source(request: HttpRequest, selection: Selection) -> ResultSource:
    a, b = _get_rater(request, selection, "a"), _get_rater(request, selection, "b")
    return get_sources(selection).for_pair(a, b)


# "from" and "to" of "change" are periods, not a filter; versions are shown for all ratings.
UNFILTERED_CHARTS = ("change", "model-versions")
CHARTS: dict[str, Callable[[HttpRequest, Selection], ChartData]] = {
    "trend": _build_project_trend,
    "pairs": _build_pair_matrix,
    "rater-trend": _build_rater_trend,
    "rater-bias": _build_rater_bias,
    "model-versions": _build_model_versions,
    "rater-confusion": _build_rater_confusion,
    "pair-table": _build_pair_table,
    "pair-trend": _build_pair_trend,
    "pair-difference": _build_pair_difference,
    "change": _build_change_chart,
}
