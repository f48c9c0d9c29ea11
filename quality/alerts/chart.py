"""Chart of an alert: mean scores by day or week, the levels before and since, and the onset."""

from __future__ import annotations

import datetime
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from metrics.views.common.charts import vega_lite
from quality.models import Alert, AlertMeasure
from ratings.services.rating_times import EPOCH

Rows = list[dict[str, Any]]

_TITLES: dict[str, Promise] = {
    AlertMeasure.BIAS: gettext_lazy("bias relative to the others"),
    AlertMeasure.AGREEMENT: gettext_lazy("agreement (kappa)"),
}


def list_chart_rows(alert: Alert) -> Rows:
    """Return a row per day or week.

    It has start, value, n, part (before or since) and the part's level.
    """
    chart = alert.chart
    since = (alert.since - EPOCH).days
    days = list(zip(chart.get("days", []), chart.get("n", []), chart.get("means", []), strict=True))
    levels = {part: _compute_level(days, since, part) for part in ("before", "since")}
    rows = []
    for day, n, mean in days:
        part = "before" if day < since else "since"
        start = EPOCH + datetime.timedelta(days=day)
        row = {"start": start.isoformat(), "value": mean, "n": n}
        rows.append({**row, "part": part, "level": levels[part]})
    return rows


def _compute_level(days: list[tuple[int, int, float]], since: int, part: str) -> float | None:
    """Return the mean of one part, weighted by items; None without items."""
    points = [(n, mean) for day, n, mean in days if (day < since) == (part == "before")]
    n_items = sum(n for n, _mean in points)
    return sum(n * mean for n, mean in points) / n_items if n_items else None


def build_spec(alert: Alert) -> vega_lite.Spec:
    """Return the Vega-Lite specification of the chart."""
    bias = alert.measure == AlertMeasure.BIAS
    title = _TITLES.get(alert.measure) or alert.get_measure_display()
    x = vega_lite.build_time_axis("day")
    y: vega_lite.Spec = {"type": "quantitative", "scale": {"zero": bias}}
    tooltip = [
        {"field": "start", "type": "temporal", "title": _("day"), "format": "%Y-%m-%d"},
        {"field": "value", "type": "quantitative", "title": _("mean"), "format": ".2f"},
        {"field": "n", "type": "quantitative", "title": _("items"), "format": ",d"},
    ]
    size: vega_lite.Spec = {
        "field": "n",
        "type": "quantitative",
        "title": _("items"),
        "scale": {"range": [12, 160]},
        "legend": None,
    }
    points = {
        "mark": {"type": "point", "filled": True, "style": "text", "opacity": 0.45},
        "encoding": {
            "x": x,
            "y": {**y, "field": "value", "title": str(title)},
            "size": size,
            "tooltip": tooltip,
        },
    }
    level = {
        "mark": {"type": "line", "strokeWidth": 2.5, "style": "accent"},
        "encoding": {
            "x": x,
            "y": {**y, "field": "level", "title": str(title)},
            "detail": {"field": "part", "type": "nominal"},
        },
    }
    return {
        "$schema": vega_lite.SCHEMA,
        "height": 260,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"name": "rows"},
        "layer": [_build_onset_range(alert, x), *_build_onset_marks(alert, x), points, level],
    }


def _build_onset_range(alert: Alert, x: vega_lite.Spec) -> vega_lite.Spec:
    """Return the layer that shades the days between which the change began."""
    until = alert.since_latest + datetime.timedelta(days=1)
    values = [{"start": alert.since_earliest.isoformat(), "until": until.isoformat()}]
    return {
        "data": {"values": values},
        "mark": {"type": "rect", "style": "faint", "opacity": 0.25},
        "encoding": {"x": x, "x2": {"field": "until"}},
    }


def _build_onset_marks(alert: Alert, x: vega_lite.Spec) -> list[vega_lite.Spec]:
    """Return the layers with a labeled rule at the onset and one at the day of detection."""
    marks = [(alert.since, _("since then")), (alert.detected_on, _("detected"))]
    data = {"values": [{"start": day.isoformat(), "words": words} for day, words in marks]}
    words = {"type": "text", "align": "left", "baseline": "top", "dx": 4, "dy": 2, "fontSize": 11}
    return [
        {
            "data": data,
            "mark": {"type": "rule", "strokeDash": [3, 3], "style": "text"},
            "encoding": {"x": x},
        },
        {
            "data": data,
            "mark": {**words, "style": "text"},
            "encoding": {"x": x, "y": {"value": 0}, "text": {"field": "words"}},
        },
    ]
