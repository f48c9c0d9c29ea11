"""The stored counts: add a change to them, read them. Always under the question's lock (counting.lock)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from django.db import transaction

from projects import bulk

from .agreement import tally
from .models import EVER, PairTally, PatternTally, PeerTally
from .scales import QuestionScale

INT = np.dtype("<i8")
ROWS_AT_ONCE = 2_000


# One encoder for all readings: json.dumps makes a new one a call. A number that is none is refused, not written.
json_text = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def blob(values: np.ndarray) -> bytes:
    return np.ascontiguousarray(values, dtype=INT).tobytes()


def array(data: bytes | memoryview, *shape: int) -> np.ndarray:
    return np.frombuffer(bytes(data), dtype=INT).reshape(shape)


def widened(values: np.ndarray, width: int) -> np.ndarray:
    """The array with zeros appended to every axis up to ``width``: codes that did not exist when it was stored."""
    if values.shape[-1] == width:
        return values
    return np.pad(values, [(0, width - size) for size in values.shape])


def chunks(size: int) -> Iterator[slice]:
    for start in range(0, size, ROWS_AT_ONCE):
        yield slice(start, min(start + ROWS_AT_ONCE, size))


# --- patterns: a row a day, and one for all days together


def decode_patterns(row: PatternTally, width: int) -> tuple[np.ndarray, np.ndarray]:
    """counts (P, width) and n_items (P,) of one row."""
    stored = array(row.patterns, -1, row.width + 1)
    counts = np.zeros((len(stored), width), np.int64)
    counts[:, : row.width] = stored[:, :-1]
    return counts, stored[:, -1].copy()


def add_patterns(question_id: int, change: tally.Patterns) -> None:
    """Add to the rows of the days in ``change`` and to the row of all days together; mark them stale."""
    if change.day is None or not len(change.n_items):
        return
    width = change.counts.shape[1]
    days = [EVER, *np.unique(change.day).tolist()]
    for part in chunks(len(days)):
        wanted = days[part]
        stored = {row.day: row for row in PatternTally.objects.filter(question_id=question_id, day__in=wanted)}
        rows = []
        for day in wanted:
            mine = slice(None) if day == EVER else change.day == day
            counts, n_items = change.counts[mine], change.n_items[mine]
            if day in stored:
                old_counts, old_items = decode_patterns(stored[day], width)
                counts, n_items = np.concatenate([old_counts, counts]), np.concatenate([old_items, n_items])
            rows.append((question_id, day, width, blob(_merged(counts, n_items)), True))
        columns = ("question_id", "day", "width", "patterns", "stale")
        bulk.upsert("metrics_patterntally", columns, rows, key=("question_id", "day"))


def _merged(counts: np.ndarray, n_items: np.ndarray) -> np.ndarray:
    """(P, width + 1): distinct patterns in lexical order with their summed numbers of items, those of none left out."""
    distinct, where = np.unique(counts, axis=0, return_inverse=True)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, where.ravel(), n_items)
    return np.concatenate([distinct, total[:, None]], axis=1)[total != 0]


# --- pairs of raters

KAPPAS = ("none", "linear", "quadratic", "custom")
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


def add_pairs(question_id: int, change: tally.PairTables, scale: QuestionScale, sums: PairSums) -> None:
    """Add to the tables of the pairs in ``change``, renew their kappas, and keep ``sums`` in step."""
    for part in chunks(len(change.tables)):
        a, b, tables = change.rater_a[part], change.rater_b[part], change.tables[part].astype(np.int64)
        place = {key: index for index, key in enumerate(zip(a.tolist(), b.tolist(), strict=True))}
        stored = PairTally.objects.filter(
            question_id=question_id,
            rater_a__gte=int(a.min()),
            rater_a__lte=int(a.max()),
            rater_b__in=np.unique(b).tolist(),
        )
        if len(place) < 50:
            stored = stored.filter(rater_a__in=np.unique(a).tolist())
        before = []
        columns = ("rater_a_id", "rater_b_id", "width", "table", *(f"kappa_{name}" for name in KAPPAS))
        for row_a, row_b, width, data, *kappas in stored.values_list(*columns):
            index = place.get((row_a, row_b))
            if index is not None:
                tables[index, :width, :width] += array(data, width, width)
                before.append(kappas)
        old = np.array(before, float).reshape(-1, len(KAPPAS))
        add_sums(sums, dict(zip(KAPPAS, old.T, strict=True)), -1)
        _save_pairs(question_id, list(place), tables, scale=scale, sums=sums)


def _save_pairs(
    question_id: int, pairs: list[tuple[int, int]], tables: np.ndarray, *, scale: QuestionScale, sums: PairSums
) -> None:
    width = tables.shape[-1]
    n_items = tables.sum(axis=(1, 2)).tolist()
    kappas = scale.pair_kappas(tables)
    add_sums(sums, kappas)
    columns = [[value if math.isfinite(value) else None for value in kappas[name].tolist()] for name in KAPPAS]
    rows = [
        (question_id, a, b, width, blob(table), n, *values)
        for (a, b), table, n, *values in zip(pairs, tables, n_items, *columns, strict=True)
    ]
    names = ("question_id", "rater_a_id", "rater_b_id", "width", "table", "n_items", *(f"kappa_{k}" for k in KAPPAS))
    bulk.upsert("metrics_pairtally", names, rows, key=("question_id", "rater_a_id", "rater_b_id"))
    if 0 in n_items:
        PairTally.objects.filter(question_id=question_id, n_items=0).delete()


@transaction.atomic
def renew_pairs(question_id: int, scale: QuestionScale) -> PairSums:
    """Compute all pairs' kappas anew from their stored tables: the order, values or weights of the scale changed."""
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
        tables = np.stack([widened(array(data, width, width), scale.width) for _, _, width, data in rows])
        _save_pairs(question_id, [(a, b) for a, b, _, _ in rows], tables, scale=scale, sums=sums)
        last = rows[-1][:2]


# --- raters against their peers: a row a rater and day, and one a rater for all days together


def add_peers(question_id: int, change: tally.PeerTables, own: dict[tuple[int, int], int]) -> None:
    """Add tables and moments, and ``own``: (rater, day) -> change in the number of own ratings. Mark the rows stale."""
    days, raters = change.day, change.rater
    if days is None:
        raise ValueError("peer tables are counted by day")
    width = change.tables.shape[-1]
    moments = change.moments
    place: dict[tuple[int, int], int] = {}
    source: list[tuple[int, int]] = []
    for index, (rater, day) in enumerate(zip(raters.tolist(), days.tolist(), strict=True)):
        for key in ((rater, day), (rater, EVER)):
            source.append((place.setdefault(key, len(place)), index))
    ratings = dict.fromkeys(place, 0)
    for (rater, day), number in own.items():
        for key in ((rater, day), (rater, EVER)):
            place.setdefault(key, len(place))
            ratings[key] = ratings.get(key, 0) + number
    keys = sorted(place)
    rank = {place[key]: index for index, key in enumerate(keys)}
    links = np.array([(rank[to], index) for to, index in source], dtype=np.int64).reshape(-1, 2)
    links = links[np.argsort(links[:, 0], kind="stable")]
    for part in chunks(len(keys)):
        lower, upper = np.searchsorted(links[:, 0], [part.start, part.stop])
        here = links[lower:upper]
        size = part.stop - part.start
        tables = np.zeros((size, width, width), np.int64)
        np.add.at(tables, here[:, 0] - part.start, change.tables[here[:, 1]])
        cubes = np.zeros((size, width, width, width) if moments is not None else (size, 0), np.int64)
        if moments is not None:
            np.add.at(cubes, here[:, 0] - part.start, moments[here[:, 1]])
        n_items = np.zeros(size, np.int64)
        np.add.at(n_items, here[:, 0] - part.start, change.n_items[here[:, 1]])
        numbers = np.array([ratings.get(key, 0) for key in keys[part]], np.int64)
        _save_peers(question_id, keys[part], _PeerArrays(tables, cubes, n_items, numbers))


@dataclass(frozen=True)
class _PeerArrays:
    """tables (G, width, width), moments (G, width, width, width) or (G, 0), n_items (G,), n_ratings (G,)."""

    tables: np.ndarray
    moments: np.ndarray
    n_items: np.ndarray
    n_ratings: np.ndarray


def _save_peers(question_id: int, keys: Sequence[tuple[int, int]], change: _PeerArrays) -> None:
    """Add the change to what is stored of these (rater, day) and write the sums."""
    tables, moments, n_items, n_ratings = change.tables, change.moments, change.n_items, change.n_ratings
    width = tables.shape[-1]
    place = {key: index for index, key in enumerate(keys)}
    stored = PeerTally.objects.filter(
        question_id=question_id,
        rater__in=sorted({rater for rater, _ in keys}),
        day__in=sorted({day for _, day in keys}),
    )
    for row in stored.iterator(ROWS_AT_ONCE):
        index = place.get((row.rater_id, row.day))
        if index is not None:
            old = row.width
            tables[index, :old, :old] += array(row.table, old, old)
            if moments.ndim == 4 and row.moments:
                moments[index, :old, :old, :old] += array(row.moments, old, old, old)
            n_items[index] += row.n_items
            n_ratings[index] += row.n_ratings
    rows = [
        (question_id, rater, day, width, blob(table), blob(cube), items, ratings, True)
        for (rater, day), table, cube, items, ratings in zip(
            keys, tables, moments, n_items.tolist(), n_ratings.tolist(), strict=True
        )
    ]
    columns = ("question_id", "rater_id", "day", "width", "table", "moments", "n_items", "n_ratings", "stale")
    bulk.upsert("metrics_peertally", columns, rows, key=("question_id", "rater_id", "day"))
