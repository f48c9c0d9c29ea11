"""Read and write stored counts: encoded arrays of patterns, pair tables and kappas.

Callers hold the question's lock (question_counting.lock_count_state).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import QuerySet

from core.db import bulk
from metrics.agreement.counts import tally
from metrics.agreement.weights import WEIGHTINGS
from metrics.models import ALL_DAYS, PairTally, PatternTally, PeerTally, Population
from metrics.question_scale import QuestionScale

PATTERN_DTYPE = np.dtype("<i8")
PATTERN_COLUMNS = (
    *("question_id", "population", "day"),
    *("width", "separates_models", "patterns", "stale"),
)
ROWS_AT_ONCE = 2_000


@dataclass(frozen=True)
class CountScope:
    """Scope of an update of counts: one question, or several of different projects.

    A rater belongs to one project, so with several questions ``question_of_rater`` maps a rater to
    the question.
    """

    questions: Sequence[int]
    question_of_rater: Mapping[int, int] | None = None

    @classmethod
    def for_question(cls, question_id: int) -> CountScope:
        """Return the scope of an update of one question's counts."""
        return cls([question_id])

    def get_question_id(self, rater_id: int) -> int:
        """Return the id of the question that the rater's counts belong to."""
        return (
            self.questions[0]
            if self.question_of_rater is None
            else self.question_of_rater[rater_id]
        )


# One shared encoder, because json.dumps creates a new one for each call. It raises ValueError for
# NaN.
encode_json = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def encode_arrays(values: np.ndarray) -> list[bytes]:
    """Return each array values[i] of ``values`` (n, ...) as bytes.

    The cells of an array are the narrowest integers that hold all of them: 1, 2, 4 or 8 bytes.
    """
    flat = values.reshape(len(values), -1)
    size_exponents = np.searchsorted(
        [2**7, 2**15, 2**31], np.abs(flat).max(axis=1, initial=0), side="right"
    )
    blobs = [b""] * len(flat)
    for exponent in np.unique(size_exponents).tolist():
        indices = np.flatnonzero(size_exponents == exponent)
        length = flat.shape[1] << exponent
        data = flat[indices].astype(f"<i{1 << exponent}").tobytes()
        for position, index in enumerate(indices.tolist()):
            blobs[index] = data[position * length : (position + 1) * length]
    return blobs


def decode_array(data: bytes | memoryview, *shape: int) -> np.ndarray:
    """Return the array (int64) of a blob; the cell size follows from the blob's length."""
    cell_bytes = len(data) // math.prod(shape)
    return np.frombuffer(data, dtype=f"<i{cell_bytes}").reshape(shape).astype(np.int64)


def decode_arrays(
    blobs: Sequence[bytes | memoryview], widths: Sequence[int], width: int, *, axes: int
) -> np.ndarray:
    """Return the arrays of many blobs as one array (n, width, ...), padded with zeros.

    Each blob has ``axes`` axes of its own width. An empty blob is all zeros.
    """
    stack = np.zeros((len(blobs), *[width] * axes), np.int64)
    same_shape: dict[tuple[int, int], list[int]] = {}
    for index, (data, blob_width) in enumerate(zip(blobs, widths, strict=True)):
        same_shape.setdefault((blob_width, len(data)), []).append(index)
    for (blob_width, length), indices in same_shape.items():
        if length:
            target: Any = (indices, *[slice(blob_width)] * axes)
            stack[target] = decode_array(
                b"".join([blobs[index] for index in indices]), len(indices), *[blob_width] * axes
            )
    return stack


def iter_chunks(size: int) -> Iterator[slice]:
    """Yield slices of at most ROWS_AT_ONCE rows that cover ``size`` rows."""
    for start in range(0, size, ROWS_AT_ONCE):
        yield slice(start, min(start + ROWS_AT_ONCE, size))


# --- patterns: a row for each population and day, and one of each for all days


def decode_patterns(
    row: PatternTally, width: int, *, separate_models: bool | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return counts (P, width) and n_items (P,) of one row.

    Where the row separates models from people, or with ``separate_models``, counts are
    (P, 2 width): those of people, then those of models. None: as in the row.
    """
    n_groups = 1 + row.separates_models
    stored = np.frombuffer(row.patterns, dtype=PATTERN_DTYPE).reshape(-1, n_groups * row.width + 1)
    counts = np.zeros(
        (
            len(stored),
            1 + (row.separates_models if separate_models is None else separate_models),
            width,
        ),
        np.int64,
    )
    counts[:, :n_groups, : row.width] = stored[:, :-1].reshape(-1, n_groups, row.width)
    return counts.reshape(len(stored), counts.shape[1] * width), stored[:, -1].copy()


def add_patterns(
    changes: Mapping[tuple[int, str], tally.PatternCounts], width: int, *, stale: bool = True
) -> None:
    """Add changes to the rows of their days and to the row of all days.

    ``changes``: the changes by question id and population. Their patterns have one or two columns
    for each of the ``width`` codes. With ``stale``, the rows are marked stale.
    """
    keys = [
        (*key, day)
        for key, change in changes.items()
        if change.day is not None and len(change.n_items)
        for day in [ALL_DAYS, *np.unique(change.day).tolist()]
    ]
    for chunk in iter_chunks(len(keys)):
        stored = _get_pattern_rows(keys[chunk])
        rows = []
        for question_id, population, day in keys[chunk]:
            change = changes[question_id, population]
            separate_models = change.counts.shape[1] > width
            selected = slice(None) if day == ALL_DAYS else change.day == day
            counts, n_items = change.counts[selected], change.n_items[selected]
            if (row := stored.get((question_id, population, day))) is not None:
                stored_counts, stored_items = decode_patterns(
                    row, width, separate_models=separate_models
                )
                counts = np.concatenate([stored_counts, counts])
                n_items = np.concatenate([stored_items, n_items])
            data = _merge_patterns(counts, n_items).astype(PATTERN_DTYPE).tobytes()
            rows.append((question_id, population, day, width, separate_models, data, stale))
        key_columns = ("question_id", "day", "population")
        bulk.upsert("metrics_patterntally", PATTERN_COLUMNS, rows, key=key_columns)


PatternKey = tuple[int, str, int]  # question, population, day


def _get_pattern_rows(keys: Sequence[PatternKey]) -> dict[PatternKey, PatternTally]:
    """Return {key: stored row} of these keys; rows of other keys may be among them."""
    questions, _populations, days = (sorted(set(values)) for values in zip(*keys, strict=True))
    rows = PatternTally.objects.filter(question__in=questions, day__in=days)
    return {(row.question_id, row.population, row.day): row for row in rows}


def copy_counts_to_people(question_id: int) -> None:
    """Copy a question's counts of all raters as those of people, when its first model rates.

    Until then all raters were people. The stored patterns of all days are marked stale, because
    results have values of people from now on.
    """
    rows = PatternTally.objects.filter(question=question_id, population=Population.ALL)
    rows.update(stale=True)
    PatternTally.objects.bulk_create(
        PatternTally(
            question_id=question_id,
            population=Population.PEOPLE,
            day=row.day,
            width=row.width,
            patterns=bytes(row.patterns),
        )
        for row in rows.iterator(chunk_size=ROWS_AT_ONCE)
    )


def _merge_patterns(counts: np.ndarray, n_items: np.ndarray) -> np.ndarray:
    """Return distinct patterns with summed item numbers (P, width + 1), in lexical order.

    Patterns without items are left out.
    """
    distinct, inverse = np.unique(counts, axis=0, return_inverse=True)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, inverse.ravel(), n_items)
    return np.concatenate([distinct, total[:, None]], axis=1)[total != 0]


# --- pairs of raters

KAPPA_WEIGHTINGS = WEIGHTINGS
# Columns of a pair's kappa under each weighting: its value and its interval.
KAPPA_PARTS = ("kappa", "low", "high")
KAPPA_COLUMNS = tuple(f"{part}_{name}" for name in KAPPA_WEIGHTINGS for part in KAPPA_PARTS)
KAPPA_UNITS = 2.0**60  # kappas are summed as integers, in units of 2^-60

# Weighting -> [sum in units, number of pairs that have a kappa]
PairSums = dict[str, list[int]]


def create_pair_sums() -> PairSums:
    """Return pair sums of zero for every weighting."""
    return {name: [0, 0] for name in KAPPA_WEIGHTINGS}


def add_kappas_to_sums(sums: PairSums, kappas: dict[str, np.ndarray], sign: int = 1) -> None:
    """Add the defined kappas to the sums, in place; with ``sign=-1``, subtract them.

    ``kappas``: weighting -> kappas (P,) of pairs, NaN where undefined.
    """
    for name, values in kappas.items():
        defined = values[np.isfinite(values)]
        units = np.rint(defined * KAPPA_UNITS).astype(np.int64)
        # Two halves, because the sum of a dozen units would exceed 64 bits.
        total = (int((units >> 30).sum()) << 30) + int((units & (2**30 - 1)).sum())
        sums[name][0] += sign * total
        sums[name][1] += sign * len(defined)


def read_kappas(pairs: QuerySet[PairTally]) -> dict[str, np.ndarray]:
    """Return weighting -> the stored kappas (P,) of these pairs; NaN where undefined."""
    rows = list(pairs.values_list(*(f"kappa_{name}" for name in KAPPA_WEIGHTINGS)))
    columns = np.array(rows, float).reshape(-1, len(KAPPA_WEIGHTINGS)).T
    return dict(zip(KAPPA_WEIGHTINGS, columns, strict=True))


def add_pair_tables(
    scope: CountScope, change: tally.PairTables, scale: QuestionScale, sums: Mapping[int, PairSums]
) -> None:
    """Add the change to the stored tables of its pairs, and recompute their kappas.

    ``sums``: pair sums by question id, which are updated in place.
    """
    for chunk in iter_chunks(len(change.tables)):
        raters_a = change.rater_a[chunk]
        raters_b = change.rater_b[chunk]
        tables = change.tables[chunk].astype(np.int64)
        pairs = zip(raters_a.tolist(), raters_b.tolist(), strict=True)
        positions = {pair: index for index, pair in enumerate(pairs)}
        stored = PairTally.objects.filter(
            question__in=scope.questions,
            rater_a__gte=int(raters_a.min()),
            rater_a__lte=int(raters_a.max()),
            rater_b__in=np.unique(raters_b).tolist(),
        )
        if len(positions) < 50:
            stored = stored.filter(rater_a__in=np.unique(raters_a).tolist())
        stored_raters, stored_kappas = [], []
        # The sums need the values only, not the ends of the intervals.
        values = [f"kappa_{name}" for name in KAPPA_WEIGHTINGS]
        columns = ("rater_a_id", "rater_b_id", "width", "table", *values)
        for row_a, row_b, width, blob, *kappas in stored.values_list(*columns):
            index = positions.get((row_a, row_b))
            if index is not None:
                tables[index, :width, :width] += decode_array(blob, width, width)
                stored_raters.append(row_a)
                stored_kappas.append(kappas)
        previous = np.array(stored_kappas, float).reshape(-1, len(KAPPA_WEIGHTINGS))
        previous_by_weights = dict(zip(KAPPA_WEIGHTINGS, previous.T, strict=True))
        _add_kappas_by_question(scope, stored_raters, previous_by_weights, sums, sign=-1)
        _save_pairs(scope, list(positions), tables, scale=scale, sums=sums)


def _add_kappas_by_question(
    scope: CountScope,
    raters: Sequence[int],
    kappas: dict[str, np.ndarray],
    sums: Mapping[int, PairSums],
    *,
    sign: int = 1,
) -> None:
    """Add the kappas of pairs to the sums of the questions that they belong to, in place.

    ``raters``: one rater of each pair, by whom its question is found; ``kappas``: as for
    ``add_kappas_to_sums``.
    """
    if scope.question_of_rater is None:
        add_kappas_to_sums(sums[scope.questions[0]], kappas, sign)
        return
    question_ids = np.array([scope.question_of_rater[rater] for rater in raters], np.int64)
    for question_id in np.unique(question_ids).tolist():
        of_question = question_ids == question_id
        add_kappas_to_sums(
            sums[question_id], {name: values[of_question] for name, values in kappas.items()}, sign
        )


def _save_pairs(
    scope: CountScope,
    pairs: list[tuple[int, int]],
    tables: np.ndarray,
    *,
    scale: QuestionScale,
    sums: Mapping[int, PairSums],
) -> None:
    """Write pair tables (P, width, width) with their kappas; delete pairs that share no items.

    ``pairs``: the two raters of each table; ``sums``: pair sums by question id, updated in place.
    """
    width = tables.shape[-1]
    n_items = tables.sum(axis=(1, 2)).tolist()
    kappas = scale.compute_pair_kappas(tables)
    values = {name: estimates[:, 0] for name, estimates in kappas.items()}
    _add_kappas_by_question(scope, [a for a, _b in pairs], values, sums)
    kappa_columns = np.concatenate([kappas[name] for name in KAPPA_WEIGHTINGS], axis=1)
    columns = [nan_to_none(column) for column in kappa_columns.T]
    records = zip(pairs, encode_arrays(tables), n_items, *columns, strict=True)
    rows = [(scope.get_question_id(a), a, b, width, *fields) for (a, b), *fields in records]
    key = ("question_id", "rater_a_id", "rater_b_id")
    column_names = (*key, "width", "table", "n_items", *KAPPA_COLUMNS)
    bulk.upsert("metrics_pairtally", column_names, rows, key=key)
    if 0 in n_items:
        PairTally.objects.filter(question__in=scope.questions, n_items=0).delete()


def nan_to_none(values: np.ndarray) -> list[float | None]:
    """Return numbers (n,) as plain ones, with None in place of those that are not finite."""
    return [value if math.isfinite(value) else None for value in values.tolist()]


@transaction.atomic
def recompute_pair_kappas(question_id: int, scale: QuestionScale) -> PairSums:
    """Recompute all pairs' kappas from their stored tables and return the sums of the kappas.

    It is needed when the order, values or weights of the scale have changed.
    """
    sums = create_pair_sums()
    last_pair = (0, 0)
    while True:
        rows = list(
            PairTally.objects.filter(question_id=question_id, rater_a__gte=last_pair[0])
            .exclude(rater_a=last_pair[0], rater_b__lte=last_pair[1])
            .order_by("rater_a_id", "rater_b_id")
            .values_list("rater_a_id", "rater_b_id", "width", "table")[:ROWS_AT_ONCE]
        )
        if not rows:
            return sums
        raters_a, raters_b, widths, blobs = zip(*rows, strict=True)
        pairs = list(zip(raters_a, raters_b, strict=True))
        tables = decode_arrays(blobs, widths, scale.width, axes=2)
        scope = CountScope.for_question(question_id)
        _save_pairs(scope, pairs, tables, scale=scale, sums={question_id: sums})
        last_pair = pairs[-1]


# --- marking rows stale to which nothing was added


def mark_project_stale(question_id: int) -> None:
    """Mark the project's results of this question stale."""
    PatternTally.objects.filter(question_id=question_id, day=ALL_DAYS).update(stale=True)


def mark_raters_stale(question_id: int, raters: Sequence[int]) -> None:
    """Mark the results of these raters stale."""
    PeerTally.objects.filter(question_id=question_id, rater__in=raters, day=ALL_DAYS).update(
        stale=True
    )
