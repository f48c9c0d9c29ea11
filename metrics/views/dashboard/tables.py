"""The tables of a dashboard: what stands beside its number, and why that is as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metrics.agreement import registry
from metrics.agreement.headline import COHEN, FLEISS
from metrics.agreement.weights import WEIGHTINGS, weighted
from metrics.models import Reading
from metrics.results.pairs import pair_results
from metrics.views.common.selection import Selection
from metrics.views.common.sources.base import ProjectNumbers
from projects.models import Rater

TABLE_RATERS = 20  # a wider table cannot be read; the list of pairs stands in for it


def beside(chosen: Selection, reading: Reading | None) -> list[tuple[str, dict[str, Any]]]:
    """The coefficients that stand beside the headline, with their readings."""
    if reading is None:
        return []
    known = reading.told | reading.headline.get("values", {}) | reading.means
    names = [*reading.headline.get("beside", []), *registry.beside(chosen.scale.kind)]
    names.insert(0, weighted("fleiss_kappa", reading.headline.get("weights", "none")))
    names += [name for name in reading.headline.get("values", {}) if name not in names]
    names.append(weighted(registry.MEAN_BY_ITEMS, chosen.weights))
    first = chosen.asked or reading.headline.get("name")
    wanted = [name for name in dict.fromkeys(names) if name != first and name in known]
    # The mean over one pair is that pair's kappa again, with another interval.
    return [(name, known[name]) for name in wanted if known[name].get("n_pairs") != 1]


def sensitivity(
    reading: Reading | None, numbers: ProjectNumbers, raters: list[Rater]
) -> tuple[str, list[tuple[str, Mapping[str, Any]]]]:
    """A coefficient, and its readings under each weighting that the scale gives sense to: Cohen's
    kappa where that of two raters is read first, or else Fleiss'."""
    if reading is None:
        return FLEISS, []
    names = [(weights, weighted(FLEISS, weights)) for weights in WEIGHTINGS]
    found = [(weights, reading.told[name]) for weights, name in names if name in reading.told]
    if not reading.headline.get("name", "").startswith(COHEN):
        return FLEISS, found
    people = [rater for rater in raters if rater.kind == Rater.Kind.HUMAN]
    two = people if len(people) == 2 else raters
    return COHEN, [
        (weights, pair.reading)
        for weights, _reading in found
        for pair in numbers.pairs_among(two, weights)
    ]


def missing(chosen: Selection, reading: Reading | None, total: int) -> dict[str, Any]:
    """How many of ``total`` items have 0, 1, 2, ... ratings, and what each statistic leaves out."""
    details = reading.details if reading else {}
    by_ratings = {
        int(number): items
        for number, items in details.get("by_ratings", {}).items()
        if int(number) > 0
    }
    rated = sum(by_ratings.values())
    rows = [(number, by_ratings[number]) for number in sorted(by_ratings)]
    tail = rows[11:]
    if tail:
        rows = rows[:11]
    unrated = max(total - rated, 0)
    return {
        "total": total,
        "rated": rated,
        "unrated": unrated,
        "single": by_ratings.get(1, 0),
        "pairable": details.get("with_two_or_more", 0),
        "enough": sum(
            items for number, items in by_ratings.items() if number >= chosen.project.overlap
        ),
        "rows": [(0, unrated), *rows] if unrated else rows,
        "more_from": tail[0][0] if tail else None,
        "more": sum(items for _number, items in tail),
        "uneven": len([number for number in by_ratings if number >= 2]) > 1,
    }


def matrix_rows(
    raters: list[Rater], matrix: list[pair_results.Pair]
) -> list[tuple[Rater, list[pair_results.Pair | None]]]:
    """The pairs as a square table: a row a rater, None where two share no item. Empty when it would
    be too wide."""
    if len(raters) > TABLE_RATERS:
        return []
    found = {(pair.rater_a.pk, pair.rater_b.pk): pair for pair in matrix}
    return [
        (
            row,
            [found.get((row.pk, column.pk)) or found.get((column.pk, row.pk)) for column in raters],
        )
        for row in raters
    ]
