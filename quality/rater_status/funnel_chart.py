"""The funnel plot of a question's raters, honest for thousands of them: who lies outside the funnel
is a point; of those within, when they are many, squares say how many."""

from __future__ import annotations

from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from metrics.agreement.rater_quality.funnel import Funnel
from metrics.views.common.charts import vega_lite
from quality.rater_status.rater_list import Line

POINTS = 400  # raters who are drawn one by one
BINS = (24, 30)  # squares along the two axes
STEPS = 60  # of the funnel's edge
LOWEST = -0.5  # that is shown; what lies below stands at the edge

Rows = list[dict[str, Any]]


def rows(lines: list[Line], shape: Funnel | None, address: str) -> Rows:
    """One row a point (kind "rater"), a square ("many") or a place along the edge ("edge").
    ``address``: of a rater's page, with KEY where the key stands."""
    known = [line for line in lines if line.standing and line.standing.value is not None]
    known = [line for line in known if line.standing and line.standing.n_items > 0]
    points, within = _apart(known, shape)
    return [
        *_edge(known, shape),
        *_squares(within),
        *(_point(line, outside=out, address=address) for line, out in points),
    ]


def _apart(lines: list[Line], shape: Funnel | None) -> tuple[list[tuple[Line, bool]], list[Line]]:
    """Points, each with whether it lies outside; and those of whom squares tell."""
    told = [(line, _outside(line, shape)) for line in lines]
    if len(told) <= POINTS:
        return told, []
    told.sort(key=lambda one: (not one[1], -one[0].harm))
    return told[:POINTS], [line for line, _out in told[POINTS:]]


def _outside(line: Line, shape: Funnel | None) -> bool:
    if shape is None or line.standing is None or line.standing.value is None:
        return False
    low, high = shape.limits(np.array([line.standing.n_items]))
    return not low[0] <= line.standing.value <= high[0]


def _point(line: Line, *, outside: bool, address: str) -> dict[str, Any]:
    standing = line.standing
    assert standing is not None and standing.value is not None
    found = {"kind": "rater", "rater": line.name or line.key, "n": standing.n_items}
    found |= {"value": max(standing.value, LOWEST), "kappa": standing.value}
    found |= {"low": standing.low, "high": standing.high, "ratings": standing.n_ratings}
    found |= {"outside": outside, "same": "same" in line.told}
    return found | {"url": address.replace("KEY", line.key)}


def _squares(lines: list[Line]) -> Rows:
    """How many raters lie in each square of a grid; along the first axis by ratio."""
    if not lines:
        return []
    places = [(one.n_items, one.value or 0.0) for line in lines if (one := line.standing)]
    n, value = np.array(places).T
    across = np.geomspace(n.min(), n.max() + 1, BINS[0] + 1)
    up = np.linspace(LOWEST, 1, BINS[1] + 1)
    counts, _x, _y = np.histogram2d(n, np.clip(value, LOWEST, 1), [across, up])
    found = []
    for x, y in zip(*np.nonzero(counts), strict=True):
        square = {"n": across[x], "n2": across[x + 1], "value": up[y], "value2": up[y + 1]}
        square = {name: float(at) for name, at in square.items()}
        found.append({"kind": "many", "raters": int(counts[x, y]), **square})
    return found


def _edge(lines: list[Line], shape: Funnel | None) -> Rows:
    if shape is None or not lines:
        return []
    sizes = [line.standing.n_items for line in lines if line.standing]
    # Beyond the points, so that there is something to see where all have as many.
    at = np.geomspace(max(min(sizes) * 0.8, 2), max(max(sizes) * 1.25, 3), STEPS)
    low, high = shape.limits(at)
    return [
        {"kind": "edge", "n": n, "low": max(a, LOWEST), "high": min(b, 1.0), "value": shape.middle}
        for n, a, b in zip(at.tolist(), low.tolist(), high.tolist(), strict=True)
    ]


def spec(*, title: str) -> vega_lite.Spec:
    """``title``: of the coefficient."""
    x: vega_lite.Spec = {
        "field": "n",
        "type": "quantitative",
        "title": _("items that others rated too"),
        "scale": {"type": "log", "nice": False},
        "axis": {"grid": False, "format": "~s", "tickCount": 6},
    }
    y: vega_lite.Spec = {
        "type": "quantitative",
        "title": title,
        "scale": {"domainMax": 1, "zero": True, "nice": True},
        "axis": {"format": ".1f"},
    }
    raters = {"field": "raters", "type": "quantitative", "title": _("raters")}
    tooltip = [
        {"field": "rater", "type": "nominal", "title": _("rater")},
        {"field": "kappa", "type": "quantitative", "title": title, "format": ".2f"},
        {"field": "low", "type": "quantitative", "title": _("95 % from"), "format": ".2f"},
        {
            "field": "high",
            "type": "quantitative",
            "title": pgettext("upper end of an interval", "to"),
            "format": ".2f",
        },
        {"field": "n", "type": "quantitative", "title": _("items"), "format": ",d"},
        {"field": "ratings", "type": "quantitative", "title": _("ratings"), "format": ",d"},
    ]
    at: vega_lite.Spec = {"x": x, "y": {**y, "field": "value"}}
    edge = {
        "transform": [{"filter": "datum.kind == 'edge'"}],
        "mark": {"type": "area", "style": "accent", "opacity": 0.12, "line": False},
        "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
    }
    middle = {
        "transform": [{"filter": "datum.kind == 'edge'"}],
        "mark": {"type": "line", "style": "text", "strokeWidth": 1, "strokeDash": [4, 3]},
        "encoding": at,
    }
    squares = {
        "transform": [{"filter": "datum.kind == 'many'"}],
        "mark": {"type": "rect", "style": "accent"},
        "encoding": {
            **at,
            "x2": {"field": "n2"},
            "y2": {"field": "value2"},
            "opacity": {**raters, "scale": {"type": "sqrt", "range": [0.15, 0.8]}, "legend": None},
            "tooltip": [{**raters, "format": ",d"}],
        },
    }
    layers: list[vega_lite.Spec] = [edge, middle, squares]
    point: vega_lite.Spec = {"type": "point", "filled": True, "size": 36, "cursor": "pointer"}
    kinds = (
        ("!datum.outside && !datum.same", {**point, "style": "faint", "opacity": 0.9}),
        ("datum.outside && !datum.same", {**point, "style": "accent", "opacity": 0.85}),
        ("datum.same", {**point, "shape": "diamond", "size": 80, "style": "look"}),
    )
    for test, mark in kinds:
        of_kind = {"filter": f"datum.kind == 'rater' && {test}"}
        encoding = {**at, "href": {"field": "url"}, "tooltip": tooltip}
        layers.append({"transform": [of_kind], "mark": mark, "encoding": encoding})
    return {
        "$schema": vega_lite.SCHEMA,
        "height": 320,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"name": "rows"},
        "layer": layers,
    }
