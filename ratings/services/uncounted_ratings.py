"""Queries for uncounted ratings that need no scan of the others.

The rows themselves say so (``UNCOUNTED`` of their model). SQLite finds them by a partial index with
that condition. On PostgreSQL the same index would make counting expensive: it prevents updates that
touch no index (HOT), so that each rating marked as counted would be entered into all indexes again,
at ten times the cost. There, triggers note the item of every row that a statement leaves uncounted
(``UncountedItem``), in the transaction of that statement.

Notes are only added by writers, and removed, one by one, by the transaction that counted ratings it
had read *after* them. So an uncounted rating always has a note; a note left over for a counted
rating costs one lookup.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import BooleanField, Count, F, Func, Max, Min, QuerySet, Subquery, Sum

from core.db import bulk
from ratings.models import Rating, UncountedItem

# "column = ANY(ARRAY(subquery))" is evaluated once and served by the column's index. A join may be
# planned to search the items again for each rating, while the table is believed to be empty.
_ANY_OF_OPTIONS: dict[str, Any] = {
    "arg_joiner": " = ANY(ARRAY",
    "template": "%(expressions)s)",
    "output_field": BooleanField(),
}


@dataclass(frozen=True, slots=True)
class UncountedBatch:
    """Ids of items with uncounted ratings, ascending, and of their notes (none on SQLite)."""

    item_ids: list[int]
    note_ids: list[int]


def _has_notes() -> bool:
    """Return whether triggers of this database note the items of uncounted ratings (PostgreSQL)."""
    return connection.vendor == "postgresql"


def get_question_ids() -> set[int]:
    """Return the ids of the questions with uncounted ratings, or with notes that were left over."""
    model: Any = UncountedItem.objects if _has_notes() else Rating.objects.uncounted()
    return set(model.order_by().values_list("question_id", flat=True).distinct())


def get_ratings(question_ids: Collection[int] | None = None) -> QuerySet[Rating]:
    """Return the uncounted ratings of these questions; of all questions for None."""
    rows: QuerySet[Rating] = Rating.objects.uncounted()
    if question_ids is not None:
        rows = rows.filter(question_id__in=question_ids)
    if not _has_notes():
        return rows
    notes = UncountedItem.objects.all()
    if question_ids is not None:
        notes = notes.filter(question_id__in=question_ids)
    return rows.filter(_build_any_of("question_id", notes), _build_any_of("item_id", notes))


def get_backlog() -> tuple[int, datetime.datetime | None]:
    """Return the number of uncounted ratings, and the earliest time of their last changes.

    The time is None if there are no uncounted ratings.
    """
    totals = get_ratings().aggregate(number=Count("id"), oldest=Min("changed_at"))
    return totals["number"], totals["oldest"]


def _build_any_of(column: str, notes: QuerySet[UncountedItem]) -> Any:
    """Return the condition that a column has one of its values in the notes."""
    return Func(F(column), Subquery(notes.order_by().values(column).distinct()), **_ANY_OF_OPTIONS)


def get_last_item_and_count(question_id: int) -> tuple[int, int]:
    """Return (last id of an item with uncounted ratings, number of uncounted ratings).

    Both are 0 if there are none. The number may be too high, as in ``list_next_items``.
    """
    model, number = _get_source_and_count()
    totals = model.filter(question_id=question_id).aggregate(last=Max("item_id"), number=number)
    return totals["last"] or 0, totals["number"] or 0


def list_next_items(
    question_id: int, *, after: int, last: int, limit: int
) -> list[tuple[int, int]]:
    """Return (item id, number of uncounted ratings) of up to ``limit`` items, ids in (after, last].

    The number is too high if a rating changed more than once.
    """
    model, number = _get_source_and_count()
    rows = model.filter(question_id=question_id, item_id__gt=after, item_id__lte=last).order_by(
        "item_id"
    )
    return list(rows.values_list("item_id").annotate(number)[:limit])


def _get_source_and_count() -> tuple[Any, Any]:
    """Return the queryset that lists uncounted ratings, and the aggregate that counts them."""
    return (
        (UncountedItem.objects, Sum("n_ratings"))
        if _has_notes()
        else (Rating.objects.uncounted(), Count("id"))
    )


def get_batch(
    question_id: int, *, limit: int | None = None, first: int | None = None, last: int | None = None
) -> UncountedBatch:
    """Return items with uncounted ratings: the first ``limit``, or from ``first`` to ``last``.

    ``first`` and ``last`` are item ids, given together or None. All items if all three are None.

    Must be read before the ratings, by a statement of its own: otherwise the note of a change that
    was not read could be deleted.
    """
    model: Any = UncountedItem.objects if _has_notes() else Rating.objects.uncounted()
    rows = model.filter(question_id=question_id)
    if first is not None:
        rows = rows.filter(item_id__gte=first, item_id__lte=last)
    item_ids = rows.order_by("item_id").values_list("item_id", flat=True).distinct()[:limit]
    if not _has_notes():
        return UncountedBatch(list(item_ids), [])
    if limit is not None:
        rows = rows.filter(Func(F("item_id"), Subquery(item_ids), **_ANY_OF_OPTIONS))
    pairs = list(rows.order_by("item_id").values_list("item_id", "pk"))
    return UncountedBatch(
        list(dict.fromkeys(item_id for item_id, _ in pairs)), [pk for _, pk in pairs]
    )


def has_uncounted(question_id: int) -> bool:
    """Return whether the question has uncounted ratings, or a note that was left over."""
    model: Any = UncountedItem.objects if _has_notes() else Rating.objects.uncounted()
    return bool(model.filter(question_id=question_id).exists())


def count_by_question(limit: int) -> dict[int, int]:
    """Return {question id: number of its notes} among the newest ``limit`` notes.

    On SQLite, which has no notes, any ``limit`` uncounted ratings are counted instead.
    """
    model: Any = UncountedItem.objects if _has_notes() else Rating.objects.uncounted()
    rows = model.order_by("-pk") if _has_notes() else model.order_by()
    counts: dict[int, int] = {}
    for question_id in rows.values_list("question_id", flat=True)[:limit]:
        counts[question_id] = counts.get(question_id, 0) + 1
    return counts


def get_batches(
    question_ids: Iterable[int], limit: int
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return {question id: items with uncounted ratings} and {question id: ids of their notes}.

    At most ``limit`` rows are read. Questions that these do not contain completely are left out. On
    SQLite there are no notes.
    """
    ids = list(question_ids)
    model: Any = UncountedItem.objects if _has_notes() else Rating.objects.uncounted()
    rows = model.filter(question_id__in=ids).order_by("question_id", "item_id")
    columns = ("question_id", "item_id", "pk")
    noted_rows = list(rows.values_list(*columns)[: limit + 1])
    items: dict[int, dict[int, None]] = {}
    notes: dict[int, list[int]] = {}
    for question_id, item_id, note_id in noted_rows:
        items.setdefault(question_id, {})[item_id] = None
        notes.setdefault(question_id, []).append(note_id)
    if len(noted_rows) > limit:
        items.pop(noted_rows[-1][0])
        notes.pop(noted_rows[-1][0])
    return {pk: list(item_ids) for pk, item_ids in items.items()}, notes if _has_notes() else {}


def delete_notes(note_ids: Collection[int]) -> None:
    """Delete notes of uncounted items, after their ratings were counted.

    Must run in the transaction that marks those ratings.
    """
    bulk.delete_rows_by_id("ratings_uncounteditem", list(note_ids))


def rebuild_notes(question_id: int) -> None:
    """Replace the question's notes by one for each item that has an uncounted rating.

    Scans all ratings of the question. Does nothing on SQLite, which has no notes.
    """
    if not _has_notes():
        return
    delete_question_notes(question_id)
    rows = Rating.objects.filter(question_id=question_id).uncounted().order_by()
    numbers = rows.values_list("question_id", "item_id").annotate(Count("id"))
    columns = ("question_id", "item_id", "n_ratings")
    bulk.insert_from_query("ratings_uncounteditem", columns, numbers)


def delete_question_notes(question_id: int) -> None:
    """Delete all notes of a question, which was deleted or whose ratings are all scanned."""
    UncountedItem.objects.filter(question_id=question_id).delete()
