"""Vega-Lite specifications as plain dicts.

The data come under the name "rows"; width and the colours of text, grid and background come from
the page (static/js/charts.js), so that a chart follows the light and dark themes.

Every expression is a predicate or a plain field: the page's content security policy forbids eval,
so Vega's interpreter runs them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from django.utils import dates
from django.utils.formats import get_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
SMOOTH = {"interpolate": "monotone"}  # goes through every point and overshoots none
MIN_SPAN = 0.3  # of the axis of a coefficient: small changes do not fill the chart
QUIET_AXIS = {"domain": False, "ticks": False, "labelPadding": 6}

Spec = dict[str, Any]  # a specification, or a part of one
Row = dict[str, Any]  # of a chart's data


def build_locale() -> Spec:
    """Return the reader's number and time formats.

    They have the form of d3's formatLocale and timeFormatLocale.
    """
    number = {
        "decimal": get_format("DECIMAL_SEPARATOR"),
        "thousands": get_format("THOUSAND_SEPARATOR"),
        "grouping": [get_format("NUMBER_GROUPING")],
        "currency": ["", ""],
        "minus": "-",  # as in the tables
    }
    week = [6, 0, 1, 2, 3, 4, 5]  # d3 begins with Sunday, Django with Monday
    time = {
        "dateTime": "%Y-%m-%d %H:%M:%S",
        "date": "%Y-%m-%d",
        "time": "%H:%M:%S",
        "periods": ["AM", "PM"],  # no format above uses them
        "days": [str(dates.WEEKDAYS[day]) for day in week],
        "shortDays": [str(dates.WEEKDAYS_ABBR[day]) for day in week],
        "months": [str(dates.MONTHS[month]) for month in range(1, 13)],
        "shortMonths": [str(dates.MONTHS_3[month]).capitalize() for month in range(1, 13)],
    }
    return {"number": number, "time": time}


def build_chart(height: int, **parts: Any) -> Spec:
    """Return a specification with the common parts of all charts, and ``parts``.

    ``height``: in pixels.
    """
    return {
        "$schema": SCHEMA,
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"name": "rows"},
        **parts,
    }


def build_field(name: str, kind: str, title: str | None = None, **options: Any) -> Spec:
    """Return the encoding of a field; ``kind``: its Vega-Lite type."""
    return {"field": name, "type": kind, "title": title, **options}


def escape_title(title: str) -> str:
    """Escape a title that users typed.

    Vega-Lite puts titles of fields into expressions and escapes only their quotation marks.
    """
    return title.replace("\\", "\\\\")


def build_decimal_field(name: str, title: str) -> Spec:
    """Return the encoding that shows the field ``name`` with two decimals."""
    return build_field(name, "quantitative", title, format=".2f")


def build_count_field(name: str, title: str) -> Spec:
    """Return the encoding that shows the field ``name`` as a whole number."""
    return build_field(name, "quantitative", title, format=",d")


DAY_MS = 86_400_000


def build_time_axis(period: str) -> Spec:
    """Return the encoding of the time axis of a chart whose points are periods.

    Dates of the project's time zone are drawn as UTC, so that the browser's zone does not shift
    them. Labels have the date format of the site. ``period``: "day", "week" or "month".
    """
    min_days = 30 if period == "month" else 1
    axis = {
        "format": "%Y-%m" if period == "month" else "%Y-%m-%d",
        "grid": False,
        "labelOverlap": True,
        "labelSeparation": 10,
        "tickCount": 6,
        "tickSize": 4,
        "tickMinStep": min_days * DAY_MS,  # closer ticks would have equal labels
    }
    return {
        "field": "start",
        "type": "temporal",
        "scale": {"type": "utc", "padding": 12},
        "title": None,
        "axis": axis,
    }


def build_trend_chart(
    rows: list[Row],
    *,
    title: str,
    period: str,
    bias: bool = False,
    target: float | None = None,
    annotations: Sequence[tuple[str, str]] = (),
) -> Spec:
    """Return a line chart with the interval as a band, and a tinted area above the target.

    Points of few items are grey; the cumulative value is dashed. Fields of rows: start, end, value,
    low, high, enough_items, n_items and, for a question, cumulative. ``annotations``: (day, text).
    """
    x = build_time_axis(period)
    domain = _compute_domain(rows, bias=bias, target=target)
    y: Spec = {
        "type": "quantitative",
        "scale": {"domain": domain, "zero": False, "nice": False},
        "axis": {"minExtent": 40, "tickCount": 4},
    }
    tooltip = _build_trend_tooltip(title)
    band = {"x": x, "y": {**y, "field": "low", "title": title}, "y2": {"field": "high"}}
    line = {"x": x, "y": {**y, "field": "value", "title": title}}
    layers = [
        *_build_target_layers(y, domain, bias=bias, target=target),
        *_build_interval_layers(rows, band, line),
    ]
    if any(row.get("cumulative") is not None for row in rows):
        tooltip.append(build_decimal_field("cumulative", _("cumulative")))
        encoding = {"x": x, "y": {**y, "field": "cumulative", "title": title}}
        layers.append({"mark": CUMULATIVE_LINE, "encoding": encoding})
    layers += _build_point_layers({**line, "tooltip": tooltip})
    layers.append(_build_crosshair(x, tooltip))
    layers += _build_annotation_layers(x, annotations)  # above, so that their flags have tooltips
    return build_chart(180 if bias else 260, layer=layers)


def _build_trend_tooltip(title: str) -> list[Spec]:
    """Return the fields of a point's tooltip; ``title`` names the value."""
    return [
        build_field("start", "temporal", _("from"), format="%Y-%m-%d"),
        build_decimal_field("value", title),
        build_decimal_field("low", _("95% from")),
        build_decimal_field("high", pgettext("upper end of an interval", "to")),
        build_count_field("n_items", _("items")),
    ]


CUMULATIVE_LINE = {
    "type": "line",
    "clip": True,
    "strokeDash": [5, 4],
    "strokeWidth": 1.25,
    "style": "faint",
    **SMOOTH,
}
ENOUGH_ITEMS = {"filter": "datum.enough_items"}
FEW_ITEMS = {"filter": "!datum.enough_items"}


def _build_point_layers(encoding: Spec) -> list[Spec]:
    """Return two layers of points: of periods with enough items, and of the others."""
    point = {"type": "point", "filled": True, "size": 36, "opacity": 1, "clip": True}
    return [
        {"transform": [condition], "mark": {**point, "style": style}, "encoding": encoding}
        for condition, style in ((ENOUGH_ITEMS, "accent"), (FEW_ITEMS, "faint"))
    ]


def _build_target_layers(
    y: Spec, domain: Sequence[float], *, bias: bool, target: float | None
) -> list[Spec]:
    """Return the layers of the target: a tint above it, and a line at it (at zero for a bias)."""
    layers: list[Spec] = []
    if target is not None:
        tint = {"type": "rect", "style": "accent", "opacity": 0.06}
        layers.append(
            {"mark": tint, "encoding": {"y": {**y, "datum": target}, "y2": {"datum": domain[1]}}}
        )
    if bias or target is not None:
        rule = {"type": "rule", "style": "faint"}
        layers.append({"mark": rule, "encoding": {"y": {**y, "datum": 0 if bias else target}}})
    return layers


def _build_interval_layers(rows: list[Row], band: Spec, line: Spec) -> list[Spec]:
    """Return the layers of the line and its band, and of the intervals of single points.

    ``band`` and ``line``: encodings.
    """
    n_firm = sum(row["enough_items"] for row in rows)
    layers: list[Spec] = []
    if n_firm:
        mark = {"clip": True, "style": "accent"}
        # A band needs two points; a single one shows its interval as a rule.
        shape: Spec = (
            {"type": "rule", "strokeWidth": 2} if n_firm == 1 else {"type": "area", **SMOOTH}
        )
        line_mark = {"type": "line", "strokeWidth": 2, **SMOOTH, **mark}
        layers = [
            {
                "transform": [ENOUGH_ITEMS],
                "mark": {**shape, "opacity": 0.12, **mark},
                "encoding": band,
            },
            {"transform": [ENOUGH_ITEMS], "mark": line_mark, "encoding": line},
        ]
    rule = {"type": "rule", "clip": True, "strokeWidth": 1.5}
    if len(rows) <= 2:  # too few points for a band: each point shows its own interval
        firm_rule = {**rule, "style": "accent", "opacity": 0.6}
        layers.append({"transform": [ENOUGH_ITEMS], "mark": firm_rule, "encoding": band})
    if n_firm < len(rows):
        faint_rule = {**rule, "style": "faint"}
        layers.append({"transform": [FEW_ITEMS], "mark": faint_rule, "encoding": band})
    return layers


def _build_crosshair(x: Spec, tooltip: list[Spec]) -> Spec:
    """Return a layer: a line through the period nearest to the pointer, with its numbers."""
    nearest = {
        "name": "nearest",
        "select": {
            "type": "point",
            "nearest": True,
            "on": "pointermove",
            "clear": "pointerout",
            "fields": ["start"],
        },
    }
    is_nearest = {"param": "nearest", "empty": False, "value": 0.6}
    return {
        "params": [nearest],
        "mark": {"type": "rule", "style": "faint"},
        "encoding": {
            "x": x,
            "opacity": {"condition": is_nearest, "value": 0},
            "tooltip": tooltip,
        },
    }


def build_versions_chart(rows: list[Row], names: Sequence[str], *, title: str, period: str) -> Spec:
    """Return a chart with a line for each prompt version of a model.

    Fields of rows: version, start, end, value, low, high, enough_items, n_items. ``names``: the
    versions, oldest first; ``title``: of the value.
    """
    x = build_time_axis(period)
    y: Spec = {
        "field": "value",
        "type": "quantitative",
        "title": title,
        "scale": {"domain": _compute_domain(rows), "zero": False, "nice": False},
    }
    color = build_field(
        "version", "nominal", None, scale={"domain": list(names)}, legend={"orient": "top"}
    )
    tooltip = [
        build_field("version", "nominal", _("version")),
        build_field("start", "temporal", _("from"), format="%Y-%m-%d"),
        build_decimal_field("value", title),
        build_decimal_field("low", _("95% from")),
        build_decimal_field("high", pgettext("upper end of an interval", "to")),
        build_count_field("n_items", _("items")),
    ]
    both = {"x": x, "y": y, "color": color}
    interval = {**both, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    point = {"type": "point", "filled": True, "size": 42, "clip": True}
    return build_chart(
        260,
        layer=[
            {"mark": {"type": "rule", "opacity": 0.4, "clip": True}, "encoding": interval},
            {"mark": {"type": "line", "strokeWidth": 2, "clip": True}, "encoding": both},
            {"mark": point, "encoding": {**both, "tooltip": tooltip}},
        ],
    )


def _build_annotation_layers(x: Spec, annotations: Sequence[tuple[str, str]]) -> list[Spec]:
    """Return a flag on a thin pole for each annotation (day, text)."""
    if not annotations:
        return []
    data = {"values": [{"start": day, "words": words} for day, words in annotations]}
    tooltip = [build_field("start", "temporal", _("from"), format="%Y-%m-%d"), {"field": "words"}]
    top: Spec = {"x": x, "y": {"value": 0}, "tooltip": tooltip}
    words = {"type": "text", "align": "left", "baseline": "top", "dx": 11, "fontSize": 11}
    # On a phone the texts would lie over each other; the tooltips have them.
    words["opacity"] = {"expr": f"width < {110 * len(annotations)} ? 0 : 1"}
    flag = {
        "type": "point",
        "filled": True,
        "opacity": 1,
        "size": 64,
        "shape": "M0,0L2.4,0.9L0,1.8Z",
    }
    return [
        {"data": data, "mark": {"type": "rule", "style": "faint"}, "encoding": {"x": x}},
        {"data": data, "mark": {**flag, "style": "look"}, "encoding": top},
        {
            "data": data,
            "mark": {**words, "style": "text"},
            "encoding": {**top, "text": {"field": "words"}},
        },
    ]


def _compute_domain(
    rows: list[Row], *, bias: bool = False, target: float | None = None
) -> list[float]:
    """Return the range of the values and the target, out to the next tenth and within -1 to 1.

    Intervals of small samples are not included: they would flatten the line.
    """
    values = [
        row[name] for row in rows for name in ("value", "cumulative") if row.get(name) is not None
    ]
    values += [
        row[name]
        for row in rows
        if row["enough_items"]
        for name in ("low", "high")
        if row[name] is not None
    ]
    if not values:
        return [-1, 1] if bias else [0, 1]
    if bias:
        reach = max(0.1, *(abs(value) for value in values)) * 1.1
        return [-reach, reach]
    values += [] if target is None else [target]
    low = max(-1.0, math.floor(min(values) * 10 - 0.2) / 10)
    high = min(1.0, math.ceil(max(values) * 10 + 0.2) / 10)
    return [max(-1.0, min(low, round(high - MIN_SPAN, 1))), high]
