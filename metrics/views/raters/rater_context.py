"""One rater: what the page shows, and how the own use of the categories differs from the peers' on
the same items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.models import RaterReading
from metrics.scale import QuestionScale, weighted
from metrics.views.common.live_updates import Live
from metrics.views.common.selection import Selection
from metrics.views.common.sources.base import RaterNumbers
from metrics.views.common.trends import trend_points

LIVE = Live(
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


def context(chosen: Selection, numbers: RaterNumbers) -> dict[str, Any]:
    """What the source says of the rater."""
    whole = numbers.whole
    course = numbers.newest_course(chosen.vs_peers, "vs_peers_bias")
    points, bias_points = course.lines
    use = category_use(whole, chosen.scale)
    pairwise = weighted(MEAN_PAIRWISE, chosen.weights)
    drawn, bias_drawn = trend_points.is_drawn(points), trend_points.is_drawn(bias_points)
    shown = (numbers.waiting, bool(whole), drawn, bias_drawn, bool(use))
    return {
        "whole": whole,
        "waiting": numbers.waiting,
        "period": course.period,
        "points": points,
        "is_drawn": drawn,
        "bias_is_drawn": bias_drawn,
        "bias_points": bias_points,
        "older": course.older,
        "pairs": numbers.pairs(),
        "places": "-".join(str(there) for there in shown),
        "peers": whole and whole.coefficients.get(chosen.vs_peers),
        "pairwise_name": pairwise,
        "pairwise": whole and whole.coefficients.get(pairwise),
        "use": use,
        "confusion": list(zip(chosen.scale.labels, table_of(whole), strict=False)),
        "column_sums": [sum(column) for column in zip(*table_of(whole), strict=True)],
    }


def table_of(whole: RaterReading | None) -> list[list[int]]:
    """The rater's categories by those of the peers on the same items; empty without a rating."""
    return whole.details.get("table", []) if whole else []


@dataclass(frozen=True)
class CategoryUse:
    """Shares of the rater's and of the peers' side of the table."""

    label: str
    own: float
    peers: float

    @property
    def difference(self) -> float:
        return self.own - self.peers


def category_use(whole: RaterReading | None, scale: QuestionScale) -> list[CategoryUse]:
    """How often the rater and the peers choose each category on the items they share; empty without
    such items."""
    table = np.array(table_of(whole), np.int64)
    total = table.sum()
    if not total:
        return []
    own = (table.sum(axis=1) / total).tolist()
    peers = (table.sum(axis=0) / total).tolist()
    rows = zip(scale.labels, own, peers, strict=True)
    return [CategoryUse(*row) for row in rows]
