"""Uncounted ratings -> counts. Nothing here is approximate, and running it twice changes nothing.

An item is counted by adding the tally of what its ratings say now and subtracting the tally of what the counts hold of
them, in one transaction under the question's lock; each rating then remembers *the code that was read*, never the one
that stands by then. A rating that changed meanwhile therefore stays uncounted, and the next round finds it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from django.db import connection, transaction
from django.utils import timezone

from projects import bulk
from projects.models import Question
from ratings.models import NOTHING, Rating

from . import stores
from .agreement import tally
from .models import CountState
from .scales import QuestionScale

# Items of one transaction: small enough that raters never wait long for the rows or, on SQLite, for the file.
ITEMS_AT_ONCE = 5_000

ROW = np.dtype(
    [
        ("id", "i8"),
        ("item", "i8"),
        ("rater", "i8"),
        ("code", "i8"),
        ("counted", "i8"),
        ("day", "i8"),
        ("counted_day", "i8"),
    ]
)


@dataclass(frozen=True)
class Progress:
    items: int  # counted in this call
    more: bool  # whether uncounted items were left


def lock(question_id: int) -> CountState:
    """The question's count row, locked until the transaction ends. Whoever changes counts or readings holds it."""
    row = CountState.objects.select_for_update().filter(question_id=question_id).first()
    if row is None:
        version = Question.objects.values_list("scale_version", flat=True).get(pk=question_id)
        CountState.objects.get_or_create(question_id=question_id, defaults={"scale_version": version})
        row = CountState.objects.select_for_update().get(question_id=question_id)
    return row


@transaction.atomic
def count_some(question_id: int, *, items: int = ITEMS_AT_ONCE) -> Progress:
    """Count up to ``items`` items with an uncounted rating, those with the smallest ids first."""
    if not Question.objects.filter(pk=question_id).exists():
        return Progress(0, more=False)
    state = lock(question_id)
    rows = uncounted_items(question_id, items)
    if rows.size == 0:
        return Progress(0, more=False)
    # Read with the lock in hand: of two counters that waited for each other, the second sees the scale (or its newer
    # version) for which the first made the kappas. The categories are read last and know every code in ``rows``.
    scale = QuestionScale.of(Question.objects.get(pk=question_id))
    width = scale.width
    now, before = rows[rows["code"] > NOTHING], rows[rows["counted"] > NOTHING]
    stores.add_patterns(question_id, patterns(now, "code", width) - patterns(before, "counted", width))
    sums = stores.no_sums() | state.pair_sums
    stores.add_pairs(question_id, pairs(now, "code", width) - pairs(before, "counted", width), scale, sums)
    stores.add_peers(question_id, peers(now, "code", width) - peers(before, "counted", width), own_counts(rows))
    state.unread += _mark_counted(rows)
    state.version += 1
    state.pair_sums = sums
    state.ratings += now.size - before.size
    state.counted_at = timezone.now()
    state.save()
    n_items = np.unique(rows["item"]).size
    return Progress(n_items, more=n_items == items)


def uncounted_items(question_id: int, items: int) -> np.ndarray:
    """All ratings of the next ``items`` items that have an uncounted one, read by one statement. Array of ROW."""
    chosen = (
        Rating.objects.filter(question_id=question_id)
        .uncounted()
        .order_by("item_id")
        .values_list("item_id", flat=True)
        .distinct()[:items]
    )
    rows = Rating.objects.filter(question_id=question_id, item_id__in=chosen)
    columns = rows.values_list("id", "item_id", "rater_id", "code", "counted", "day", "counted_day")
    return np.fromiter(columns.iterator(chunk_size=20_000), dtype=ROW)


def patterns(rows: np.ndarray, code: str, width: int) -> tally.Patterns:
    return tally.patterns(rows["item"], rows[code], width, day=rows[_day(code)])


def pairs(rows: np.ndarray, code: str, width: int) -> tally.PairTables:
    return tally.pair_tables(rows["item"], rows["rater"], rows[code], width)


def peers(rows: np.ndarray, code: str, width: int) -> tally.PeerTables:
    return tally.peer_tables(rows["item"], rows["rater"], rows[code], width, day=rows[_day(code)])


def _day(code: str) -> str:
    return "day" if code == "code" else "counted_day"


def own_counts(rows: np.ndarray) -> dict[tuple[int, int], int]:
    """(rater, day) -> change in the number of ratings which the rater gave on that day."""
    change: dict[tuple[int, int], int] = {}
    for code, sign in (("code", 1), ("counted", -1)):
        valid = rows[rows[code] > NOTHING]
        keys, numbers = np.unique(np.stack([valid["rater"], valid[_day(code)]]), axis=1, return_counts=True)
        for rater, day, number in zip(*keys.tolist(), numbers.tolist(), strict=True):
            change[rater, day] = change.get((rater, day), 0) + sign * number
    return {key: number for key, number in change.items() if number}


def _mark_counted(rows: np.ndarray) -> int:
    """Every rating remembers what was read of it; how many had changed."""
    moved = rows[(rows["code"] != rows["counted"]) | (rows["day"] != rows["counted_day"])]
    _hold(moved["id"].tolist())
    columns = (moved[name].tolist() for name in ("id", "code", "day"))
    bulk.update_by_id("ratings_rating", ["counted", "counted_day"], list(zip(*columns, strict=True)))
    return moved.size


def _hold(ids: list[int]) -> None:
    """Lock the ratings in the order in which writers of ratings lock them: else a rater and a counter that want the
    same two rows could wait for each other in a circle, and the database would end one of them, perhaps the rater."""
    if connection.vendor != "postgresql" or len(ids) < 2:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM (SELECT 1 FROM ratings_rating WHERE id = ANY(%s)"
            " ORDER BY item_id, rater_id FOR NO KEY UPDATE) AS held",
            [ids],
        )
