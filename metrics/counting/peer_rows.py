"""The stored counts of raters against their peers: a row a rater and day, and one a rater for all
days together. Always under the question's lock (counting.lock)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.db import bulk
from metrics.agreement.counts import tally
from metrics.agreement.counts.grouping import rank_rows
from metrics.models import EVER, PeerTally

from .store import Whose, chunks, compact_blobs, stacked


def add_peers(
    whose: Whose, change: tally.PeerTables, own: np.ndarray, *, stale: bool = True
) -> dict[int, int]:
    """Add tables and moments, and ``own`` (n, 3): rater, day, change in the number of own ratings.
    Mark the raters' rows of all days stale: nothing is stored of a single day.

    What is added to a rater's day is added to the row of all their days too. Returns rater -> 1 for
    those who have a counted rating from now on, and -1 for those who have none any more.
    """
    come: dict[int, int] = {}
    if change.day is None:
        raise ValueError("peer tables are counted by day")
    raters = np.concatenate([change.rater, own[:, 0]])
    days = np.concatenate([change.day, own[:, 1]])
    # All of it twice: for the day, and for the row of all days.
    raters = np.tile(raters, 2)
    days = np.concatenate([days, np.full(len(days), EVER)])
    first, place = rank_rows([raters, days])
    keys = list(zip(raters[first].tolist(), days[first].tolist(), strict=True))
    size = len(change.rater)
    twice = place.reshape(2, -1)
    of_tables = twice[:, :size].ravel()
    of_own = twice[:, size:].ravel()
    n_ratings = np.zeros(len(keys), np.int64)
    np.add.at(n_ratings, of_own, np.tile(own[:, 2], 2))
    order = np.argsort(of_tables, kind="stable")
    to = of_tables[order]
    for part in chunks(len(keys)):
        here = slice(*np.searchsorted(to, [part.start, part.stop]))
        where = order[here] % max(size, 1), to[here] - part.start, part.stop - part.start
        arrays = _PeerArrays(
            tables=_summed(change.tables, *where),
            moments=None if change.moments is None else _summed(change.moments, *where),
            n_items=_summed(change.n_items, *where),
            n_ratings=n_ratings[part],
        )
        before = -arrays.n_ratings
        _save_peers(whose, keys[part], arrays, stale=stale)
        before += arrays.n_ratings
        for (rater, day), old, new in zip(keys[part], before, arrays.n_ratings, strict=True):
            if day == EVER and bool(old) != bool(new):
                come[rater] = 1 if new else -1
    return come


def _summed(values: np.ndarray, source: np.ndarray, to: np.ndarray, size: int) -> np.ndarray:
    """Sums (size, ...) of values[source] by their places ``to``, which ascend."""
    total = np.zeros((size, *values.shape[1:]), np.int64)
    places, first = np.unique(to, return_index=True)
    if len(places):
        total[places] = np.add.reduceat(values[source], first)
    return total


@dataclass(frozen=True)
class _PeerArrays:
    """tables (G, width, width), moments (G, width, width, width) or None, n_items (G,), n_ratings
    (G,)."""

    tables: np.ndarray
    moments: np.ndarray | None
    n_items: np.ndarray
    n_ratings: np.ndarray


def _save_peers(
    whose: Whose, keys: Sequence[tuple[int, int]], change: _PeerArrays, *, stale: bool
) -> None:
    """Add the change to what is stored of these (rater, day) and write the sums."""
    width = change.tables.shape[-1]
    _add_stored(whose, keys, change)
    cubes = [b""] * len(keys) if change.moments is None else compact_blobs(change.moments)
    each = zip(
        keys,
        compact_blobs(change.tables),
        cubes,
        change.n_items.tolist(),
        change.n_ratings.tolist(),
        strict=True,
    )
    rows = [
        (whose.question(rater), rater, day, width, *rest, stale and day == EVER)
        for (rater, day), *rest in each
    ]
    columns = (
        "question_id",
        "rater_id",
        "day",
        "width",
        "table",
        "moments",
        "n_items",
        "n_ratings",
        "stale",
    )
    bulk.upsert("metrics_peertally", columns, rows, key=("question_id", "rater_id", "day"))


def _add_stored(whose: Whose, keys: Sequence[tuple[int, int]], change: _PeerArrays) -> None:
    """Add what is stored of these (rater, day) to the change."""
    place = {key: index for index, key in enumerate(keys)}
    stored = PeerTally.objects.filter(
        question__in=whose.questions,
        rater__in=sorted({rater for rater, _ in keys}),
        day__in=sorted({day for _, day in keys}),
    ).values_list("rater_id", "day", "width", "n_items", "n_ratings", "table", "moments")
    # Raters by days are a rectangle; not all of it was asked for.
    rows = [row for row in stored if row[:2] in place]
    if not rows:
        return
    raters, days, widths, n_items, n_ratings, tables, moments = zip(*rows, strict=True)
    where = [place[key] for key in zip(raters, days, strict=True)]
    width = change.tables.shape[-1]
    change.tables[where] += stacked(tables, widths, width, axes=2)
    if change.moments is not None:
        change.moments[where] += stacked(moments, widths, width, axes=3)
    change.n_items[where] += n_items
    change.n_ratings[where] += n_ratings
