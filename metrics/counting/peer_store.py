"""Write the stored peer tables: counts of raters against their peers.

There is one row for each rater and day, and one for each rater over all days. Callers hold the
question's lock (question_counting.lock_count_state).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.db import bulk
from metrics.agreement.counts import tally
from metrics.agreement.counts.grouping import rank_rows
from metrics.models import ALL_DAYS, PeerTally

from .store import CountScope, decode_arrays, encode_arrays, iter_chunks


def _index_rows(
    raters: np.ndarray, days: np.ndarray, own_counts: np.ndarray
) -> tuple[list[tuple[int, int]], np.ndarray, np.ndarray]:
    """Return the keys (rater, day) of the rows, and the row index of each table and own count.

    Each count belongs to two rows, that of its day and that of ALL_DAYS. So each index array has
    two parts: first the rows of single days.
    """
    size = len(raters)
    all_raters = np.tile(np.concatenate([raters, own_counts[:, 0]]), 2)
    all_days = np.concatenate([days, own_counts[:, 1]])
    all_days = np.concatenate([all_days, np.full(len(all_days), ALL_DAYS)])
    first, key_index = rank_rows([all_raters, all_days])
    keys = list(zip(all_raters[first].tolist(), all_days[first].tolist(), strict=True))
    both_indices = key_index.reshape(2, -1)
    return keys, both_indices[:, :size].ravel(), both_indices[:, size:].ravel()


def add_peer_counts(
    scope: CountScope, change: tally.PeerTables, own_counts: np.ndarray, *, stale: bool = True
) -> dict[int, int]:
    """Add peer tables, moments and counts of own ratings to the rows of single days and all days.

    ``own_counts`` (n, 3): rater, day, change in the number of own ratings. With ``stale``, the rows
    of all days are marked stale; those of a day never are, because no result is stored for a day.
    Returns {rater: 1} for raters who now have a counted rating and had none, and {rater: -1} for
    those who have none any more. Raises ValueError for tables that are not counted by day.
    """
    rater_steps: dict[int, int] = {}
    if change.day is None:
        raise ValueError("peer tables are counted by day")
    keys, table_index, own_index = _index_rows(change.rater, change.day, own_counts)
    n_ratings = np.zeros(len(keys), np.int64)
    np.add.at(n_ratings, own_index, np.tile(own_counts[:, 2], 2))
    order = np.argsort(table_index, kind="stable")
    targets = table_index[order]
    for chunk in iter_chunks(len(keys)):
        span = slice(*np.searchsorted(targets, [chunk.start, chunk.stop]))
        placement = (
            order[span] % max(len(change.rater), 1),
            targets[span] - chunk.start,
            chunk.stop - chunk.start,
        )
        arrays = _PeerArrays(
            tables=_sum_by_target(change.tables, *placement),
            moments=None if change.moments is None else _sum_by_target(change.moments, *placement),
            n_items=_sum_by_target(change.n_items, *placement),
            n_ratings=n_ratings[chunk],
        )
        counts_before = -arrays.n_ratings
        _save_peers(scope, keys[chunk], arrays, stale=stale)
        counts_before += arrays.n_ratings
        counts = zip(keys[chunk], counts_before, arrays.n_ratings, strict=True)
        for (rater_id, day), old_count, new_count in counts:
            if day == ALL_DAYS and bool(old_count) != bool(new_count):
                rater_steps[rater_id] = 1 if new_count else -1
    return rater_steps


def _sum_by_target(
    values: np.ndarray, source: np.ndarray, targets: np.ndarray, size: int
) -> np.ndarray:
    """Return the sums (size, ...) of the values[source] that have the same target.

    ``targets``: for each source, the index of its sum, ascending.
    """
    total = np.zeros((size, *values.shape[1:]), np.int64)
    used, first = np.unique(targets, return_index=True)
    if len(used):
        total[used] = np.add.reduceat(values[source], first)
    return total


@dataclass(frozen=True)
class _PeerArrays:
    """Peer counts of G rows, as arrays.

    tables (G, width, width), moments (G, width, width, width) or None, n_items (G,), n_ratings
    (G,).
    """

    tables: np.ndarray
    moments: np.ndarray | None
    n_items: np.ndarray
    n_ratings: np.ndarray


def _save_peers(
    scope: CountScope, keys: Sequence[tuple[int, int]], change: _PeerArrays, *, stale: bool
) -> None:
    """Add ``change`` to the stored rows of these (rater, day) keys and write the sums."""
    width = change.tables.shape[-1]
    _add_stored_rows(scope, keys, change)
    moment_blobs = [b""] * len(keys) if change.moments is None else encode_arrays(change.moments)
    records = zip(
        keys,
        encode_arrays(change.tables),
        moment_blobs,
        change.n_items.tolist(),
        change.n_ratings.tolist(),
        strict=True,
    )
    rows = [
        (scope.get_question_id(rater_id), rater_id, day, width, *fields, stale and day == ALL_DAYS)
        for (rater_id, day), *fields in records
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


def _add_stored_rows(
    scope: CountScope, keys: Sequence[tuple[int, int]], change: _PeerArrays
) -> None:
    """Add the counts of the stored rows of these (rater, day) keys to ``change``, in place."""
    key_index = {key: index for index, key in enumerate(keys)}
    stored = PeerTally.objects.filter(
        question__in=scope.questions,
        rater__in=sorted({rater_id for rater_id, _ in keys}),
        day__in=sorted({day for _, day in keys}),
    ).values_list("rater_id", "day", "width", "n_items", "n_ratings", "table", "moments")
    # The query returns every combination of these raters and days; keep the requested ones.
    rows = [row for row in stored if row[:2] in key_index]
    if not rows:
        return
    raters, days, widths, n_items, n_ratings, tables, moments = zip(*rows, strict=True)
    indices = [key_index[key] for key in zip(raters, days, strict=True)]
    width = change.tables.shape[-1]
    change.tables[indices] += decode_arrays(tables, widths, width, axes=2)
    if change.moments is not None:
        change.moments[indices] += decode_arrays(moments, widths, width, axes=3)
    change.n_items[indices] += n_items
    change.n_ratings[indices] += n_ratings
