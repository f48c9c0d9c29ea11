"""Template context of the page of a rater."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.question_scale import QuestionScale, get_weighted_name
from metrics.results.rater_results import RaterAgreement
from metrics.views.common.live_updates import LiveSettings
from metrics.views.common.selection import Selection
from metrics.views.common.sources.base import RaterSource
from metrics.views.common.trends import trend_points

LIVE = LiveSettings(
    seconds=2,
    fragments=(
        "stats",
        "rater-trend-table",
        "rater-bias-table",
        "rater-confusion-table",
        "use",
        "rater-pairs",
        "differences",
    ),
)


def build_context(selection: Selection, source: RaterSource) -> dict[str, object]:
    """Return the template context of a rater's page from the source."""
    result = source.agreement
    trend = source.get_table_trend(selection.vs_peers, "vs_peers_bias")
    points, bias_points = trend.lines
    use_rows = compute_category_use(result, selection.scale)
    pairwise = get_weighted_name(MEAN_PAIRWISE, selection.weights)
    can_draw = trend_points.is_drawable(points)
    can_draw_bias = trend_points.is_drawable(bias_points)
    parts_shown = (source.pending, bool(result), can_draw, can_draw_bias, bool(use_rows))
    return {
        "whole": result,
        "pending": source.pending,
        "period": trend.period,
        "points": points,
        "is_drawn": can_draw,
        "bias_is_drawn": can_draw_bias,
        "bias_points": bias_points,
        "older": trend.n_older,
        "pairs": source.list_pairs(),
        "fragment_key": "-".join(str(is_there) for is_there in parts_shown),
        "peers": result and result.coefficients.get(selection.vs_peers),
        "pairwise_name": pairwise,
        "pairwise": result and result.coefficients.get(pairwise),
        "use": use_rows,
        "confusion": list(zip(selection.scale.labels, get_confusion_table(result), strict=False)),
        "column_sums": [sum(column) for column in zip(*get_confusion_table(result), strict=True)],
    }


def get_confusion_table(agreement: RaterAgreement | None) -> list[list[int]]:
    """Return the table of the rater's categories by those of the peers on the same items.

    Empty without ratings.
    """
    return agreement.table if agreement else []


@dataclass(frozen=True)
class CategoryUse:
    """Shares of a category in the rater's and in the peers' ratings of the shared items."""

    label: str
    own: float
    peers: float

    @property
    def difference(self) -> float:
        return self.own - self.peers


def compute_category_use(
    agreement: RaterAgreement | None, scale: QuestionScale
) -> list[CategoryUse]:
    """Return how often the rater and the peers choose each category on shared items.

    Empty without shared items.
    """
    table = np.array(get_confusion_table(agreement), np.int64)
    total = table.sum()
    if not total:
        return []
    own = (table.sum(axis=1) / total).tolist()
    peers = (table.sum(axis=0) / total).tolist()
    rows = zip(scale.labels, own, peers, strict=True)
    return [CategoryUse(*row) for row in rows]
