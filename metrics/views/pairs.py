"""Template context of the page of two raters."""

from __future__ import annotations

from django.utils.translation import gettext as _

from metrics.results.clusters import QuestionClusters
from metrics.results.pairs.pair_details import PairDetails
from metrics.scale import get_weighted_name
from metrics.views.common.live_updates import LiveSettings
from metrics.views.common.number_formats import format_number
from metrics.views.common.selection import Selection
from metrics.views.common.sources.base import PairSource
from metrics.views.common.trends.recent_changes import find_level_shift
from metrics.views.common.trends.trend_points import TrendPoint, is_drawable, limit_to_table
from projects.models import Rater

LIVE = LiveSettings(
    seconds=2,
    fragments=(
        "pair-title",
        "pair-table-table",
        "kappas",
        "tests",
        "others",
        "drift",
        "pair-trend-table",
        "pair-difference-table",
        "differing",
    ),
)


def build_context(
    selection: Selection, a: Rater, b: Rater, source: PairSource
) -> dict[str, object]:
    """Return what the source knows of the pair. The trend may be pending while the table is not."""
    clusters = QuestionClusters.load(selection.question.pk, selection.project)
    details = PairDetails.from_table(source.get_table(), selection.scale, clusters)
    names = [get_weighted_name("cohen_kappa", selection.weights)]
    if selection.ordered:
        names.append("mean_difference")
    trend = source.get_trend(*names)
    points, n_older = limit_to_table(trend.lines[0])
    all_differences = trend.lines[1] if selection.ordered else []
    differences, _n_older = limit_to_table(all_differences)
    can_draw = is_drawable(points)
    return {
        "details": details,
        "pending": source.pending,
        "period": trend.period,
        "points": points,
        "is_drawn": can_draw,
        "differences_are_drawn": is_drawable(differences),
        "difference_points": differences,
        "older": n_older,
        "drift": describe_drift(a, b, all_differences),
        "fragment_key": f"{source.pending}-{bool(details.n_items)}-{bool(points)}-{can_draw}",
        "confusion": list(zip(selection.scale.labels, details.table.tolist(), strict=True)),
        "column_sums": [sum(column) for column in zip(*details.table.tolist(), strict=True)],
    }


def describe_drift(a: Rater, b: Rater, points: list[TrendPoint]) -> str:
    """Return a sentence on a clear level shift between the two raters; empty if there is none."""
    shift = find_level_shift(points)
    if shift is None:
        return ""
    params = {
        "a": a.key,
        "b": b.key,
        "size": format_number(abs(shift.change)),
        "day": shift.start.isoformat(),
    }
    if shift.change < 0:
        text = _("Since %(day)s, %(a)s has answered %(size)s lower relative to %(b)s, on average.")
    else:
        text = _("Since %(day)s, %(a)s has answered %(size)s higher relative to %(b)s, on average.")
    return text % params
