"""Vega-Lite specifications of squares: who agrees with whom, and who says what where."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from .vega_lite import QUIET, Spec, chart, field, two_digits, whole, within_expressions

# Agreement on viridis from 0 (chance) to 1; below chance looks like chance, the tooltip says more.
AGREEMENT = {"scheme": "viridis", "domain": [0, 1], "clamp": True}
INK = {"name": "inkOnGround", "value": "#1d2126"}  # that of the page (static/js/charts.js)
MANY_NAMES = 12  # raters of a heat map from which on names stand upright, and figures go


def pair_matrix(raters: list[str], apart: Sequence[tuple[str, str]] = ()) -> Spec:
    """Who agrees with whom. rows: a, b, value, low, high, n_items, wide, url. Wide ones are an
    outline; ``apart``: pairs without a value, which are struck through."""
    many = len(raters) > MANY_NAMES
    axis = {**QUIET, "labelLimit": 120, **({"labelFontSize": 9} if many else {})}
    x = field(
        "b",
        "nominal",
        sort=raters,
        axis={**axis, "orient": "top", "labelAngle": -90 if many else -45, "labelOverlap": True},
        scale={"domain": raters},
    )
    y = field(
        "a", "nominal", sort=raters, axis={**axis, "labelOverlap": True}, scale={"domain": raters}
    )
    tooltip = [
        field("a", "nominal", _("rater")),
        field("b", "nominal", _("with")),
        two_digits("value", _("kappa")),
        two_digits("low", _("95 % from")),
        two_digits("high", pgettext("upper end of an interval", "to")),
        whole("n_items", _("items in common")),
    ]
    colour = field("value", "quantitative", _("kappa"), scale=AGREEMENT, legend=_legend())
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
    # Shared by cells and figures: a figure lies over its cell.
    encoding = {"x": x, "y": y, "href": {"field": "url"}, "tooltip": tooltip}
    return chart(
        matrix_height(len(raters))[1],
        params=[INK],
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


def _figures(color: Spec, name: str, form: str) -> Spec:
    return {
        "mark": {"type": "text", "fontSize": 11, "style": "figure"},
        "encoding": {"text": field(name, "quantitative", format=form), "color": color},
    }


def confusion(labels: list[str], *, rows_title: str, columns_title: str) -> Spec:
    """A k x k table with its sums. rows: own, other, n, share (of the row), apart (0 on the
    diagonal). Colour is the share of the disagreement, lest a rare row shines; what is the same is
    grey."""
    axis = {**QUIET, "labelLimit": 140, "titlePadding": 10}
    own, other = within_expressions(rows_title), within_expressions(columns_title)
    angle = 0 if len(labels) <= 6 else -45
    places = [*labels, _together(labels)]
    x = field(
        "other",
        "nominal",
        other,
        sort=places,
        scale={"domain": places},
        axis={**axis, "title": columns_title, "orient": "top", "labelAngle": angle},
    )
    y = field(
        "own",
        "nominal",
        own,
        sort=places,
        scale={"domain": places},
        axis={**axis, "title": rows_title},
    )
    tooltip = [
        field("own", "nominal", own),
        field("other", "nominal", other),
        whole("n", _("ratings")),
        field("share", "quantitative", _("share of the row"), format=".0%"),
    ]
    rect = {
        "mark": {"type": "rect", "cornerRadius": 1, "style": "tile"},
        "encoding": {
            "color": field(
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
    sums = [_sums(x, y, places[-1], tooltip, of=of) for of in ({"own"}, {"other"}, set())]
    return chart(
        46 * len(labels) + 150 if len(labels) <= 8 else 526,
        params=[INK],
        encoding={"x": x, "y": y, "tooltip": tooltip},
        layer=[rect, text, *sums],
    )


def _together(labels: list[str]) -> str:
    """What the sums are called: no category is."""
    name = _("together")
    while name in labels:
        name += "*"
    return name


def _sums(x: Spec, y: Spec, place: str, tooltip: list[Spec], *, of: set[str]) -> Spec:
    """The sum of each row (``of`` own), of each column (other), or of all (neither), as a figure
    at ``place``."""
    sides = {"x": x, "y": y}
    for side, name in (("x", "other"), ("y", "own")):
        if name not in of:
            rest = {key: value for key, value in sides[side].items() if key != "field"}
            sides[side] = {**rest, "datum": place}
    total = {"aggregate": [{"op": "sum", "field": "n", "as": "n"}], "groupby": sorted(of)}
    figures = _figures({"value": {"expr": "inkOnGround"}}, "n", ",d")
    told = [part for part in tooltip if part["field"] in of | {"n"}]
    return {
        "transform": [total],
        "mark": figures["mark"],
        "encoding": {**figures["encoding"], **sides, "tooltip": told},
    }
