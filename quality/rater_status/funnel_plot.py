"""Funnel plot of a question's raters, readable with thousands of them.

Raters are drawn as points, those to check in color. Of many others, squares show the number.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from core.web.links import has_links
from metrics.agreement.rater_quality.between_raters import Funnel
from metrics.views.common import vega_lite
from quality.rater_status.rater_list import RaterListEntry
from quality.rater_status.reasons import RaterStatus

MAX_POINTS = 400  # raters drawn as single points
BINS = (24, 30)  # squares along the two axes
EDGE_POINTS = 60  # points along the edge of the funnel
MIN_SHOWN_VALUE = -0.5  # lower values are drawn at this one

Rows = list[vega_lite.Row]


def list_chart_rows(raters: list[RaterListEntry], funnel: Funnel | None, url_template: str) -> Rows:
    """Return the rows of the chart: points of raters, squares and the edge of the funnel.

    Their ``kind`` is "rater", "many" or "edge". ``url_template``: URL of a rater's page, with KEY
    in place of the rater's key.
    """
    with_value = [rater for rater in raters if rater.result and rater.result.value is not None]
    with_value = [rater for rater in with_value if rater.result and rater.result.n_items > 0]
    single, within = _split_points(with_value, funnel)
    return [
        *_build_edge(with_value, funnel),
        *_build_squares(within),
        *(_build_point(rater, url_template) for rater in single),
    ]


def _split_points(
    raters: list[RaterListEntry], funnel: Funnel | None
) -> tuple[list[RaterListEntry], list[RaterListEntry]]:
    """Return the raters drawn as points, at most MAX_POINTS, and the others.

    Points are preferably raters to check, then those outside the funnel.
    """
    if len(raters) <= MAX_POINTS:
        return raters, []
    ranked = sorted(
        raters,
        key=lambda rater: (
            not _needs_check(rater),
            not _is_outside(rater, funnel),
            -(rater.impact or 0.0),
        ),
    )
    return ranked[:MAX_POINTS], ranked[MAX_POINTS:]


def _needs_check(rater: RaterListEntry) -> bool:
    return rater.status in (RaterStatus.ACT, RaterStatus.CHECK)


def _is_outside(rater: RaterListEntry, funnel: Funnel | None) -> bool:
    if funnel is None or rater.result is None or rater.result.value is None:
        return False
    low, high = funnel.compute_limits(np.array([rater.result.n_items]))
    return not low[0] <= rater.result.value <= high[0]


def _build_point(rater: RaterListEntry, url_template: str) -> vega_lite.Row:
    result = rater.result
    assert result is not None and result.value is not None
    row = {"kind": "rater", "rater": rater.name or rater.key, "n": result.n_items}
    row |= {"value": max(result.value, MIN_SHOWN_VALUE), "kappa": result.value}
    row |= {"low": result.low, "high": result.high, "ratings": result.n_ratings}
    row |= {"check": _needs_check(rater), "same": "same_answer" in rater.flags}
    return row | ({"url": url_template.replace("KEY", rater.key)} if has_links() else {})


def _build_squares(raters: list[RaterListEntry]) -> Rows:
    """Return a chart row with the number of raters for each square of a grid that has any.

    The first axis, of the numbers of items, is logarithmic.
    """
    if not raters:
        return []
    points = [(result.n_items, result.value or 0.0) for rater in raters if (result := rater.result)]
    n_items, value = np.array(points).T
    x_edges = np.geomspace(n_items.min(), n_items.max() + 1, BINS[0] + 1)
    y_edges = np.linspace(MIN_SHOWN_VALUE, 1, BINS[1] + 1)
    counts, _x, _y = np.histogram2d(n_items, np.clip(value, MIN_SHOWN_VALUE, 1), [x_edges, y_edges])
    rows = []
    for x, y in zip(*np.nonzero(counts), strict=True):
        square = {
            "n": x_edges[x],
            "n2": x_edges[x + 1],
            "value": y_edges[y],
            "value2": y_edges[y + 1],
        }
        square = {column: float(bound) for column, bound in square.items()}
        rows.append({"kind": "many", "raters": int(counts[x, y]), **square})
    return rows


def _build_edge(raters: list[RaterListEntry], funnel: Funnel | None) -> Rows:
    """Return the rows of the funnel's lower and upper limits by number of items; [] without it."""
    if funnel is None or not raters:
        return []
    item_counts = [rater.result.n_items for rater in raters if rater.result]
    # Wider than the points, so that the funnel is visible where all raters have as many items.
    positions = np.geomspace(
        max(min(item_counts) * 0.8, 2), max(max(item_counts) * 1.25, 3), EDGE_POINTS
    )
    low, high = funnel.compute_limits(positions)
    return [
        {
            "kind": "edge",
            "n": n,
            "low": max(lower, MIN_SHOWN_VALUE),
            "high": min(upper, 1.0),
            "value": funnel.center,
        }
        for n, lower, upper in zip(positions.tolist(), low.tolist(), high.tolist(), strict=True)
    ]


def build_spec(*, title: str) -> vega_lite.Spec:
    """Return the Vega-Lite specification; ``title`` names the coefficient."""
    x: vega_lite.Spec = {
        "field": "n",
        "type": "quantitative",
        "title": _("shared items"),
        "scale": {"type": "log", "nice": False},
        "axis": {"grid": False, "format": "~s", "tickCount": 6},
    }
    y: vega_lite.Spec = {
        "type": "quantitative",
        "title": title,
        "scale": {"zero": False, "nice": True},
        "axis": {"format": ".2~f", "tickMinStep": 0.01},
    }
    position: vega_lite.Spec = {"x": x, "y": {**y, "field": "value"}}
    edge = {
        "transform": [{"filter": "datum.kind == 'edge'"}],
        "mark": {"type": "area", "style": "accent", "opacity": 0.12, "line": False},
        "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
    }
    middle = {
        "transform": [{"filter": "datum.kind == 'edge'"}],
        "mark": {"type": "line", "style": "text", "strokeWidth": 1, "strokeDash": [4, 3]},
        "encoding": position,
    }
    layers = [edge, middle, _build_squares_layer(position), *_build_rater_layers(position, title)]
    return vega_lite.build_chart(320, layer=layers)


def _build_squares_layer(position: vega_lite.Spec) -> vega_lite.Spec:
    raters = {"field": "raters", "type": "quantitative", "title": _("raters")}
    return {
        "transform": [{"filter": "datum.kind == 'many'"}],
        "mark": {"type": "rect", "style": "accent"},
        "encoding": {
            **position,
            "x2": {"field": "n2"},
            "y2": {"field": "value2"},
            "opacity": {**raters, "scale": {"type": "sqrt", "range": [0.15, 0.8]}, "legend": None},
            "tooltip": [{**raters, "format": ",d"}],
        },
    }


def _build_rater_layers(position: vega_lite.Spec, title: str) -> Iterator[vega_lite.Spec]:
    """Yield the layers of points: raters without findings, to check, and repeating one answer."""
    tooltip = [
        vega_lite.build_field("rater", "nominal", _("rater")),
        vega_lite.build_decimal_field("kappa", title),
        vega_lite.build_decimal_field("low", _("95% from")),
        vega_lite.build_decimal_field("high", pgettext("upper end of an interval", "to")),
        vega_lite.build_count_field("n", _("items")),
        vega_lite.build_count_field("ratings", _("Ratings")),
    ]
    encoding = {**position, "href": {"field": "url"}, "tooltip": tooltip}
    point: vega_lite.Spec = {"type": "point", "filled": True, "size": 36, "cursor": "pointer"}
    kinds = (
        ("!datum.check && !datum.same", {**point, "style": "faint", "opacity": 0.9}),
        ("datum.check && !datum.same", {**point, "style": "accent", "opacity": 0.85}),
        ("datum.same", {**point, "shape": "diamond", "size": 80, "style": "look"}),
    )
    for test, mark in kinds:
        row_filter = {"filter": f"datum.kind == 'rater' && {test}"}
        yield {"transform": [row_filter], "mark": mark, "encoding": encoding}
