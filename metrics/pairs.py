"""Pairs of raters as the pages show them: stored kappas, and readings of the pairs on a page from their tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Q

from projects.models import Question, Rater

from . import stores
from .agreement import cohen
from .models import PairTally, RaterReading, Span
from .scales import QuestionScale

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


def busiest_raters(question: Question, limit: int = SHOWN_RATERS) -> tuple[list[Rater], int]:
    """The raters with the most ratings, by key, and how many raters have any."""
    rows = RaterReading.objects.filter(question=question, span=Span.ALL)
    chosen = rows.order_by("-n_ratings", "rater_id").select_related("rater").only("rater")[:limit]
    return sorted((row.rater for row in chosen), key=lambda rater: natural(rater.key)), rows.count()


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


def stored_among(question: Question, raters: list[Rater]) -> list[PairTally]:
    """All stored pairs among these raters."""
    ids = [rater.pk for rater in raters]
    return list(PairTally.objects.filter(question=question, rater_a__in=ids, rater_b__in=ids))


def among(rows: list[PairTally], raters: list[Rater], scale: QuestionScale, weights: str) -> list[Pair]:
    """Stored pairs among these raters with whole readings."""
    return _read(rows, {rater.pk: rater for rater in raters}, scale, weights)


def with_rater(question: Question, rater: Rater, scale: QuestionScale, weights: str) -> list[Pair]:
    """The 100 pairs of one rater with the most items in common; the rater stands first."""
    rows = PairTally.objects.filter(question=question).filter(Q(rater_a=rater) | Q(rater_b=rater))
    pairs = read_page(rows.order_by("-n_items", "rater_a_id", "rater_b_id")[:100], scale, weights)
    return [
        pair if pair.rater_a.pk == rater.pk else Pair(pair.rater_b, pair.rater_a, pair.reading, pair.n_items)
        for pair in pairs
    ]


def listed(question: Question, weights: str, sort: str) -> list[int]:
    """Ids of the LISTED pairs with the most items in common, by these or by kappa; undefined ones last.

    Of half a million pairs those with the lowest and the highest kappa share two items by chance: a list of them would
    cost a sort of all and say nothing.
    """
    pairs = PairTally.objects.filter(question=question).order_by("-n_items", "rater_a_id", "rater_b_id")
    if sort in ("items", "-items"):
        ids = list(pairs.values_list("pk", flat=True)[:LISTED])
        return ids if sort == "-items" else ids[::-1]
    rows = list(pairs.values_list("pk", f"kappa_{weights}")[:LISTED])
    sign = -1 if sort.startswith("-") else 1
    return [pk for pk, kappa in sorted(rows, key=lambda row: (row[1] is None, sign * (row[1] or 0.0)))]


def read_listed(ids: Sequence[int], scale: QuestionScale, weights: str) -> list[Pair]:
    """The pairs of these ids, in their order; one that went meanwhile is left out."""
    found = PairTally.objects.in_bulk(ids)
    return read_page([found[pk] for pk in ids if pk in found], scale, weights)


def read_page(rows: Iterable[PairTally], scale: QuestionScale, weights: str) -> list[Pair]:
    """The pairs of one page, their raters fetched with them."""
    found = list(rows)
    ids = {row.rater_a_id for row in found} | {row.rater_b_id for row in found}
    return _read(found, Rater.objects.in_bulk(ids), scale, weights)


def _read(found: list[PairTally], raters: dict[int, Rater], scale: QuestionScale, weights: str) -> list[Pair]:
    if not found:
        return []
    tables = np.stack([stored_table(row, scale) for row in found])
    estimate = cohen.kappa(tables, scale.weightings()[weights])
    return [
        Pair(raters[row.rater_a_id], raters[row.rater_b_id], estimate.reading((index,)), row.n_items)
        for index, row in enumerate(found)
    ]


def stored_table(row: PairTally, scale: QuestionScale) -> np.ndarray:
    """The (k, k) table of a pair in declared order, rater a in rows."""
    table = stores.widened(stores.array(row.table, row.width, row.width), scale.width)
    return scale.ordered(table, axes=2)
