"""Bar chart of the contributions to a change, as a Vega-Lite specification."""

from __future__ import annotations

from django.utils.translation import gettext as _

from metrics.views.common.charts import vega_lite

PALE_OPACITY = 0.35  # of bars that may be chance


def get_height(n_bars: int) -> tuple[str, int]:
    """Return the CSS class that reserves the height of the chart, and the height in pixels.

    The classes are defined in css/results.css.
    """
    return next(
        ((f"bars{max_bars}", 28 * max_bars + 48) for max_bars in (5, 10, 15) if n_bars <= max_bars),
        ("bars20", 608),
    )


def build_bar_chart(
    rows: list[vega_lite.Row], *, title: str, max_bars: int, is_clear: bool
) -> vega_lite.Spec:
    """Return a bar chart of the first ``max_bars`` contributions.

    Pale unless the change is clear (``is_clear``). rows: label, contribution, before, after,
    ratings_before, ratings_after, rank. Negative and positive bars have the two ends of a diverging
    scale.
    """
    visible_rows = [row for row in rows if row["rank"] <= max_bars]
    # leave room for the numbers beyond the bars
    reach = max([0.01, *(abs(row["contribution"]) for row in visible_rows)]) * 1.7
    labels = [row["label"] for row in visible_rows]
    names = {**vega_lite.QUIET_AXIS, "labelLimit": 130}
    y = vega_lite.build_field("label", "nominal", sort=labels, scale={"domain": labels}, axis=names)
    axis = {"format": "+.2f", "tickCount": 4, "orient": "top", "labelOverlap": True}
    scale = {"domain": [-reach, reach]}
    x = vega_lite.build_field("contribution", "quantitative", title, scale=scale, axis=axis)
    tooltip = [
        vega_lite.build_field("label", "nominal", _("Without")),
        vega_lite.build_field("contribution", "quantitative", title, format="+.3f"),
        vega_lite.build_decimal_field("before", _("Without: before")),
        vega_lite.build_decimal_field("after", _("Without: after")),
        vega_lite.build_count_field("ratings_before", _("Ratings before")),
        vega_lite.build_count_field("ratings_after", _("Ratings after")),
    ]
    encoding = {"x": x, "y": y, "tooltip": tooltip}
    rank_filter = [{"filter": f"datum.rank <= {max_bars}"}]
    return vega_lite.build_chart(
        get_height(len(visible_rows))[1],
        transform=rank_filter,
        encoding=encoding,
        layer=[_build_bar_layer(is_clear=is_clear), *_build_number_layers()],
    )


IS_NEGATIVE = "datum.contribution < 0"


def _build_bar_layer(*, is_clear: bool) -> vega_lite.Spec:
    color = {"condition": {"test": IS_NEGATIVE, "value": "#c2703d"}, "value": "#4a7fb5"}
    opacity = 1 if is_clear else PALE_OPACITY
    return {
        "mark": {"type": "bar", "cornerRadiusEnd": 2, "height": 14, "opacity": opacity},
        "encoding": {"color": color},
    }


def _build_number_layers() -> list[vega_lite.Spec]:
    """Return the numbers of negative contributions, and those of the others."""
    text = vega_lite.build_field("contribution", "quantitative", format="+.2f")
    return [
        {
            "transform": [{"filter": test}],
            "mark": {"type": "text", "style": "text", "align": align, "dx": dx, "fontSize": 11},
            "encoding": {"text": text},
        }
        for test, align, dx in ((IS_NEGATIVE, "right", -5), ("datum.contribution >= 0", "left", 5))
    ]
