"""Bars of what each part explains of a move, as a Vega-Lite specification."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from metrics.views.common.charts import vega_lite

PALE = 0.35  # how opaque a bar is that may be chance


def height(n_bars: int) -> tuple[str, int]:
    """The class of the space kept free for a bar chart (css/results.css) and its height in
    pixels."""
    return next(
        ((f"bars{most}", 28 * most + 48) for most in (5, 10, 15) if n_bars <= most), ("bars20", 608)
    )


def chart_of(rows: list[dict[str, Any]], *, title: str, most: int, sure: bool) -> vega_lite.Spec:
    """How much each part explains, the first ``most`` of them; pale unless it is ``sure`` that
    there is something to explain. rows: label, contribution, before, after, ratings_before,
    ratings_after, rank. Below zero and above in the two ends of a diverging scale."""
    shown = [row for row in rows if row["rank"] <= most]
    # the figures stand beyond the bars
    reach = max([0.01, *(abs(row["contribution"]) for row in shown)]) * 1.7
    labels = [row["label"] for row in shown]
    names = {**vega_lite.QUIET, "labelLimit": 130}
    y = vega_lite.field("label", "nominal", sort=labels, scale={"domain": labels}, axis=names)
    axis = {"format": "+.2f", "tickCount": 4, "orient": "top", "labelOverlap": True}
    scale = {"domain": [-reach, reach]}
    x = vega_lite.field("contribution", "quantitative", title, scale=scale, axis=axis)
    tooltip = [
        vega_lite.field("label", "nominal", _("without")),
        vega_lite.field("contribution", "quantitative", title, format="+.3f"),
        vega_lite.two_digits("before", _("kappa without it, before")),
        vega_lite.two_digits("after", _("kappa without it, after")),
        vega_lite.whole("ratings_before", _("ratings before")),
        vega_lite.whole("ratings_after", _("ratings after")),
    ]
    below = "datum.contribution < 0"
    bar = {
        "mark": {"type": "bar", "cornerRadiusEnd": 2, "height": 14, "opacity": 1 if sure else PALE},
        "encoding": {
            "color": {"condition": {"test": below, "value": "#c2703d"}, "value": "#4a7fb5"}
        },
    }
    figures = [
        {
            "transform": [{"filter": test}],
            "mark": {"type": "text", "style": "text", "align": align, "dx": dx, "fontSize": 11},
            "encoding": {"text": vega_lite.field("contribution", "quantitative", format="+.2f")},
        }
        for test, align, dx in ((below, "right", -5), ("datum.contribution >= 0", "left", 5))
    ]
    encoding = {"x": x, "y": y, "tooltip": tooltip}
    first = [{"filter": f"datum.rank <= {most}"}]
    return vega_lite.chart(
        height(len(shown))[1], transform=first, encoding=encoding, layer=[bar, *figures]
    )
