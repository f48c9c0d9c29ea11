"""Two raters over time: the points of their page and, in plain words, a drift of the one against
the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext as _

from metrics.scale import weighted
from projects.models import Rater

from . import slice_views, trends
from .figures import figure
from .moves import turn
from .pair_details import PairDetails
from .selection import Selection


@dataclass(frozen=True)
class PairParts:
    """What the page of a pair shows. ``waiting``: its course over time is still being computed."""

    details: PairDetails
    waiting: bool
    period: str
    points: list[trends.Point]  # the newest, as many as the table shows
    difference_points: list[trends.Point]
    older: int  # periods before these
    drift: str


def of(chosen: Selection, a: Rater, b: Rater, body: dict[str, Any] | None) -> PairParts:
    """The pair from the stored counts, its course (and under a filter everything) from ``body``."""
    if chosen.filter:
        k = chosen.scale.k
        table = np.array(body["table"] if body else np.zeros((k, k)), np.int64)
        details = PairDetails.from_table(table, chosen.scale)
    else:
        details = PairDetails.of(chosen.question, a, b, chosen.scale)
    trend = body["trend"] if body else {}
    period = chosen.period or slice_views.default_period(trend)
    points = slice_views.points(chosen, trend, period, weighted("cohen_kappa", chosen.weights))
    differences = (
        slice_views.points(chosen, trend, period, "mean_difference") if chosen.ordered else []
    )
    said = drift(a, b, differences)
    (points, older), (differences, _older) = trends.newest(points), trends.newest(differences)
    return PairParts(details, body is None, period, points, differences, older, said)


def drift(a: Rater, b: Rater, points: list[trends.Point]) -> str:
    """A sentence when the one clearly answers higher or lower against the other from some period
    on; else nothing."""
    found = turn(points)
    if found is None:
        return ""
    told = {
        "a": a.key,
        "b": b.key,
        "size": figure(abs(found.change)),
        "day": found.week.isoformat(),
    }
    if found.change < 0:
        return (
            _(
                "From %(day)s on, %(a)s answers %(size)s lower against %(b)s than before, on average."
            )
            % told
        )
    return (
        _("From %(day)s on, %(a)s answers %(size)s higher against %(b)s than before, on average.")
        % told
    )
