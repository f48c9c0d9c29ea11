"""Two raters: what the page shows and, in plain words, a drift of the one against the other."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from metrics.results.pairs.pair_details import PairDetails
from metrics.scale import weighted
from metrics.views.common.live_updates import Live
from metrics.views.common.number_formats import figure
from metrics.views.common.selection import Selection
from metrics.views.common.sources.base import PairNumbers
from metrics.views.common.trends.recent_changes import turn
from metrics.views.common.trends.trend_points import Point, is_drawn, newest
from projects.models import Rater

LIVE = Live(
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


def context(chosen: Selection, a: Rater, b: Rater, numbers: PairNumbers) -> dict[str, Any]:
    """What the source says of the pair. The course may still be waited for, the table not."""
    details = PairDetails.from_table(numbers.table(), chosen.scale)
    names = [weighted("cohen_kappa", chosen.weights)]
    if chosen.ordered:
        names.append("mean_difference")
    course = numbers.course(*names)
    points, older = newest(course.lines[0])
    all_differences = course.lines[1] if chosen.ordered else []
    differences, _older = newest(all_differences)
    drawn = is_drawn(points)
    return {
        "details": details,
        "waiting": numbers.waiting,
        "period": course.period,
        "points": points,
        "is_drawn": drawn,
        "differences_are_drawn": is_drawn(differences),
        "difference_points": differences,
        "older": older,
        "drift": drift(a, b, all_differences),
        "places": f"{numbers.waiting}-{bool(details.n_items)}-{bool(points)}-{drawn}",
        "confusion": list(zip(chosen.scale.labels, details.table.tolist(), strict=True)),
        "column_sums": [sum(column) for column in zip(*details.table.tolist(), strict=True)],
    }


def drift(a: Rater, b: Rater, points: list[Point]) -> str:
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
        text = _(
            "From %(day)s on, %(a)s answers %(size)s lower against %(b)s than before, on average."
        )
    else:
        text = _(
            "From %(day)s on, %(a)s answers %(size)s higher against %(b)s than before, on average."
        )
    return text % told
