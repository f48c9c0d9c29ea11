"""Pairs of raters as the pages show them: stored kappas, and readings of the pairs on a page from
their tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Q

from metrics.agreement.coefficients import cohen
from metrics.agreement.counts.tally import PairTables
from metrics.counting import store
from metrics.models import PairTally, RaterReading, Span
from metrics.scale import QuestionScale
from projects.models import Question, Rater

SHOWN_RATERS = 40  # a heat map of more cannot be read
LISTED = 10_000  # pairs on the pages of the list; the API has all
WIDE = 0.4  # an interval wider than this is faded


@dataclass(frozen=True)
class Pair:
    """Two raters, and a READING of their kappa under the weighting of the page."""

    rater_a: Rater
    rater_b: Rater
    reading: dict[str, Any]
    n_items: int

    @property
    def wide(self) -> bool:
        low, high = self.reading["low"], self.reading["high"]
        return low is None or high is None or high - low > WIDE


def busiest_raters(question: Question, limit: int = SHOWN_RATERS) -> list[Rater]:
    """The raters with the most ratings, by key."""
    rows = RaterReading.objects.filter(question=question, span=Span.ALL)
    chosen = rows.order_by("-n_ratings", "rater_id").select_related("rater").only("rater")[:limit]
    return sorted((row.rater for row in chosen), key=lambda rater: natural(rater.key))


def natural(key: str) -> tuple[Any, ...]:
    """Sorts "rater2" before "rater10"."""
    parts: list[Any] = []
    number = ""
    for sign in key + "\0":
        if sign.isascii() and sign.isdigit():
            number += sign
            continue
        if number:
            parts.append((0, int(number), ""))
            number = ""
        parts.append((1, 0, sign))
    return tuple(parts)


def stored_among(question: Question, raters: list[Rater], scale: QuestionScale) -> PairTables:
    """The tables of all pairs among these raters that share an item, in declared order of the
    categories."""
    ids = [rater.pk for rater in raters]
    rows = PairTally.objects.filter(question=question, rater_a__in=ids, rater_b__in=ids)
    found = list(
        rows.order_by("rater_a_id", "rater_b_id").values_list(
            "rater_a_id", "rater_b_id", "width", "table"
        )
    )
    a, b = np.array([row[:2] for row in found], np.int64).reshape(-1, 2).T
    return PairTables(a, b, declared([row[2:] for row in found], scale))


def among(
    stored: PairTables, raters: list[Rater], scale: QuestionScale, weights: str
) -> list[Pair]:
    """Stored pairs among these raters with whole readings."""
    ends = zip(stored.rater_a.tolist(), stored.rater_b.tolist(), strict=True)
    return _read(
        list(ends),
        stored.tables,
        {rater.pk: rater for rater in raters},
        scale=scale,
        weights=weights,
    )


def with_rater(question: Question, rater: Rater, scale: QuestionScale, weights: str) -> list[Pair]:
    """The 100 pairs of one rater with the most items in common; the rater stands first."""
    rows = PairTally.objects.filter(question=question).filter(Q(rater_a=rater) | Q(rater_b=rater))
    pairs = read_page(rows.order_by("-n_items", "rater_a_id", "rater_b_id")[:100], scale, weights)
    return [
        pair
        if pair.rater_a.pk == rater.pk
        else Pair(pair.rater_b, pair.rater_a, pair.reading, pair.n_items)
        for pair in pairs
    ]


def listed(question: Question, weights: str, sort: str) -> list[int]:
    """Ids of the LISTED pairs with the most items in common, by these or by kappa; undefined ones
    last.

    Of half a million pairs those with the lowest and the highest kappa share two items by chance: a
    list of them would cost a sort of all and say nothing.
    """
    pairs = PairTally.objects.filter(question=question).order_by(
        "-n_items", "rater_a_id", "rater_b_id"
    )
    if sort in ("items", "-items"):
        ids = list(pairs.values_list("pk", flat=True)[:LISTED])
        return ids if sort == "-items" else ids[::-1]
    rows = list(pairs.values_list("pk", f"kappa_{weights}")[:LISTED])
    # NaN where undefined, which argsort puts last
    kappa = np.array([row[1] for row in rows], float)
    order = np.argsort(-kappa if sort.startswith("-") else kappa, kind="stable")
    return [rows[place][0] for place in order.tolist()]


def read_listed(ids: Sequence[int], scale: QuestionScale, weights: str) -> list[Pair]:
    """The pairs of these ids, in their order; one that went meanwhile is left out."""
    found = PairTally.objects.in_bulk(ids)
    return read_page([found[pk] for pk in ids if pk in found], scale, weights)


def read_page(rows: Iterable[PairTally], scale: QuestionScale, weights: str) -> list[Pair]:
    """The pairs of one page, their raters fetched with them."""
    found = list(rows)
    ends = [(row.rater_a_id, row.rater_b_id) for row in found]
    raters = Rater.objects.in_bulk({rater for pair in ends for rater in pair})
    tables = declared([(row.width, row.table) for row in found], scale)
    return _read(ends, tables, raters, scale=scale, weights=weights)


def _read(
    ends: list[tuple[int, int]],
    tables: np.ndarray,
    raters: dict[int, Rater],
    *,
    scale: QuestionScale,
    weights: str,
) -> list[Pair]:
    """Pairs by the ids of their raters, with their tables (P, k, k) in declared order."""
    readings = cohen.kappa(tables, scale.weightings()[weights]).readings()
    n_items = tables.sum(axis=(1, 2)).tolist()
    return [
        Pair(raters[a], raters[b], reading, n)
        for (a, b), reading, n in zip(ends, readings, n_items, strict=True)
    ]


def declared(rows: Sequence[tuple[int, bytes | memoryview]], scale: QuestionScale) -> np.ndarray:
    """Stored (width, table) of P pairs -> (P, k, k) in declared order, rater a in rows."""
    widths, tables = [row[0] for row in rows], [row[1] for row in rows]
    return scale.ordered(store.stacked(tables, widths, scale.width, axes=2), axes=2)
