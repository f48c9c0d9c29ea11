"""Pairs of raters as the pages show them: their stored kappas with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Q, QuerySet

from metrics.agreement.counts.tally import PairTables
from metrics.counting import store
from metrics.models import PairTally, RaterReading, number_at
from metrics.scale import QuestionScale
from projects.models import Question, Rater

SHOWN_RATERS = 40  # a heat map of more cannot be read
PAIRS_OF_A_RATER = 100  # on the rater's page
LISTED = 10_000  # pairs on the pages of the list; the API has all
LEAST_ITEMS = 30  # compared items below which nobody is among the highest or the lowest
WIDE = 0.4  # an interval wider than this is not sure,
FEW_ITEMS = 10  # nor are fewer items, of which the interval may be a point


@dataclass(frozen=True)
class Pair:
    """Two raters, and what is kept of their kappa under the weighting of the page."""

    rater_a: Rater
    rater_b: Rater
    reading: Mapping[str, Any]
    n_items: int

    @classmethod
    def of(cls, rater_a: Rater, rater_b: Rater, kappa: Sequence[Any], n_items: int) -> Pair:
        """``kappa``: its value, low, high and reason."""
        value, low, high, reason = kappa
        reading = {
            "value": value,
            "low": low,
            "high": high,
            "reason": reason,
            "n_items": n_items,
            "n_ratings": 2 * n_items,
        }
        return cls(rater_a, rater_b, reading, n_items)

    @property
    def wide(self) -> bool:
        """Whether too little is known to draw the eye."""
        low, high = self.reading["low"], self.reading["high"]
        return self.n_items < FEW_ITEMS or low is None or high is None or high - low > WIDE


def busiest(question_id: int) -> QuerySet[RaterReading]:
    """The readings of the SHOWN_RATERS raters with the most ratings."""
    rows = RaterReading.objects.filter(question=question_id)
    return rows.order_by("-n_ratings", "rater_id")[:SHOWN_RATERS]


def busiest_raters(question_id: int) -> list[Rater]:
    """The raters with the most ratings, by key."""
    rows = busiest(question_id).select_related("rater").only("rater")
    return sorted((row.rater for row in rows), key=lambda rater: natural(rater.key))


def extreme_raters(question_id: int, name: str, *, lowest: bool) -> list[Rater]:
    """The SHOWN_RATERS raters who agree the most or the least with the others, by the coefficient
    ``name``, of those who can be told."""
    rows = RaterReading.objects.filter(question=question_id).annotate(
        value=number_at(f"coefficients__{name}__value"),
        n=number_at(f"coefficients__{name}__n_items"),
    )
    known = rows.filter(n__gte=LEAST_ITEMS, value__isnull=False)
    order = "value" if lowest else "-value"
    known = known.order_by(order, "rater_id").select_related("rater").only("rater")
    return [row.rater for row in known[:SHOWN_RATERS]]


def by_agreement(raters: Sequence[Rater], among: Sequence[Pair]) -> list[Rater]:
    """Raters by the mean of their kappas among these pairs, weighted by items, the highest first:
    who is apart stands at the end. Without a kappa last; equals by key."""
    sums: dict[int, list[float]] = {rater.pk: [0.0, 0.0] for rater in raters}
    for pair in among:
        if pair.reading["value"] is None:
            continue
        for rater in (pair.rater_a, pair.rater_b):
            sums[rater.pk][0] += pair.n_items * pair.reading["value"]
            sums[rater.pk][1] += pair.n_items

    def place(rater: Rater) -> tuple[float, Any]:
        total, items = sums[rater.pk]
        return (-total / items if items else 2.0, natural(rater.key))

    return sorted(raters, key=place)


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


def tables_among(question_id: int, raters: Sequence[int], scale: QuestionScale) -> PairTables:
    """The tables of all pairs among these raters that share an item, in declared order of the
    categories."""
    rows = among_rows(question_id, raters).order_by("rater_a_id", "rater_b_id")
    found = list(rows.values_list("rater_a_id", "rater_b_id", "width", "table"))
    a, b = np.array([row[:2] for row in found], np.int64).reshape(-1, 2).T
    return PairTables(a, b, declared([row[2:] for row in found], scale))


def among_rows(question_id: int, raters: Sequence[int]) -> QuerySet[PairTally]:
    """The pairs among these raters that share an item."""
    return PairTally.objects.filter(question=question_id, rater_a__in=raters, rater_b__in=raters)


def among(question: Question, raters: list[Rater], weights: str) -> list[Pair]:
    """The pairs among these raters that share an item."""
    known = {rater.pk: rater for rater in raters}
    rows = among_rows(question.pk, list(known)).order_by("rater_a_id", "rater_b_id")
    return [_pair(row, known, weights) for row in rows.defer("table")]


def with_rater(question: Question, rater: Rater, weights: str) -> list[Pair]:
    """The PAIRS_OF_A_RATER pairs of one rater with the most items in common; the rater stands
    first."""
    rows = PairTally.objects.filter(question=question).filter(Q(rater_a=rater) | Q(rater_b=rater))
    rows = rows.order_by("-n_items", "rater_a_id", "rater_b_id").defer("table")
    return [
        pair
        if pair.rater_a.pk == rater.pk
        else Pair(pair.rater_b, pair.rater_a, pair.reading, pair.n_items)
        for pair in _with_raters(list(rows[:PAIRS_OF_A_RATER]), weights)
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


def read_listed(ids: Sequence[int], weights: str) -> list[Pair]:
    """The pairs of these ids, in their order; one that went meanwhile is left out."""
    found = PairTally.objects.defer("table").in_bulk(ids)
    return _with_raters([found[pk] for pk in ids if pk in found], weights)


def _with_raters(rows: list[PairTally], weights: str) -> list[Pair]:
    """The pairs of one page, their raters fetched with them."""
    ids = {row.rater_a_id for row in rows} | {row.rater_b_id for row in rows}
    raters = Rater.objects.in_bulk(ids)
    return [_pair(row, raters, weights) for row in rows]


def _pair(row: PairTally, raters: dict[int, Rater], weights: str) -> Pair:
    value, low, high = (getattr(row, f"{part}_{weights}") for part in store.KAPPA_PARTS)
    # A pair is stored while it shares an item: then nothing else leaves kappa undefined.
    reason = "single_category" if value is None else None
    a, b = raters[row.rater_a_id], raters[row.rater_b_id]
    return Pair.of(a, b, (value, low, high, reason), row.n_items)


def declared(rows: Sequence[tuple[int, bytes | memoryview]], scale: QuestionScale) -> np.ndarray:
    """Stored (width, table) of P pairs -> (P, k, k) in declared order, rater a in rows."""
    widths, tables = [row[0] for row in rows], [row[1] for row in rows]
    return scale.ordered(store.stacked(tables, widths, scale.width, axes=2), axes=2)
