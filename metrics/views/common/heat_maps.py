"""Vega-Lite specifications of heat maps: rater pairs, and confusion tables."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from .vega_lite import (
    QUIET_AXIS,
    Spec,
    build_chart,
    build_count_field,
    build_decimal_field,
    build_field,
    escape_title,
)

# The page sets these for its color scheme (static/js/charts.js), and the hue of the cells. A number
# on a cell darker than ``inkFlip`` of the scale has the other ink.
PARAMS = [
    {"name": "inkOnGround", "value": "#16181d"},
    {"name": "inkOnFull", "value": "#ffffff"},
    {"name": "inkFlip", "value": 0.66},
    {"name": "diagonal", "value": "#f4f4f6"},
]
INK_ON_GROUND = {"expr": "inkOnGround"}
MIN_SPAN = 0.3  # kappa values closer than this have similar colors
MAX_LABELLED_RATERS = 12  # with more raters, names are vertical and cells have no numbers


def build_pair_matrix(
    raters: list[str],
    values: Sequence[float] = (),
    undefined_pairs: Sequence[tuple[str, str]] = (),
) -> Spec:
    """Return the specification of the heat map of rater pairs.

    Fields of rows: a, b, value, low, high, n_items, wide, url. Pairs with a wide interval are
    outlined. ``values``: all values, which give the range of the colors. ``undefined_pairs``: pairs
    without a value, which are struck through.
    """
    high = max(values, default=1.0)
    low = min([*values, high - MIN_SPAN])
    is_large = len(raters) > MAX_LABELLED_RATERS
    tooltip = [
        build_field("a", "nominal", _("rater")),
        build_field("b", "nominal", _("with")),
        build_decimal_field("value", _("kappa")),
        build_decimal_field("low", _("95% from")),
        build_decimal_field("high", pgettext("upper end of an interval", "to")),
        build_count_field("n_items", _("shared items")),
    ]
    layers = _build_cell_layers(low, high)
    if undefined_pairs:
        stroke = {"type": "point", "shape": "M-1,1L1,-1", "strokeWidth": 1, "style": "faint"}
        layers.append(
            {
                "data": {"values": [{"a": a, "b": b, "n_items": 0} for a, b in undefined_pairs]},
                "mark": {**stroke, "size": 40 if is_large else 160},
                "encoding": {"href": None, "tooltip": [tooltip[0], tooltip[1], tooltip[-1]]},
            }
        )
    if not is_large:
        ink = _build_number_color("datum.wide", "value", low, high)
        layers.append(_build_numbers_layer(ink, "value", ".2f"))
    # Shared by cells and numbers: a number lies over its cell.
    encoding = {"href": {"field": "url"}, "tooltip": tooltip, **_build_rater_axes(raters, is_large)}
    height = get_matrix_height(len(raters))[1]
    return build_chart(height, params=PARAMS, encoding=encoding, layer=layers)


def _build_rater_axes(raters: list[str], is_large: bool) -> dict[str, Spec]:
    axis = {**QUIET_AXIS, "labelLimit": 120, "labelOverlap": True}
    if is_large:
        axis["labelFontSize"] = 9
    top = {**axis, "orient": "top", "labelAngle": -90 if is_large else -45}
    scale = {"domain": raters}
    return {
        "x": build_field("b", "nominal", sort=raters, axis=top, scale=scale),
        "y": build_field("a", "nominal", sort=raters, axis=axis, scale=scale),
    }


def _build_cell_layers(low: float, high: float) -> list[Spec]:
    """Return the filled cells, and the outlined ones of pairs with a wide interval."""
    color = build_field(
        "value", "quantitative", _("kappa"), scale=_build_scale(low, high), legend=_build_legend()
    )
    shape: Spec = {"type": "rect", "cursor": "pointer", "cornerRadius": 1}
    outline = {"filled": False, "fill": "transparent", "style": "faint", "strokeDash": [3, 2]}
    return [
        {
            "transform": [{"filter": "!datum.wide"}],
            "mark": {**shape, "style": "tile"},
            "encoding": {"color": color},
        },
        {"transform": [{"filter": "datum.wide"}], "mark": {**shape, **outline}},
    ]


def get_matrix_height(n_raters: int) -> tuple[str, int]:
    """Return the CSS class that reserves the height of a heat map, and the height in pixels.

    The classes are defined in css/results.css. The space is reserved so that the page does not jump
    when the chart is drawn.
    """
    sizes = [(4, "tiny", 300), (8, "small", 420), (12, "medium", 560), (24, "large", 660)]
    return next(((name, height) for most, name, height in sizes if n_raters <= most), ("huge", 800))


def _build_scale(low: float, high: float) -> Spec:
    """Return the color scale, of one hue: from light to dark on a light page."""
    return {"domain": [low, high], "clamp": True, "interpolate": "lab"}


def _build_legend() -> Spec:
    return {
        "orient": "bottom",
        "direction": "horizontal",
        "gradientLength": 160,
        "gradientThickness": 8,
        "format": ".1f",
    }


def _build_number_color(pale_test: str, shade: str, low: float, high: float) -> Spec:
    """Return the color of a cell's number, which contrasts with the cell.

    ``pale_test``: condition for pale cells; ``shade``: field that determines the shade of the
    others, from ``low`` to ``high``.
    """
    on_pale = {"test": pale_test, "value": INK_ON_GROUND}
    on_dark = {
        "test": f"datum.{shade} > {low:.4f} + inkFlip * {high - low:.4f}",
        "value": {"expr": "inkOnFull"},
    }
    return {"condition": [on_pale, on_dark], "value": INK_ON_GROUND}


def _build_numbers_layer(color: Spec, name: str, number_format: str) -> Spec:
    return {
        "mark": {"type": "text", "fontSize": 11, "style": "figure"},
        "encoding": {
            "text": build_field(name, "quantitative", format=number_format),
            "color": color,
        },
    }


def _build_share_layers(max_share: float) -> list[Spec]:
    """Return two layers: cells colored by their share of the disagreement, and their numbers."""
    diagonal_test = "datum.own === datum.other"
    color = build_field(
        "disagreement_share",
        "quantitative",
        _("Share of disagreement"),
        scale=_build_scale(0, max_share),
        legend={**_build_legend(), "format": ".0%"},
        condition={"test": diagonal_test, "value": {"expr": "diagonal"}},
    )
    mark = {"type": "rect", "cornerRadius": 1, "style": "tile"}
    ink = _build_number_color(diagonal_test, "disagreement_share", 0, max_share)
    return [{"mark": mark, "encoding": {"color": color}}, _build_numbers_layer(ink, "n", ",d")]


def build_confusion_table(
    labels: list[str], *, rows_title: str, columns_title: str, max_share: float = 1.0
) -> Spec:
    """Return the specification of the heat map of a k x k table with its sums.

    Fields of rows: own, other, n, share (of the row), disagreement_share (0 on the diagonal). The
    color is the share of all disagreement, so that rare rows are not conspicuous; the diagonal is
    grey. ``max_share``: the largest of these shares.
    """
    titles = escape_title(rows_title), escape_title(columns_title)
    labels_with_sum = [*labels, _get_sum_label(labels)]
    axis = {**QUIET_AXIS, "labelLimit": 140, "titlePadding": 10}
    angle = 0 if len(labels) <= 6 else -45
    top = {**axis, "title": columns_title, "orient": "top", "labelAngle": angle}
    order = {"sort": labels_with_sum, "scale": {"domain": labels_with_sum}}
    x = build_field("other", "nominal", titles[1], **order, axis=top)
    y = build_field("own", "nominal", titles[0], **order, axis={**axis, "title": rows_title})
    tooltip = [
        build_field("own", "nominal", titles[0]),
        build_field("other", "nominal", titles[1]),
        build_count_field("n", _("ratings")),
        build_field("share", "quantitative", _("share of the row"), format=".0%"),
    ]
    sums = [
        _build_sums_layer(x, y, labels_with_sum[-1], tooltip, summed_by=summed_by)
        for summed_by in ({"own"}, {"other"}, set())
    ]
    return build_chart(
        46 * len(labels) + 150 if len(labels) <= 8 else 526,
        params=PARAMS,
        encoding={"x": x, "y": y, "tooltip": tooltip},
        layer=[*_build_share_layers(max_share), *sums],
    )


def _get_sum_label(labels: list[str]) -> str:
    """Return the label of the sums; it differs from every category's."""
    name = _("together")
    while name in labels:
        name += "*"
    return name


def _build_sums_layer(
    x: Spec, y: Spec, sum_label: str, tooltip: list[Spec], *, summed_by: set[str]
) -> Spec:
    """Return the layer of the sums of each row, of each column, or of all cells.

    ``summed_by``: the fields that a sum is for: own (rows), other (columns) or none (all cells).
    The sums are drawn at the category ``sum_label``.
    """
    sides = {"x": x, "y": y}
    for side, name in (("x", "other"), ("y", "own")):
        if name not in summed_by:
            without_field = {key: value for key, value in sides[side].items() if key != "field"}
            sides[side] = {**without_field, "datum": sum_label}
    aggregate = {
        "aggregate": [{"op": "sum", "field": "n", "as": "n"}],
        "groupby": sorted(summed_by),
    }
    numbers = _build_numbers_layer({"value": INK_ON_GROUND}, "n", ",d")
    sum_tooltip = [part for part in tooltip if part["field"] in summed_by | {"n"}]
    return {
        "transform": [aggregate],
        "mark": numbers["mark"],
        "encoding": {**numbers["encoding"], **sides, "tooltip": sum_tooltip},
    }
