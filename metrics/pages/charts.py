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
# Agreement on viridis from 0 (chance) to 1; below chance looks like chance, the tooltip says more.
AGREEMENT = {"scheme": "viridis", "domain": [0, 1], "clamp": True}
MANY_NAMES = 12  # raters of a heat map from which on names stand upright, and figures go
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


def _chart(height: int, **parts: Any) -> Spec:
    return {
        "$schema": SCHEMA,
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"name": "rows"},
        **parts,
    }


def _field(name: str, kind: str, title: str | None = None, **more: Any) -> Spec:
    return {"field": name, "type": kind, "title": title, **more}


def _within_expressions(title: str) -> str:
    """A title that people chose: Vega-Lite puts titles of fields into expressions, and escapes
    their quotation marks alone."""
    return title.replace("\\", "\\\\")


def _two(name: str, title: str) -> Spec:
    return _field(name, "quantitative", title, format=".2f")


def _count(name: str, title: str) -> Spec:
    return _field(name, "quantitative", title, format=",d")


def _dates(period: str) -> Spec:
    """The time axis: dates of the project's zone are plain dates, drawn as UTC so that no browser's
    zone moves them."""
    if period == "month":
        form = pgettext("time format of a month (d3)", "%b %Y")
    else:
        form = pgettext("time format of a day (d3)", "%-d %b")
    axis = {"format": form, "grid": False, "labelOverlap": True, "tickSize": 4}
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

    rows: start, end, value, low, high, firm, n_items and, for a project, cumulative. ``marks``:
    (day, what came then).
    """
    x = _dates(period)
    y: Spec = {
        "type": "quantitative",
        "scale": {"domain": _domain(rows, bias=bias), "zero": False, "nice": False},
    }
    tooltip = [
        _field("start", "temporal", _("from"), format="%Y-%m-%d"),
        _two("value", title),
        _two("low", _("95 % from")),
        _two("high", pgettext("upper end of an interval", "to")),
        _count("n_items", _("items")),
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
        tooltip.append(_two("cumulative", _("all until then")))
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
    return _chart(260, layer=layers)


def versions(rows: list[dict[str, Any]], names: Sequence[str], *, title: str, period: str) -> Spec:
    """A line for each version of a model; rows: version, start, end, value, low, high, firm,
    n_items. ``names``: the versions, oldest first."""
    x = _dates(period)
    y: Spec = {
        "field": "value",
        "type": "quantitative",
        "title": title,
        "scale": {"domain": _domain(rows, bias=False), "zero": False, "nice": False},
    }
    colour = _field(
        "version", "nominal", None, scale={"domain": list(names)}, legend={"orient": "top"}
    )
    tooltip = [
        _field("version", "nominal", _("version")),
        _field("start", "temporal", _("from"), format="%Y-%m-%d"),
        _two("value", title),
        _two("low", _("95 % from")),
        _two("high", pgettext("upper end of an interval", "to")),
        _count("n_items", _("items")),
    ]
    both = {"x": x, "y": y, "color": colour}
    interval = {**both, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    point = {"type": "point", "filled": True, "size": 42, "clip": True}
    return _chart(
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


def pair_matrix(raters: list[str], apart: Sequence[tuple[str, str]] = ()) -> Spec:
    """Who agrees with whom. rows: a, b, value, low, high, n_items, wide, url. Wide ones are an
    outline; ``apart``: pairs without a value, which are struck through."""
    many = len(raters) > MANY_NAMES
    axis = {**QUIET, "labelLimit": 120, **({"labelFontSize": 9} if many else {})}
    x = _field(
        "b",
        "nominal",
        sort=raters,
        axis={**axis, "orient": "top", "labelAngle": -90 if many else -45, "labelOverlap": True},
        scale={"domain": raters},
    )
    y = _field(
        "a", "nominal", sort=raters, axis={**axis, "labelOverlap": True}, scale={"domain": raters}
    )
    tooltip = [
        _field("a", "nominal", _("rater")),
        _field("b", "nominal", _("with")),
        _two("value", _("kappa")),
        _two("low", _("95 % from")),
        _two("high", pgettext("upper end of an interval", "to")),
        _count("n_items", _("items in common")),
    ]
    colour = _field("value", "quantitative", _("kappa"), scale=AGREEMENT, legend=_legend())
    shape: Spec = {"type": "rect", "cursor": "pointer", "cornerRadius": 1}
    sure = {"mark": {**shape, "style": "tile"}, "encoding": {"color": colour}}
    outline = {"filled": False, "fill": "transparent", "strokeWidth": 1.5 if many else 2.5}
    unsure = {
        "mark": {**shape, **outline},
        "encoding": {"stroke": {**colour, "legend": None}},
    }
    layers: list[Spec] = [
        {"transform": [{"filter": "!datum.wide"}], **sure},
        {"transform": [{"filter": "datum.wide"}], **unsure},
    ]
    if apart:
        stroke = {"type": "point", "shape": "M-1,1L1,-1", "strokeWidth": 1, "style": "faint"}
        layers.append(
            {
                "data": {"values": [{"a": a, "b": b, "n_items": 0} for a, b in apart]},
                "mark": {**stroke, "size": 40 if many else 160},
                "encoding": {"href": None, "tooltip": [tooltip[0], tooltip[1], tooltip[-1]]},
            }
        )
    if len(raters) <= MANY_NAMES:
        layers.append(
            _figures(
                {
                    "condition": [
                        {"test": "datum.wide", "value": {"expr": "inkOnGround"}},
                        {"test": "datum.value > 0.45", "value": "#111418"},
                    ],
                    "value": "#ffffff",
                },
                "value",
                ".2f",
            )
        )
    params = [{"name": "inkOnGround", "value": "#1d2126"}]
    # Shared by cells and figures: a figure lies over its cell.
    encoding = {"x": x, "y": y, "href": {"field": "url"}, "tooltip": tooltip}
    return _chart(
        matrix_height(len(raters))[1],
        params=params,
        encoding=encoding,
        layer=layers,
        resolve={"legend": {"stroke": "independent"}},  # the outline's is switched off
    )


def matrix_height(n_raters: int) -> tuple[str, int]:
    """The class of the space kept free for a heat map (css/results.css) and its height in pixels:
    nothing may jump."""
    sizes = [(4, "tiny", 300), (8, "small", 420), (12, "middle", 560), (24, "large", 660)]
    return next(((name, height) for most, name, height in sizes if n_raters <= most), ("huge", 800))


def _legend() -> Spec:
    return {
        "orient": "bottom",
        "direction": "horizontal",
        "gradientLength": 160,
        "gradientThickness": 8,
        "format": ".1f",
    }


def _figures(color: Spec, field: str, form: str) -> Spec:
    return {
        "mark": {"type": "text", "fontSize": 11, "style": "figure"},
        "encoding": {"text": _field(field, "quantitative", format=form), "color": color},
    }


def confusion(labels: list[str], *, rows_title: str, columns_title: str) -> Spec:
    """A k x k table. rows: own, other, n, share (of the row), apart (0 on the diagonal). Colour
    is the share of the disagreement, lest a rare row shines; what is the same is grey."""
    axis = {**QUIET, "labelLimit": 140, "titlePadding": 10}
    own, other = _within_expressions(rows_title), _within_expressions(columns_title)
    angle = 0 if len(labels) <= 6 else -45
    x = _field(
        "other",
        "nominal",
        other,
        sort=labels,
        scale={"domain": labels},
        axis={**axis, "title": columns_title, "orient": "top", "labelAngle": angle},
    )
    y = _field(
        "own",
        "nominal",
        own,
        sort=labels,
        scale={"domain": labels},
        axis={**axis, "title": rows_title},
    )
    tooltip = [
        _field("own", "nominal", own),
        _field("other", "nominal", other),
        _count("n", _("ratings")),
        _field("share", "quantitative", _("share of the row"), format=".0%"),
    ]
    rect = {
        "mark": {"type": "rect", "cornerRadius": 1, "style": "tile"},
        "encoding": {
            "color": _field(
                "apart",
                "quantitative",
                _("share of the disagreement"),
                scale=AGREEMENT,
                legend={**_legend(), "format": ".0%"},
                condition={"test": "datum.own === datum.other", "value": "#b9bcc0"},
            ),
        },
    }
    text = _figures(
        {
            "condition": {
                "test": "datum.own === datum.other || datum.apart > 0.45",
                "value": "#111418",
            },
            "value": "#ffffff",
        },
        "n",
        ",d",
    )
    return _chart(
        46 * len(labels) + 104 if len(labels) <= 8 else 480,
        encoding={"x": x, "y": y, "tooltip": tooltip},
        layer=[rect, text],
    )


def bars_height(n_bars: int) -> tuple[str, int]:
    """The class of the space kept free for a bar chart (css/results.css) and its height in
    pixels."""
    return next(
        ((f"bars{most}", 28 * most + 48) for most in (5, 10, 15) if n_bars <= most), ("bars20", 608)
    )


def bars(rows: list[dict[str, Any]], *, title: str, most: int) -> Spec:
    """How much each part explains, the first ``most`` of them. rows: label, contribution, before,
    after, ratings_before, ratings_after, rank. Below zero and above in the two ends of a diverging
    scale."""
    shown = [row for row in rows if row["rank"] <= most]
    # the figures stand beyond the bars
    reach = max([0.01, *(abs(row["contribution"]) for row in shown)]) * 1.7
    labels = [row["label"] for row in shown]
    y = _field(
        "label", "nominal", sort=labels, scale={"domain": labels}, axis={**QUIET, "labelLimit": 130}
    )
    axis = {"format": "+.2f", "tickCount": 4, "orient": "top", "labelOverlap": True}
    x = _field("contribution", "quantitative", title, scale={"domain": [-reach, reach]}, axis=axis)
    tooltip = [
        _field("label", "nominal", _("without")),
        _field("contribution", "quantitative", title, format="+.3f"),
        _two("before", _("kappa without it, before")),
        _two("after", _("kappa without it, after")),
        _count("ratings_before", _("ratings before")),
        _count("ratings_after", _("ratings after")),
    ]
    below = "datum.contribution < 0"
    bar = {
        "mark": {"type": "bar", "cornerRadiusEnd": 2, "height": 14},
        "encoding": {
            "color": {"condition": {"test": below, "value": "#c2703d"}, "value": "#4a7fb5"}
        },
    }
    figures = [
        {
            "transform": [{"filter": test}],
            "mark": {"type": "text", "style": "text", "align": align, "dx": dx, "fontSize": 11},
            "encoding": {"text": _field("contribution", "quantitative", format="+.2f")},
        }
        for test, align, dx in ((below, "right", -5), ("datum.contribution >= 0", "left", 5))
    ]
    encoding = {"x": x, "y": y, "tooltip": tooltip}
    first = [{"filter": f"datum.rank <= {most}"}]
    return _chart(
        bars_height(len(shown))[1], transform=first, encoding=encoding, layer=[bar, *figures]
    )
