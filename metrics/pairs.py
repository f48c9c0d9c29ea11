"""Pairs of raters as the pages show them: stored kappas, and readings of the pairs on a page from their tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import F, Q, QuerySet

from projects.models import Question, Rater

from . import stores
from .agreement import cohen
from .models import PairTally, RaterReading, Span
from .scales import QuestionScale

SHOWN_RATERS = 40  # a heat map of more cannot be read
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
    pairs = read_page(rows.order_by("-n_items", "rater_a", "rater_b")[:100], scale, weights)
    return [
        pair if pair.rater_a.pk == rater.pk else Pair(pair.rater_b, pair.rater_a, pair.reading, pair.n_items)
        for pair in pairs
    ]


def ordered(question: Question, weights: str, sort: str) -> QuerySet[PairTally]:
    """All pairs of a question, by items in common or by kappa; undefined ones last."""
    kappa = F(f"kappa_{weights}")
    order = {
        "items": F("n_items").asc(),
        "-items": F("n_items").desc(),
        "kappa": kappa.asc(nulls_last=True),
        "-kappa": kappa.desc(nulls_last=True),
    }[sort]
    return PairTally.objects.filter(question=question).order_by(order, "rater_a", "rater_b")


def read_page(rows: QuerySet[PairTally], scale: QuestionScale, weights: str) -> list[Pair]:
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
