"""The stored counts: add a change to them, read them. Always under the question's lock
(counting.lock)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import transaction

from core.db import bulk
from metrics.agreement.counts import tally
from metrics.agreement.weights import WEIGHTINGS
from metrics.models import EVER, PairTally, PatternTally, PeerTally
from metrics.scale import QuestionScale

INT = np.dtype("<i8")  # of patterns
ROWS_AT_ONCE = 2_000


@dataclass(frozen=True)
class Whose:
    """Whose counts are in hand: one question's, or those of several questions of different
    projects. There a rater, who belongs to one project, tells the question."""

    questions: Sequence[int]
    of_rater: Mapping[int, int] | None = None

    @classmethod
    def one(cls, question_id: int) -> Whose:
        return cls([question_id])

    def question(self, rater: int) -> int:
        return self.questions[0] if self.of_rater is None else self.of_rater[rater]


# One encoder for all readings: json.dumps makes a new one a call. A number that is none is refused,
# not written.
json_text = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def compact_blobs(values: np.ndarray) -> list[bytes]:
    """Each values[i] of (n, ...) in the narrowest integers (of 1, 2, 4 or 8 bytes) that hold its
    cells."""
    flat = values.reshape(len(values), -1)
    size = np.searchsorted([2**7, 2**15, 2**31], np.abs(flat).max(axis=1, initial=0), side="right")
    found = [b""] * len(flat)
    for one in np.unique(size).tolist():
        where = np.flatnonzero(size == one)
        length = flat.shape[1] << one
        data = flat[where].astype(f"<i{1 << one}").tobytes()
        for place, index in enumerate(where.tolist()):
            found[index] = data[place * length : (place + 1) * length]
    return found


def array(data: bytes | memoryview, *shape: int) -> np.ndarray:
    """The array (int64) of a blob; its length tells how many bytes a cell has."""
    size = len(data) // math.prod(shape)
    return np.frombuffer(data, dtype=f"<i{size}").reshape(shape).astype(np.int64)


def stacked(
    blobs: Sequence[bytes | memoryview], widths: Sequence[int], width: int, *, axes: int
) -> np.ndarray:
    """The arrays of many blobs (n, width, ...), each with ``axes`` axes of its own width, the rest
    zeros. An empty blob is all zeros."""
    found = np.zeros((len(blobs), *[width] * axes), np.int64)
    alike: dict[tuple[int, int], list[int]] = {}
    for index, (data, old) in enumerate(zip(blobs, widths, strict=True)):
        alike.setdefault((old, len(data)), []).append(index)
    for (old, length), where in alike.items():
        if length:
            place: Any = (where, *[slice(old)] * axes)
            found[place] = array(
                b"".join([blobs[index] for index in where]), len(where), *[old] * axes
            )
    return found


def chunks(size: int) -> Iterator[slice]:
    for start in range(0, size, ROWS_AT_ONCE):
        yield slice(start, min(start + ROWS_AT_ONCE, size))


# --- patterns: a row a day, and one for all days together


def decode_patterns(
    row: PatternTally, width: int, *, apart: bool | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """counts (P, width) and n_items (P,) of one row; where it holds models apart from people, or
    ``apart`` asks for it, counts (P, 2 width): the people's, then the models'."""
    halves = 1 + row.apart
    stored = np.frombuffer(row.patterns, dtype=INT).reshape(-1, halves * row.width + 1)
    counts = np.zeros((len(stored), 1 + (row.apart if apart is None else apart), width), np.int64)
    counts[:, :halves, : row.width] = stored[:, :-1].reshape(-1, halves, row.width)
    return counts.reshape(len(stored), counts.shape[1] * width), stored[:, -1].copy()


def add_patterns(question_id: int, change: tally.Patterns, width: int) -> None:
    """Add to the rows of the days in ``change`` and to the row of all days together; mark them
    stale. Its patterns have one or two columns for each of the ``width`` codes."""
    add_patterns_of({question_id: change}, width)


def add_patterns_of(
    changes: Mapping[int, tally.Patterns], width: int, *, stale: bool = True
) -> None:
    """The same for the changes of several questions, all of this width."""
    wanted = [
        (question_id, day)
        for question_id, change in changes.items()
        if change.day is not None and len(change.n_items)
        for day in [EVER, *np.unique(change.day).tolist()]
    ]
    for part in chunks(len(wanted)):
        stored = _stored_patterns(wanted[part])
        rows = []
        for question_id, day in wanted[part]:
            change = changes[question_id]
            apart = change.counts.shape[1] > width
            mine = slice(None) if day == EVER else change.day == day
            counts, n_items = change.counts[mine], change.n_items[mine]
            if (question_id, day) in stored:
                row = stored[question_id, day]
                old_counts, old_items = decode_patterns(row, width, apart=apart)
                counts = np.concatenate([old_counts, counts])
                n_items = np.concatenate([old_items, n_items])
            data = _merged(counts, n_items).astype(INT).tobytes()
            rows.append((question_id, day, width, apart, data, stale))
        columns = ("question_id", "day", "width", "apart", "patterns", "stale")
        bulk.upsert("metrics_patterntally", columns, rows, key=("question_id", "day"))


def _stored_patterns(keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], PatternTally]:
    """The rows of these (question, day), and perhaps others of the same questions."""
    questions, days = (sorted(set(part)) for part in zip(*keys, strict=True))
    rows = PatternTally.objects.filter(question__in=questions, day__in=days)
    return {(row.question_id, row.day): row for row in rows}


def _merged(counts: np.ndarray, n_items: np.ndarray) -> np.ndarray:
    """(P, width + 1): distinct patterns in lexical order with their summed numbers of items, those
    of none left out."""
    distinct, where = np.unique(counts, axis=0, return_inverse=True)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, where.ravel(), n_items)
    return np.concatenate([distinct, total[:, None]], axis=1)[total != 0]


# --- pairs of raters

KAPPAS = WEIGHTINGS
# What is stored of a pair's kappa under each of them: its value and its interval.
KAPPA_PARTS = ("kappa", "low", "high")
KAPPA_COLUMNS = tuple(f"{part}_{name}" for name in KAPPAS for part in KAPPA_PARTS)
UNIT = 2.0**60  # kappas are summed as integers of 1 / UNIT

# Weighting -> [sum in units, number of pairs that have a kappa]
PairSums = dict[str, list[int]]


def no_sums() -> PairSums:
    return {name: [0, 0] for name in KAPPAS}


def add_sums(sums: PairSums, kappas: dict[str, np.ndarray], sign: int = 1) -> None:
    for name, values in kappas.items():
        defined = values[np.isfinite(values)]
        sums[name][0] += sign * sum(np.rint(defined * UNIT).astype(np.int64).tolist())
        sums[name][1] += sign * len(defined)


def add_pairs(
    whose: Whose, change: tally.PairTables, scale: QuestionScale, sums: Mapping[int, PairSums]
) -> None:
    """Add to the tables of the pairs in ``change``, renew their kappas, and keep ``sums`` (of each
    question) in step."""
    for part in chunks(len(change.tables)):
        a = change.rater_a[part]
        b = change.rater_b[part]
        tables = change.tables[part].astype(np.int64)
        place = {key: index for index, key in enumerate(zip(a.tolist(), b.tolist(), strict=True))}
        stored = PairTally.objects.filter(
            question__in=whose.questions,
            rater_a__gte=int(a.min()),
            rater_a__lte=int(a.max()),
            rater_b__in=np.unique(b).tolist(),
        )
        if len(place) < 50:
            stored = stored.filter(rater_a__in=np.unique(a).tolist())
        raters, before = [], []
        # Their sums rest on the values alone, not on the ends of the intervals.
        values = [f"kappa_{name}" for name in KAPPAS]
        columns = ("rater_a_id", "rater_b_id", "width", "table", *values)
        for row_a, row_b, width, data, *kappas in stored.values_list(*columns):
            index = place.get((row_a, row_b))
            if index is not None:
                tables[index, :width, :width] += array(data, width, width)
                raters.append(row_a)
                before.append(kappas)
        old = np.array(before, float).reshape(-1, len(KAPPAS))
        _add_sums_of(whose, raters, dict(zip(KAPPAS, old.T, strict=True)), sums, sign=-1)
        _save_pairs(whose, list(place), tables, scale=scale, sums=sums)


def _add_sums_of(
    whose: Whose,
    raters: Sequence[int],
    kappas: dict[str, np.ndarray],
    sums: Mapping[int, PairSums],
    *,
    sign: int = 1,
) -> None:
    """Kappas of pairs, each of the question of one of ``raters``."""
    if whose.of_rater is None:
        add_sums(sums[whose.questions[0]], kappas, sign)
        return
    of = np.array([whose.of_rater[rater] for rater in raters], np.int64)
    for question_id in np.unique(of).tolist():
        mine = of == question_id
        add_sums(sums[question_id], {name: part[mine] for name, part in kappas.items()}, sign)


def _save_pairs(
    whose: Whose,
    pairs: list[tuple[int, int]],
    tables: np.ndarray,
    *,
    scale: QuestionScale,
    sums: Mapping[int, PairSums],
) -> None:
    width = tables.shape[-1]
    n_items = tables.sum(axis=(1, 2)).tolist()
    kappas = scale.pair_kappas(tables)
    values = {name: parts[:, 0] for name, parts in kappas.items()}
    _add_sums_of(whose, [a for a, _b in pairs], values, sums)
    numbers = np.concatenate([kappas[name] for name in KAPPAS], axis=1)
    columns = [nulls(column) for column in numbers.T]
    each = zip(pairs, compact_blobs(tables), n_items, *columns, strict=True)
    rows = [(whose.question(a), a, b, width, *rest) for (a, b), *rest in each]
    key = ("question_id", "rater_a_id", "rater_b_id")
    names = (*key, "width", "table", "n_items", *KAPPA_COLUMNS)
    bulk.upsert("metrics_pairtally", names, rows, key=key)
    if 0 in n_items:
        PairTally.objects.filter(question__in=whose.questions, n_items=0).delete()


def nulls(values: np.ndarray) -> list[float | None]:
    """Plain numbers, None for not-a-number."""
    return [value if math.isfinite(value) else None for value in values.tolist()]


@transaction.atomic
def renew_pairs(question_id: int, scale: QuestionScale) -> PairSums:
    """Compute all pairs' kappas anew from their stored tables: the order, values or weights of the
    scale changed."""
    sums = no_sums()
    last = (0, 0)
    while True:
        rows = list(
            PairTally.objects.filter(question_id=question_id, rater_a__gte=last[0])
            .exclude(rater_a=last[0], rater_b__lte=last[1])
            .order_by("rater_a_id", "rater_b_id")
            .values_list("rater_a_id", "rater_b_id", "width", "table")[:ROWS_AT_ONCE]
        )
        if not rows:
            return sums
        a, b, widths, blobs = zip(*rows, strict=True)
        pairs = list(zip(a, b, strict=True))
        tables = stacked(blobs, widths, scale.width, axes=2)
        whose = Whose.one(question_id)
        _save_pairs(whose, pairs, tables, scale=scale, sums={question_id: sums})
        last = pairs[-1]


# --- what is to be read anew although nothing was added to it


def mark_project(question_id: int) -> None:
    PatternTally.objects.filter(question_id=question_id, day=EVER).update(stale=True)


def mark_raters(question_id: int, raters: Sequence[int]) -> None:
    PeerTally.objects.filter(question_id=question_id, rater__in=raters, day=EVER).update(stale=True)
