"""Vega-Lite specifications as plain dicts. The data stand beside them under the name "rows"; width
and the colours of text, grid and ground come from the page (static/js/charts.js), so that a chart
follows light and dark.

Every expression is a predicate or a plain field: the page's policy forbids eval, and Vega's
interpreter runs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils import dates
from django.utils.formats import get_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
QUIET = {"domain": False, "ticks": False, "labelPadding": 6}

Spec = dict[str, Any]


def locale() -> Spec:
    """Numbers and times in the reader's language, as the pages write them: d3's formatLocale and
    timeFormatLocale."""
    number = {
        "decimal": get_format("DECIMAL_SEPARATOR"),
        "thousands": get_format("THOUSAND_SEPARATOR"),
        "grouping": [get_format("NUMBER_GROUPING")],
        "currency": ["", ""],
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


def chart(height: int, **parts: Any) -> Spec:
    return {
        "$schema": SCHEMA,
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"name": "rows"},
        **parts,
    }


def field(name: str, kind: str, title: str | None = None, **more: Any) -> Spec:
    return {"field": name, "type": kind, "title": title, **more}


def within_expressions(title: str) -> str:
    """A title that people chose: Vega-Lite puts titles of fields into expressions, and escapes
    their quotation marks alone."""
    return title.replace("\\", "\\\\")


def two_digits(name: str, title: str) -> Spec:
    return field(name, "quantitative", title, format=".2f")


def whole(name: str, title: str) -> Spec:
    return field(name, "quantitative", title, format=",d")


DAY = 86_400_000  # in ms


def time_axis(period: str) -> Spec:
    """The time axis: dates of the project's zone are plain dates, drawn as UTC so that no browser's
    zone moves them."""
    if period == "month":
        form, days = pgettext("time format of a month (d3)", "%b %Y"), 30
    else:
        form, days = pgettext("time format of a day (d3)", "%-d %b"), 1
    axis = {
        "format": form,
        "grid": False,
        "labelOverlap": True,
        "labelSeparation": 10,
        "tickSize": 4,
        "tickMinStep": days * DAY,  # of ticks that are closer two would say the same
    }
    return {
        "field": "start",
        "type": "temporal",
        "scale": {"type": "utc", "padding": 12},
        "title": None,
        "axis": axis,
    }


def trend(
    rows: list[dict[str, Any]],
    *,
    title: str,
    period: str,
    bias: bool = False,
    marks: Sequence[tuple[str, str]] = (),
) -> Spec:
    """A line with its interval as a band; points on few items in grey; the running total dashed.
    One below the other shares its time axis: labels at the left take the same room.

    rows: start, end, value, low, high, firm, n_items and, for a project, cumulative. ``marks``:
    (day, what came then).
    """
    x = time_axis(period)
    y: Spec = {
        "type": "quantitative",
        "scale": {"domain": _domain(rows, bias=bias), "zero": False, "nice": False},
        "axis": {"minExtent": 40},
    }
    tooltip = [
        field("start", "temporal", _("from"), format="%Y-%m-%d"),
        two_digits("value", title),
        two_digits("low", _("95 % from")),
        two_digits("high", pgettext("upper end of an interval", "to")),
        whole("n_items", _("items")),
    ]
    firm, few = {"filter": "datum.firm"}, {"filter": "!datum.firm"}
    band = {"x": x, "y": {**y, "field": "low", "title": title}, "y2": {"field": "high"}}
    line = {"x": x, "y": {**y, "field": "value", "title": title}}
    layers = _marks(x, marks)
    if bias:
        layers.append(
            {"mark": {"type": "rule", "style": "faint"}, "encoding": {"y": {**y, "datum": 0}}}
        )
    if any(row["firm"] for row in rows):
        mark = {"clip": True, "style": "accent"}
        # A band needs two points; a single one shows its interval as a rule.
        single = sum(row["firm"] for row in rows) == 1
        shape: Spec = {"type": "rule", "strokeWidth": 2} if single else {"type": "area"}
        layers.append(
            {"transform": [firm], "mark": {**shape, "opacity": 0.16, **mark}, "encoding": band}
        )
        layers.append(
            {
                "transform": [firm],
                "mark": {"type": "line", "strokeWidth": 2, **mark},
                "encoding": line,
            }
        )
    if len(rows) <= 2:  # no area to speak of: each point shows its own interval
        mark = {"type": "rule", "clip": True, "style": "accent", "strokeWidth": 1.5, "opacity": 0.6}
        layers.append({"transform": [firm], "mark": mark, "encoding": band})
    if not all(row["firm"] for row in rows):
        mark = {"type": "rule", "clip": True, "style": "faint", "strokeWidth": 1.5}
        layers.append({"transform": [few], "mark": mark, "encoding": band})
    if any(row.get("cumulative") is not None for row in rows):
        tooltip.append(two_digits("cumulative", _("all until then")))
        mark = {
            "type": "line",
            "clip": True,
            "strokeDash": [5, 4],
            "strokeWidth": 1.5,
            "style": "text",
        }
        layers.append(
            {"mark": mark, "encoding": {"x": x, "y": {**y, "field": "cumulative", "title": title}}}
        )
    for condition, style in ((firm, "accent"), (few, "faint")):
        mark = {
            "type": "point",
            "filled": True,
            "size": 42,
            "opacity": 1,
            "clip": True,
            "style": style,
        }
        layers.append(
            {"transform": [condition], "mark": mark, "encoding": {**line, "tooltip": tooltip}}
        )
    return chart(180 if bias else 260, layer=layers)


def versions(rows: list[dict[str, Any]], names: Sequence[str], *, title: str, period: str) -> Spec:
    """A line for each version of a model; rows: version, start, end, value, low, high, firm,
    n_items. ``names``: the versions, oldest first."""
    x = time_axis(period)
    y: Spec = {
        "field": "value",
        "type": "quantitative",
        "title": title,
        "scale": {"domain": _domain(rows, bias=False), "zero": False, "nice": False},
    }
    colour = field(
        "version", "nominal", None, scale={"domain": list(names)}, legend={"orient": "top"}
    )
    tooltip = [
        field("version", "nominal", _("version")),
        field("start", "temporal", _("from"), format="%Y-%m-%d"),
        two_digits("value", title),
        two_digits("low", _("95 % from")),
        two_digits("high", pgettext("upper end of an interval", "to")),
        whole("n_items", _("items")),
    ]
    both = {"x": x, "y": y, "color": colour}
    interval = {**both, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    point = {"type": "point", "filled": True, "size": 42, "clip": True}
    return chart(
        260,
        layer=[
            {"mark": {"type": "rule", "opacity": 0.4, "clip": True}, "encoding": interval},
            {"mark": {"type": "line", "strokeWidth": 2, "clip": True}, "encoding": both},
            {"mark": point, "encoding": {**both, "tooltip": tooltip}},
        ],
    )


def _marks(x: Spec, marks: Sequence[tuple[str, str]]) -> list[Spec]:
    """A rule with its words at the top for each day on which something changed."""
    if not marks:
        return []
    data = {"values": [{"start": day, "words": words} for day, words in marks]}
    words = {
        "type": "text",
        "align": "left",
        "baseline": "top",
        "dx": 4,
        "dy": 2,
        "fontSize": 11,
        "style": "text",
    }
    return [
        {
            "data": data,
            "mark": {"type": "rule", "strokeDash": [2, 3], "style": "text"},
            "encoding": {"x": x},
        },
        {
            "data": data,
            "mark": words,
            "encoding": {"x": x, "y": {"value": 0}, "text": {"field": "words"}},
        },
    ]


def _domain(rows: list[dict[str, Any]], *, bias: bool) -> list[float]:
    """The values with a margin; intervals of small samples may leave the frame, or they would
    flatten the line."""
    values = [
        row[name] for row in rows for name in ("value", "cumulative") if row.get(name) is not None
    ]
    values += [
        row[name]
        for row in rows
        if row["firm"]
        for name in ("low", "high")
        if row[name] is not None
    ]
    if not values:
        return [-1, 1] if bias else [0, 1]
    if bias:
        reach = max(0.1, *(abs(value) for value in values)) * 1.1
        return [-reach, reach]
    return [max(-1.0, min(0.0, min(values) - 0.05)), 1]
