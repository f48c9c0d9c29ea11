"""What a project's dashboard shows, read from one source."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from metrics.agreement import registry
from metrics.agreement.weights import WEIGHTINGS
from metrics.models import Reading
from metrics.readings import pairs
from metrics.scale import headlines, weighted
from projects.models import Rater

from . import charts
from .live import Live
from .rater_table import rater_table
from .selection import Selection
from .sources.source import ProjectNumbers

TABLE_RATERS = 20  # a wider table cannot be read; the list of pairs stands in for it

LIVE = Live(
    seconds=1,
    summary=True,
    fragments=(
        "headline",
        "missing",
        "trend-table",
        "pairs-table",
        "raters",
        "categories",
        "disputes",
        "sensitivity",
    ),
)


def context(request: HttpRequest, chosen: Selection, numbers: ProjectNumbers) -> dict[str, Any]:
    """Everything that the dashboard shows below its head."""
    reading = numbers.reading
    course = numbers.newest_course(chosen.coefficient)
    raters = numbers.heat_map_raters()
    matrix = numbers.pairs_among(raters)
    table = rater_table(request, chosen, numbers)
    (points,) = course.lines
    has_pairs = bool(matrix)
    return {
        "reading": reading,
        "headline": reading and reading.coefficients.get(chosen.coefficient),
        "headlines": headlines(chosen.scale),
        "moves": numbers.moves(raters),
        "findings": numbers.findings(raters),
        "beside": beside(chosen, reading),
        "missing": missing(chosen, reading, numbers.n_items()),
        "period": course.period,
        "points": points,
        "older": course.older,
        "matrix_raters": raters,
        "matrix_size": charts.matrix_height(len(raters))[0],
        "pairwise_name": weighted(registry.MEAN_PAIRWISE, chosen.weights),
        "matrix": matrix_rows(raters, matrix),
        "has_pairs": has_pairs,
        # The charts that the page has a place for; when others are there, the page is loaded anew.
        "places": f"{'trend' if points else ''}-{len(raters) if has_pairs else ''}",
        "n_raters": table.n_raters,
        "rater_page": table,
        "disputes": numbers.disputes(),
        "sensitivity": sensitivity(chosen, reading),
    }


def beside(chosen: Selection, reading: Reading | None) -> list[tuple[str, dict[str, Any]]]:
    """The coefficients that stand beside the headline, with their readings."""
    if reading is None:
        return []
    names = registry.beside(chosen.scale.kind)
    names.append(weighted(registry.MEAN_PAIRWISE, chosen.weights))
    wanted = [name for name in names if name != chosen.coefficient]
    return [(name, reading.coefficients[name]) for name in wanted if name in reading.coefficients]


def sensitivity(chosen: Selection, reading: Reading | None) -> list[tuple[str, dict[str, Any]]]:
    """Fleiss' kappa under each weighting that the scale gives sense to."""
    if reading is None:
        return []
    names = [(weights, weighted("fleiss_kappa", weights)) for weights in WEIGHTINGS]
    return [
        (weights, reading.coefficients[name])
        for weights, name in names
        if name in reading.coefficients
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
    raters: list[Rater], matrix: list[pairs.Pair]
) -> list[tuple[Rater, list[pairs.Pair | None]]]:
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
