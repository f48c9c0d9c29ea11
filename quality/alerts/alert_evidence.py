"""Evidence for an alert: its chart, the rater's most deviating ratings, and use of categories."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.text import lower_first
from metrics.question_scale import QuestionScale
from metrics.views.common import vega_lite
from projects.models import Item, Rater
from quality.models import Alert, AlertMeasure
from ratings.models import Rating
from ratings.services.rating_timestamps import EPOCH

MAX_RATINGS_READ = 1_000  # newest ratings of the rater since the onset
MAX_RATINGS_SHOWN = 20


@dataclass(frozen=True)
class DeviatingRating:
    """A rating that deviates from other people's ratings of the same item.

    ``distance``: on ordered scales the number of categories to the mean of the others, else
    the share of the others who chose another category.
    """

    item: Item
    day: datetime.date
    label: str
    other_labels: list[str]
    distance: float


@dataclass(frozen=True)
class CategoryUse:
    """Share of a category in the rater's ratings before and since the onset."""

    label: str
    before: float
    since: float

    @property
    def difference(self) -> float:
        """The share since the onset minus the share before it."""
        return self.since - self.before


def list_deviating_ratings(alert: Alert, scale: QuestionScale) -> list[DeviatingRating]:
    """Return the rater's ratings since the onset that deviate from others', largest distance first.

    Reads the newest MAX_RATINGS_READ ratings and returns at most MAX_RATINGS_SHOWN.
    """
    since = (alert.since - EPOCH).days
    own_ratings = (
        Rating.objects.current()
        .filter(question=alert.question_id, rater=alert.rater_id, day__gte=since)
        .order_by("-day", "-pk")
        .values_list("item_id", "code", "day")[:MAX_RATINGS_READ]
    )
    rows = list(own_ratings)
    codes_of_others = _get_codes_of_others(alert, [row[0] for row in rows])
    largest = _sort_by_distance(rows, codes_of_others, scale)[:MAX_RATINGS_SHOWN]
    items = Item.objects.in_bulk([item_id for _distance, item_id, *_row in largest])
    return [
        DeviatingRating(
            item=items[item_id],
            day=EPOCH + datetime.timedelta(days=day),
            label=scale.labels[index],
            other_labels=[scale.labels[other_index] for other_index in other_indexes],
            distance=distance,
        )
        for distance, item_id, day, index, other_indexes in largest
        if item_id in items  # else it was deleted meanwhile
    ]


def _sort_by_distance(
    rows: Sequence[tuple[int, int, int]],
    codes_of_others: Mapping[int, Sequence[int]],
    scale: QuestionScale,
) -> list[tuple[float, int, int, int, list[int]]]:
    """Return (distance, item id, day, index, indexes of others) of the ratings that deviate.

    ``rows``: (item id, code, day) of the rater's ratings; ``codes_of_others``: {item id: codes}.
    Indexes are those of declared categories. The largest distance comes first.
    """
    index_of_code = {int(code): index for index, code in enumerate(scale.codes)}
    deviating = []
    for item_id, code, day in rows:
        other_indexes = [
            index_of_code[other_code]
            for other_code in codes_of_others.get(item_id, [])
            if other_code in index_of_code
        ]
        if code not in index_of_code or not other_indexes:
            continue
        index = index_of_code[code]
        distance = _compute_distance(index, other_indexes, ordered=scale.type.ordered)
        if distance > 0:
            deviating.append((distance, item_id, day, index, sorted(other_indexes)))
    return sorted(deviating, key=lambda row: -row[0])


def _get_codes_of_others(alert: Alert, item_ids: list[int]) -> dict[int, list[int]]:
    """Return {item id: codes of the current ratings by other people}."""
    rows = (
        Rating.objects.current()
        .filter(question=alert.question_id, item__in=item_ids, rater__kind=Rater.Kind.HUMAN)
        .exclude(rater=alert.rater_id)
    )
    codes_by_item: dict[int, list[int]] = defaultdict(list)
    for item_id, code in rows.values_list("item_id", "code"):
        codes_by_item[item_id].append(code)
    return codes_by_item


def _compute_distance(own_index: int, other_indexes: list[int], *, ordered: bool) -> float:
    """Return the distance of a category index from those of others (see DeviatingRating)."""
    if ordered:
        return abs(own_index - sum(other_indexes) / len(other_indexes))
    return sum(other_index != own_index for other_index in other_indexes) / len(other_indexes)


def compute_category_use(alert: Alert, scale: QuestionScale) -> list[CategoryUse]:
    """Return the rater's use of each category before and since the onset.

    Covers the days of the alert's chart. Empty where either part has no rating.
    """
    days = alert.chart.get("days", [])
    if not days:
        return []
    since = (alert.since - EPOCH).days
    rows = Rating.objects.current().filter(
        question=alert.question_id, rater=alert.rater_id, day__gte=days[0], day__lte=days[-1]
    )
    counts_before: dict[int, int] = defaultdict(int)
    counts_since: dict[int, int] = defaultdict(int)
    for code, day in rows.values_list("code", "day"):
        if day < since:
            counts_before[code] += 1
        else:
            counts_since[code] += 1
    n_before, n_after = sum(counts_before.values()), sum(counts_since.values())
    if not n_before or not n_after:
        return []
    return [
        CategoryUse(label, counts_before[int(code)] / n_before, counts_since[int(code)] / n_after)
        for code, label in zip(scale.codes, scale.labels, strict=True)
    ]


Rows = list[vega_lite.Row]

_TITLES: dict[str, Promise] = {
    AlertMeasure.BIAS: gettext_lazy("bias relative to the others"),
    AlertMeasure.AGREEMENT: gettext_lazy("agreement (kappa)"),
}


def list_chart_rows(alert: Alert) -> Rows:
    """Return a row per day or week of the alert's chart.

    Each has its start, value, number of items n, part (before or since the onset), and the mean of
    that part.
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
    """Return the mean of the days before or since the onset, weighted by items; None without any.

    ``days``: (day, number of items, mean); ``since``: the day of the onset.
    """
    points = [(n, mean) for day, n, mean in days if (day < since) == (part == "before")]
    n_items = sum(n for n, _mean in points)
    return sum(n * mean for n, mean in points) / n_items if n_items else None


def build_spec(alert: Alert) -> vega_lite.Spec:
    """Return the Vega-Lite specification of the chart of an alert.

    It shows the rows of list_chart_rows, the mean before and since the onset, the range of the
    onset and the day of detection.
    """
    bias = alert.measure == AlertMeasure.BIAS
    title = _TITLES.get(alert.measure) or alert.get_measure_display()
    x = vega_lite.build_time_axis("day")
    y: vega_lite.Spec = {"type": "quantitative", "scale": {"zero": bias}}
    tooltip = [
        vega_lite.build_field("start", "temporal", _("day"), format="%Y-%m-%d"),
        vega_lite.build_decimal_field("value", lower_first(_("Mean"))),
        vega_lite.build_count_field("n", _("items")),
    ]
    scale = {"range": [12, 160]}
    size = vega_lite.build_field("n", "quantitative", _("items"), scale=scale, legend=None)
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
    onset = [_build_onset_range(alert, x), *_build_onset_marks(alert, x)]
    return vega_lite.build_chart(260, layer=[*onset, points, level])


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
    marks = [(alert.since, lower_first(_("Since then"))), (alert.detected_on, _("detected"))]
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
