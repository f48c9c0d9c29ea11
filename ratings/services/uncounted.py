"""Which ratings the counts do not hold yet, found without a look at all others.

The rows say it themselves (``querysets.UNCOUNTED``), and SQLite finds them by a partial index with
that condition. On PostgreSQL the same index would make counting dear: it stands in the way of
updates that touch no index (HOT), so that each rating that is marked as counted would be entered
into all indexes again, at ten times the cost. There, triggers note the item of every row that a
statement leaves uncounted (``UncountedItem``), in the transaction of that statement.

Notes are only ever added by who writes, and removed, one by one, by who counted what had been read
*after* them. So there is always a note of an uncounted rating; a note that is left of a counted one
costs a look.
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

# "column = ANY(ARRAY(subquery))" is asked once and found through the column's index. A join may be
# planned to look for the items again for each rating, while the table is believed to be empty.
_ONE_OF: dict[str, Any] = {
    "arg_joiner": " = ANY(ARRAY",
    "template": "%(expressions)s)",
    "output_field": BooleanField(),
}


@dataclass(frozen=True, slots=True)
class Noted:
    """Items with uncounted ratings, ascending, and the ids of the notes that said so (none on
    SQLite)."""

    items: list[int]
    notes: list[int]


def _notes() -> bool:
    return connection.vendor == "postgresql"


def questions() -> set[int]:
    """Ids of the questions with uncounted ratings."""
    model: Any = UncountedItem.objects if _notes() else Rating.objects.uncounted()
    return set(model.order_by().values_list("question_id", flat=True).distinct())


def ratings(question_ids: Collection[int] | None = None) -> QuerySet[Rating]:
    """The uncounted ratings of these questions, or of all."""
    rows: QuerySet[Rating] = Rating.objects.uncounted()
    if question_ids is not None:
        rows = rows.filter(question_id__in=question_ids)
    if not _notes():
        return rows
    notes = UncountedItem.objects.all()
    if question_ids is not None:
        notes = notes.filter(question_id__in=question_ids)
    return rows.filter(_one_of("question_id", notes), _one_of("item_id", notes))


def how_far() -> tuple[int, datetime.datetime | None]:
    """The number of uncounted ratings of all questions, and the time of the oldest change among
    them."""
    found = ratings().aggregate(number=Count("id"), oldest=Min("changed_at"))
    return found["number"], found["oldest"]


def _one_of(column: str, notes: QuerySet[UncountedItem]) -> Any:
    return Func(F(column), Subquery(notes.order_by().values(column).distinct()), **_ONE_OF)


def extent(question_id: int) -> tuple[int, int]:
    """The last item with uncounted ratings (0: there is none), and about how many ratings these
    are, as next_items."""
    model, number = _with_numbers()
    found = model.filter(question_id=question_id).aggregate(last=Max("item_id"), number=number)
    return found["last"] or 0, found["number"] or 0


def next_items(question_id: int, *, after: int, last: int, items: int) -> list[tuple[int, int]]:
    """The next ``items`` items with uncounted ratings behind ``after`` and up to ``last``, each
    with about how many: a rating that changed twice is noted twice."""
    model, number = _with_numbers()
    rows = model.filter(question_id=question_id, item_id__gt=after, item_id__lte=last).order_by(
        "item_id"
    )
    return list(rows.values_list("item_id").annotate(number)[:items])


def _with_numbers() -> tuple[Any, Any]:
    return (
        (UncountedItem.objects, Sum("ratings"))
        if _notes()
        else (Rating.objects.uncounted(), Count("id"))
    )


def noted(
    question_id: int, *, items: int | None = None, first: int | None = None, last: int | None = None
) -> Noted:
    """Items with uncounted ratings: the first ``items`` ones, or those with ids from ``first`` to
    ``last``.

    To be asked before the ratings are read, by a statement of its own.
    """
    model: Any = UncountedItem.objects if _notes() else Rating.objects.uncounted()
    rows = model.filter(question_id=question_id)
    if first is not None:
        rows = rows.filter(item_id__gte=first, item_id__lte=last)
    chosen = rows.order_by("item_id").values_list("item_id", flat=True).distinct()[:items]
    if not _notes():
        return Noted(list(chosen), [])
    if items is not None:
        rows = rows.filter(Func(F("item_id"), Subquery(chosen), **_ONE_OF))
    found = list(rows.order_by("item_id").values_list("item_id", "pk"))
    return Noted(list(dict.fromkeys(item for item, _ in found)), [pk for _, pk in found])


def some(question_id: int) -> bool:
    """Whether the question has uncounted ratings."""
    model: Any = UncountedItem.objects if _notes() else Rating.objects.uncounted()
    return bool(model.filter(question_id=question_id).exists())


def numbers(look: int) -> dict[int, int]:
    """Question -> how many of the last ``look`` signs that a rating waits are of it: notes, the
    newest first, or ratings."""
    model: Any = UncountedItem.objects if _notes() else Rating.objects.uncounted()
    rows = model.order_by("-pk") if _notes() else model.order_by()
    found: dict[int, int] = {}
    for question_id in rows.values_list("question_id", flat=True)[:look]:
        found[question_id] = found.get(question_id, 0) + 1
    return found


def noted_of(
    question_ids: Iterable[int], look: int
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """`noted` of several questions: items and notes of each. Beyond ``look`` of them all the rest
    are left out, with the question in whose midst that comes."""
    ids = list(question_ids)
    model: Any = UncountedItem.objects if _notes() else Rating.objects.uncounted()
    rows = model.filter(question_id__in=ids).order_by("question_id", "item_id")
    columns = ("question_id", "item_id", "pk")
    found = list(rows.values_list(*columns)[: look + 1])
    items: dict[int, dict[int, None]] = {}
    notes: dict[int, list[int]] = {}
    for question_id, item, note in found:
        items.setdefault(question_id, {})[item] = None
        notes.setdefault(question_id, []).append(note)
    if len(found) > look:
        items.pop(found[-1][0])
        notes.pop(found[-1][0])
    return {pk: list(own) for pk, own in items.items()}, notes if _notes() else {}


def forget(notes: Collection[int]) -> None:
    """Remove notes that were read before the ratings which are counted now, in the transaction that
    marks those."""
    if notes:
        condition, values = bulk.among("id", list(notes))
        bulk.several([(f"DELETE FROM ratings_uncounteditem WHERE {condition}", values)])


def note_all(question_id: int) -> None:
    """Note each item of the question that has an uncounted rating once, whatever is noted already.
    Looks at all ratings."""
    if not _notes():
        return
    forget_question(question_id)
    rows = Rating.objects.filter(question_id=question_id).uncounted().order_by()
    sql, values = (
        rows.values_list("question_id", "item_id").annotate(Count("id")).query.sql_with_params()
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO ratings_uncounteditem (question_id, item_id, ratings) {sql}", values
        )


def forget_question(question_id: int) -> None:
    """Remove all notes of a question: it is gone, or its ratings are looked through."""
    UncountedItem.objects.filter(question_id=question_id).delete()
