"""One rater: the parts of the page, and how the own use of the categories differs from the peers'
on the same items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.models import RaterReading, Span
from metrics.readings import pairs
from metrics.scale import QuestionScale
from projects.models import Rater

from . import slice_views, trends
from .dashboard import Freshness
from .selection import Selection


@dataclass(frozen=True)
class RaterParts:
    """What the page of a rater shows, of all ratings or of some. ``waiting``: a worker is still to
    compute it."""

    whole: RaterReading | None
    waiting: bool
    period: str
    points: list[trends.Point]  # the newest, as many as the table shows
    bias_points: list[trends.Point]
    older: int  # periods before these
    pairs: list[pairs.Pair]


def of(chosen: Selection, rater: Rater, fresh: Freshness) -> RaterParts:
    """The parts from the stored readings, or from the slice of a filtered page."""
    names = (chosen.vs_peers, "vs_peers_bias")
    if isinstance(fresh, slice_views.SliceFreshness):
        body = fresh.row.body
        trend = body["trend"] if body else {}
        period = chosen.period or slice_views.default_period(trend)
        whole = slice_views.rater_reading(chosen, rater, body)
        (points, older), (bias, _older) = (
            trends.newest(slice_views.points(chosen, trend, period, name)) for name in names
        )
        shown = slice_views.pairs_of(rater, body, chosen.weights)
        return RaterParts(whole, body is None, period, points, bias, older, shown)
    question = chosen.question
    period = chosen.period or trends.rater_period(question, rater)
    (points, bias), older = trends.rater_tables(question, rater, period, *names, scale=chosen.scale)
    whole = RaterReading.objects.filter(question=question, rater=rater, span=Span.ALL).first()
    shown = pairs.with_rater(question, rater, chosen.weights)
    return RaterParts(whole, False, period, points, bias, older, shown)


@dataclass(frozen=True)
class CategoryUse:
    label: str
    own: float  # share of the rater's side of the peer table
    peers: float

    @property
    def difference(self) -> float:
        return self.own - self.peers


def category_use(whole: RaterReading | None, scale: QuestionScale) -> list[CategoryUse]:
    """How often the rater and the peers choose each category on the items they share; empty without
    such items."""
    table = np.array(whole.details.get("table", []) if whole else [], np.int64)
    total = table.sum()
    if not total:
        return []
    own, peers = table.sum(axis=1) / total, table.sum(axis=0) / total
    return [
        CategoryUse(*row) for row in zip(scale.labels, own.tolist(), peers.tolist(), strict=True)
    ]
