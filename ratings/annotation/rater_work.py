"""What belongs to a rater: who they are in the project, what they were given, and what they said.

Plain SQL: each page of the desk asks this, and the ORM takes longer to build these queries than the
database to answer them.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.db import models
from django.db.models.functions import Cast

from core.db import bulk
from core.db.row_mapper import Row
from projects.models import Item, Project, Question, Rater
from projects.permissions import LARGEST_ID
from projects.selectors import item_search
from ratings.models import NOTHING, Apart, Assignment, RaterMessage, Rating, Revision
from ratings.services import exam_gate
from ratings.services.days import aware

from .assignments import hidden_checks, queue

_RATER = Row(Rater)
_ASSIGNMENT = Row(Assignment)
_MESSAGE = Row(RaterMessage)
_RATING = Row(Rating, "id", "question_id", "code", "comment")

_RATER_OF = f"""
    SELECT {_RATER.columns("r")} FROM projects_rater r
    WHERE r.project_id = %s AND r.user_id = %s
    """
_ITEM_OF = f"""
    SELECT {queue.ITEM.columns("i")} FROM projects_item i
    WHERE i.id = %s AND i.project_id = %s AND (
        EXISTS (SELECT 1 FROM ratings_assignment a WHERE a.item_id = i.id AND a.rater_id = %s)
        OR EXISTS (SELECT 1 FROM ratings_rating r WHERE r.item_id = i.id AND r.rater_id = %s)
    )
    """
_ASSIGNMENT_OF = f"""
    SELECT {_ASSIGNMENT.columns("a")} FROM ratings_assignment a
    WHERE a.item_id = %s AND a.rater_id = %s
    """
_UNREAD = f"""
    SELECT {_MESSAGE.columns("m")} FROM ratings_ratermessage m
    WHERE m.rater_id = %s AND m.read_at IS NULL ORDER BY m.id LIMIT 1
    """
# Of a test, what stands apart takes the place of the ratings; the same columns.
_TESTS = """
    EXISTS (
        SELECT 1 FROM ratings_assignment a
        WHERE a.item_id = r.item_id AND a.rater_id = r.rater_id AND a.why <> ''
    )
    """
_RATINGS_OF = f"""
    SELECT {_RATING.columns("r")} FROM ratings_rating r
    WHERE r.item_id = %s AND r.rater_id = %s AND NOT {_TESTS}
    UNION ALL
    SELECT {_RATING.columns("r")} FROM ratings_apart r
    WHERE r.item_id = %s AND r.rater_id = %s AND r.stands AND {_TESTS}
    """


def rater_of(project: Project, user: Any) -> Rater | None:
    """The rater that the user is in the project, with this very project: its role, its questions
    fetched once."""
    [found] = bulk.several([(_RATER_OF, [project.pk, user.pk])])
    if not found:
        return None
    rater = _RATER.made(found[0])
    rater.project = project
    return rater


def item_of(rater: Rater, item_id: int) -> Item | None:
    """The item, when it was ever given to the rater or rated by them."""
    if item_id > LARGEST_ID:
        return None
    [found] = bulk.several([(_ITEM_OF, [item_id, rater.project_id, rater.pk, rater.pk])])
    return queue.ITEM.made(found[0]) if found else None


def met(raters: Sequence[Rater], items: Collection[int]) -> dict[int, set[int]]:
    """Rater -> those of the items that they were given, rated, or were tested by."""
    found: dict[int, set[int]] = {rater.pk: set() for rater in raters}
    given = Assignment.objects.exclude(state=Assignment.State.EXPIRED)
    for rows in (given, Rating.objects.all(), Apart.objects.all()):
        theirs = rows.filter(rater__in=raters, item__in=items)
        for rater_id, item_id in theirs.values_list("rater_id", "item_id"):
            found[rater_id].add(item_id)
    return found


def unread_message(rater: Rater) -> RaterMessage | None:
    """What leads wrote to the rater, the first that was not read yet."""
    [found] = bulk.several([(_UNREAD, [rater.pk])])
    return _MESSAGE.made(found[0]) if found else None


def said_of(
    rater: Rater, item: Item
) -> tuple[Assignment | None, list[Rating], RaterMessage | None]:
    """The rater's assignment of the item, what they said of it as ratings, one a question, and in
    the same journey their unread message."""
    key = [item.pk, rater.pk]
    assignments, ratings, messages = bulk.several(
        [(_ASSIGNMENT_OF, key), (_RATINGS_OF, [*key, *key]), (_UNREAD, [rater.pk])]
    )
    message = _MESSAGE.made(messages[0]) if messages else None
    return _assignment(assignments), [_RATING.made(row) for row in ratings], message


def standing_of(rater: Rater, item: Item) -> dict[int, Rating]:
    """What the rater says of the item now, by the question's id."""
    [ratings] = bulk.several([(_RATINGS_OF, [item.pk, rater.pk] * 2)])
    made = [_RATING.made(row) for row in ratings]
    return {one.question_id: one for one in made if one.code != NOTHING}


def went_by(rater: Rater) -> int | None:
    """The version of the guidelines that the rater went by last; None where nobody knows."""
    latest = Rating.objects.filter(rater=rater).order_by("-changed_at")
    return latest.values_list("guidelines", flat=True).first()


SHOWN = ("flagged", "comment", "changed", "exam")  # what one may see alone of one's own list
LOOKED_AT = 2_000  # own items that may say what is searched for, of which each is looked at


def listed(rater: Rater | None, *, search: str = "", show: str = "") -> Any:
    """The items of which the rater says something now, as (whether it stands apart, id, when they
    last said so), the latest first; or those that say a text, and of which one of SHOWN is true.
    What an exam asked is told of alone."""
    if rater is None:
        return Rating.objects.none()
    tests = Assignment.objects.apart().filter(rater=rater).values("item")
    ratings: Any = Rating.objects.standing().filter(rater=rater).exclude(item__in=tests)
    apart: Any = Apart.objects.standing().filter(rater=rater, item__in=tests)
    in_exam = models.Q(why=Assignment.Why.EXAM)
    sides = [ratings, apart.exclude(in_exam)]
    if show == "exam":
        sides = [ratings.none(), apart.filter(in_exam)]
    elif show == "changed":
        sides = [rows.filter(_changed(rows.model)) for rows in sides]
    elif show == "comment":
        sides = [rows.exclude(comment="") for rows in sides]
    elif show == "flagged":
        flagged = Assignment.objects.filter(rater=rater, flagged=True).values("item")
        sides = [rows.filter(item__in=flagged) for rows in sides]
    if search:
        found = _saying(rater, search)
        sides = [rows.filter(item__in=found) for rows in sides]
    both = [
        rows.order_by()
        .values_list(models.Value(is_apart), "item")
        .annotate(last=models.Max("changed_at"))
        for is_apart, rows in enumerate(sides)
    ]
    return both[0].union(both[1], all=True).order_by("-last", "-item")


def asked_twice(rater: Rater) -> int:
    """Items that the list names once and that count twice: they were asked again."""
    again = Apart.objects.standing().filter(rater=rater).exclude(why=Assignment.Why.EXAM)
    first = Rating.objects.standing().filter(rater=rater, item=models.OuterRef("item"))
    return again.filter(models.Exists(first)).values("item").distinct().count()


def answered_in_exams(rater: Rater) -> int:
    """Items that the rater answered in exams."""
    said = Apart.objects.standing().filter(rater=rater, why=Assignment.Why.EXAM)
    return said.values("item").distinct().count()


def _changed(model: type[models.Model]) -> Any:
    """Whether the rater ever said another thing than a row says: what came before is kept. What was
    taken back and said again is the same."""
    earlier: Any = Revision.objects.filter(rating=models.OuterRef("pk"))
    if model is Apart:
        same = {name: models.OuterRef(name) for name in ("item", "rater", "question")}
        earlier = Apart.objects.filter(stands=False, **same)
    now = {name: models.OuterRef(name) for name in ("code", "comment")}
    return models.Exists(earlier.exclude(code=NOTHING).exclude(**now))


def _saying(rater: Rater, text: str) -> list[int]:
    """Ids of the items that the rater was given or rated, and that say the text."""
    given = models.Q(assignments__rater=rater) | models.Q(ratings__rater=rater)
    rows = Item.objects.filter(given, project=rater.project_id).distinct()
    rows = rows.alias(text=Cast("body", models.TextField())).filter(item_search.may_say(text))
    return [item.pk for item in rows.order_by("-pk")[:LOOKED_AT] if item_search.says(item, text)]


def skipped(rater: Rater | None, *, search: str = "") -> Any:
    """What the rater put aside, the latest first; or what of it says a text."""
    if rater is None:
        return Assignment.objects.none()
    rows = Assignment.objects.filter(rater=rater, state=Assignment.State.SKIPPED)
    if search:
        rows = rows.filter(item__in=_saying(rater, search))
    return rows.select_related("item").order_by("-closed_at", "-id")


def marks_of(
    rater: Rater, rows: Sequence[Rating | Apart]
) -> tuple[set[int], set[tuple[bool, int]]]:
    """Of rows of the list: the items that the rater flagged, and which rows were changed, as
    (whether it stands apart, id)."""
    items = {row.item_id for row in rows}
    flagged = Assignment.objects.filter(rater=rater, item__in=items, flagged=True)
    changed: set[tuple[bool, int]] = set()
    for model in (Rating, Apart):
        ids = [row.pk for row in rows if isinstance(row, model)]
        found = model._default_manager.filter(_changed(model), pk__in=ids)
        changed |= {(model is Apart, pk) for pk in found.values_list("pk", flat=True)}
    return set(flagged.values_list("item_id", flat=True)), changed


def fetched(rater: Rater, listed: Iterable[tuple[int, int, Any]]) -> list[list[Rating | Apart]]:
    """What the rater says of each item that is listed, with item and questions."""
    keys = [(is_apart, item_id) for is_apart, item_id, _last in listed]
    found: dict[tuple[int, int], list[Any]] = {key: [] for key in keys}
    models: tuple[Any, Any] = Rating, Apart
    for is_apart, model in enumerate(models):
        items = [item_id for which, item_id in keys if which == is_apart]
        rows = model.objects.standing().filter(rater=rater, item__in=items)
        for row in rows.select_related("item", "question"):
            found[is_apart, row.item_id].append(row)
    return [found[key] for key in keys if found[key]]


def stamp(standing: Mapping[int, Rating]) -> str:
    """A sign of what stands, for a page to send back: who answers from an older page has not seen
    what stands now. Empty where nothing does."""
    said = sorted(
        (pk, one.code, one.comment) for pk, one in standing.items() if one.code != NOTHING
    )
    return hashlib.blake2s(repr(said).encode(), digest_size=8).hexdigest() if said else ""


def labels(questions: Sequence[Question], codes: Mapping[int, int]) -> list[str]:
    """The labels of the codes, in the order of the questions; without what was withdrawn."""
    found = []
    for question in questions:
        known = {category.code: category.label for category in question.categories.all()}
        label = known.get(codes.get(question.pk, NOTHING))
        if label is not None:
            found.append(label)
    return found


class Locked(NamedTuple):
    """The rater's assignment of an item, when they closed one last, and the question whose exam
    they have to pass first."""

    assignment: Assignment | None
    last_closed_at: datetime.datetime | None
    exam_due: int | None


def lock(rater: Rater, item: Item) -> Locked:
    """How rater and item stand; the assignment and the desk are locked until the transaction
    ends."""
    assignment = (_ASSIGNMENT_OF + hidden_checks.locking(), [item.pk, rater.pk])
    *_, desks, assignments, exams = bulk.several(
        [*hidden_checks.locking_desk(rater), assignment, exam_gate.asking(rater.pk)]
    )
    [(last_closed_at,)] = desks
    [(exam_due,)] = exams
    return Locked(_assignment(assignments), last_closed_at and aware(last_closed_at), exam_due)


def _assignment(rows: list[tuple[Any, ...]]) -> Assignment | None:
    return _ASSIGNMENT.made(rows[0]) if rows else None
