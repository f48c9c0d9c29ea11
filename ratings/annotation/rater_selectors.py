"""Queries of a rater's own data (rater, assignments, answers, messages), and their lock."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.db import models
from django.db.models.functions import Cast

from core.db import bulk
from core.db.prepared_query import RowMapper
from projects import selectors
from projects.models import Item, Project, Question, Rater
from projects.permissions import MAX_ID
from ratings.models import NO_CODE, Assignment, CheckAnswer, RaterMessage, Rating, Revision
from ratings.services import permissions
from ratings.services.rating_timestamps import ensure_aware

from .assignments import hidden_checks, queue

_RATER_ROW = RowMapper(Rater)
_ASSIGNMENT_ROW = RowMapper(Assignment)
_MESSAGE_ROW = RowMapper(RaterMessage)
_RATING_ROW = RowMapper(Rating, "id", "question_id", "code", "comment")

_RATER_SQL = f"""
    SELECT {_RATER_ROW.build_select_list("r")} FROM projects_rater r
    WHERE r.project_id = %s AND r.user_id = %s
    """
_ITEM_SQL = f"""
    SELECT {queue.ITEM_ROW.build_select_list("i")} FROM projects_item i
    WHERE i.id = %s AND i.project_id = %s AND (
        EXISTS (SELECT 1 FROM ratings_assignment a WHERE a.item_id = i.id AND a.rater_id = %s)
        OR EXISTS (SELECT 1 FROM ratings_rating r WHERE r.item_id = i.id AND r.rater_id = %s)
    )
    """
_ASSIGNMENT_SQL = f"""
    SELECT {_ASSIGNMENT_ROW.build_select_list("a")} FROM ratings_assignment a
    WHERE a.item_id = %s AND a.rater_id = %s
    """
_UNREAD_SQL = f"""
    SELECT {_MESSAGE_ROW.build_select_list("m")} FROM ratings_ratermessage m
    WHERE m.rater_id = %s AND m.read_at IS NULL ORDER BY m.id LIMIT 1
    """
# For checks, check answers replace the ratings; they have the same columns.
_IS_CHECK_SQL = """
    EXISTS (
        SELECT 1 FROM ratings_assignment a
        WHERE a.item_id = r.item_id AND a.rater_id = r.rater_id AND a.kind <> ''
    )
    """
_RATINGS_SQL = f"""
    SELECT {_RATING_ROW.build_select_list("r")} FROM ratings_rating r
    WHERE r.item_id = %s AND r.rater_id = %s AND NOT {_IS_CHECK_SQL}
    UNION ALL
    SELECT {_RATING_ROW.build_select_list("r")} FROM ratings_checkanswer r
    WHERE r.item_id = %s AND r.rater_id = %s AND r.is_current AND {_IS_CHECK_SQL}
    """


def get_rater(project: Project, user: Any) -> Rater | None:
    """Return the user's rater in the project, or None.

    ``rater.project`` is the object that was passed, with its role and prefetched questions.
    """
    [rows] = bulk.execute_statements([(_RATER_SQL, [project.pk, user.pk])])
    if not rows:
        return None
    rater = _RATER_ROW.build(rows[0])
    rater.project = project
    return rater


def get_item(rater: Rater, item_id: int) -> Item | None:
    """Return the item if it was ever assigned to the rater or rated by them, else None."""
    if item_id > MAX_ID:
        return None
    [rows] = bulk.execute_statements([(_ITEM_SQL, [item_id, rater.project_id, rater.pk, rater.pk])])
    return queue.ITEM_ROW.build(rows[0]) if rows else None


def get_unread_message(rater: Rater) -> RaterMessage | None:
    """Return the first message to the rater that is not marked as read, or None."""
    [rows] = bulk.execute_statements([(_UNREAD_SQL, [rater.pk])])
    return _MESSAGE_ROW.build(rows[0]) if rows else None


def get_item_work(
    rater: Rater, item: Item
) -> tuple[Assignment | None, list[Rating], RaterMessage | None]:
    """Return the rater's assignment of the item, their answers, and their first unread message.

    Assignment and message are None if there is none. The answers, one per question, are returned as
    ratings. All are read in one round trip.
    """
    parameters = [item.pk, rater.pk]
    assignment_rows, rating_rows, message_rows = bulk.execute_statements(
        [
            (_ASSIGNMENT_SQL, parameters),
            (_RATINGS_SQL, [*parameters, *parameters]),
            (_UNREAD_SQL, [rater.pk]),
        ]
    )
    message = _MESSAGE_ROW.build(message_rows[0]) if message_rows else None
    return (
        _build_assignment(assignment_rows),
        [_RATING_ROW.build(row) for row in rating_rows],
        message,
    )


def get_current_answers(rater: Rater, item: Item) -> dict[int, Rating]:
    """Return question id -> the rater's current answer to the item."""
    [rows] = bulk.execute_statements([(_RATINGS_SQL, [item.pk, rater.pk] * 2)])
    answers = [_RATING_ROW.build(row) for row in rows]
    return {answer.question_id: answer for answer in answers if answer.code != NO_CODE}


def get_last_guidelines_version(rater: Rater) -> int | None:
    """Return the guidelines version of the rater's latest rating; None if unknown."""
    latest = Rating.objects.filter(rater=rater).order_by("-changed_at")
    return latest.values_list("guidelines", flat=True).first()


LIST_FILTERS = ("flagged", "comment", "changed", "exam")  # filters of the rater's own list
MAX_ITEMS_SEARCHED = 2_000  # own items that may match a search text, each of which is checked


def list_rated_items(rater: Rater | None, *, search: str = "", show: str = "") -> Any:
    """Return the items with a current answer of the rater, most recently changed first.

    The rows are (is check answer, item id, time of the last change). ``search`` keeps items with
    this text, ``show`` is one of LIST_FILTERS. Exam answers are listed only by the filter "exam".
    Empty if ``rater`` is None.
    """
    if rater is None:
        return Rating.objects.none()
    check_items = Assignment.objects.checks().filter(rater=rater).values("item")
    ratings: Any = Rating.objects.current().filter(rater=rater).exclude(item__in=check_items)
    check_answers: Any = CheckAnswer.objects.current().filter(rater=rater, item__in=check_items)
    in_exam = models.Q(kind=Assignment.Kind.EXAM)
    querysets = [ratings, check_answers.exclude(in_exam)]
    if show == "exam":
        querysets = [ratings.none(), check_answers.filter(in_exam)]
    elif show == "changed":
        querysets = [rows.filter(_build_changed_filter(rows.model)) for rows in querysets]
    elif show == "comment":
        querysets = [rows.exclude(comment="") for rows in querysets]
    elif show == "flagged":
        flagged = Assignment.objects.filter(rater=rater, flagged=True).values("item")
        querysets = [rows.filter(item__in=flagged) for rows in querysets]
    if search:
        matching_ids = _find_item_ids(rater, search)
        querysets = [rows.filter(item__in=matching_ids) for rows in querysets]
    value_rows = [
        rows.order_by()
        .values_list(models.Value(is_check), "item")
        .annotate(last=models.Max("changed_at"))
        for is_check, rows in enumerate(querysets)
    ]
    return value_rows[0].union(value_rows[1], all=True).order_by("-last", "-item")


def count_repeated_items(rater: Rater) -> int:
    """Return the number of items that the rater answered twice because of a blind repeat."""
    repeats = CheckAnswer.objects.current().filter(rater=rater).exclude(kind=Assignment.Kind.EXAM)
    rated = Rating.objects.current().filter(rater=rater, item=models.OuterRef("item"))
    return repeats.filter(models.Exists(rated)).values("item").distinct().count()


def count_answered_exam_items(rater: Rater) -> int:
    """Return the number of items that the rater answered in exams."""
    answers = CheckAnswer.objects.current().filter(rater=rater, kind=Assignment.Kind.EXAM)
    return answers.values("item").distinct().count()


def _build_changed_filter(model: type[models.Model]) -> Any:
    """Return the condition that an earlier answer had another code or comment than the current row.

    An answer that was withdrawn and then given again is unchanged.
    """
    earlier: Any = Revision.objects.filter(rating=models.OuterRef("pk"))
    if model is CheckAnswer:
        key = {name: models.OuterRef(name) for name in ("item", "rater", "question")}
        earlier = CheckAnswer.objects.filter(is_current=False, **key)
    current = {name: models.OuterRef(name) for name in ("code", "comment")}
    return models.Exists(earlier.exclude(code=NO_CODE).exclude(**current))


def _find_item_ids(rater: Rater, text: str) -> list[int]:
    """Return ids of items with the text that the rater was assigned or rated, newest first.

    The database searches all of them. Of the items that it finds, the newest MAX_ITEMS_SEARCHED are
    checked, because it finds a few too many; the others are left out.
    """
    own_items = models.Q(assignments__rater=rater) | models.Q(ratings__rater=rater)
    rows = Item.objects.filter(own_items, project=rater.project_id).distinct()
    rows = rows.alias(text=Cast("body", models.TextField())).filter(
        selectors.build_text_filter(text)
    )
    return [
        item.pk
        for item in rows.order_by("-pk")[:MAX_ITEMS_SEARCHED]
        if selectors.contains_text(item, text)
    ]


def list_skipped(rater: Rater | None, *, search: str = "") -> Any:
    """Return the rater's skipped assignments, latest first; empty if ``rater`` is None.

    ``search`` keeps items with this text.
    """
    if rater is None:
        return Assignment.objects.none()
    rows = Assignment.objects.filter(rater=rater, state=Assignment.State.SKIPPED)
    if search:
        rows = rows.filter(item__in=_find_item_ids(rater, search))
    return rows.select_related("item").order_by("-closed_at", "-id")


def get_flagged_and_changed(
    rater: Rater, rows: Sequence[Rating | CheckAnswer]
) -> tuple[set[int], set[tuple[bool, int]]]:
    """Return ids of the items that the rater flagged, and (is check answer, id) of changed rows.

    ``rows`` are the answers to look up. Changed means that an earlier answer differs from the row.
    """
    items = {row.item_id for row in rows}
    flagged = Assignment.objects.filter(rater=rater, item__in=items, flagged=True)
    changed: set[tuple[bool, int]] = set()
    for model in (Rating, CheckAnswer):
        ids = [row.pk for row in rows if isinstance(row, model)]
        changed_rows = model._default_manager.filter(_build_changed_filter(model), pk__in=ids)
        changed |= {(model is CheckAnswer, pk) for pk in changed_rows.values_list("pk", flat=True)}
    return set(flagged.values_list("item_id", flat=True)), changed


def fetch_answers(
    rater: Rater, listed: Iterable[tuple[int, int, Any]]
) -> list[list[Rating | CheckAnswer]]:
    """Return the rater's current answers to each listed item, with item and question.

    ``listed`` are rows of ``list_rated_items``. Items whose answers were withdrawn meanwhile are
    left out.
    """
    keys = [(is_check, item_id) for is_check, item_id, _last in listed]
    answers_by_key: dict[tuple[int, int], list[Any]] = {key: [] for key in keys}
    models: tuple[Any, Any] = Rating, CheckAnswer
    for is_check, model in enumerate(models):
        items = [item_id for key_is_check, item_id in keys if key_is_check == is_check]
        rows = model.objects.current().filter(rater=rater, item__in=items)
        for row in rows.select_related("item", "question"):
            answers_by_key[is_check, row.item_id].append(row)
    return [answers_by_key[key] for key in keys if answers_by_key[key]]


def compute_answer_version(answers: Mapping[int, Rating]) -> str:
    """Return a digest of the current answers (question id -> answer); empty without any.

    A submission whose page showed another digest would overwrite answers that the page did not
    show.
    """
    values = sorted(
        (question_id, answer.code, answer.comment)
        for question_id, answer in answers.items()
        if answer.code != NO_CODE
    )
    return hashlib.blake2s(repr(values).encode(), digest_size=8).hexdigest() if values else ""


def get_labels(questions: Sequence[Question], codes: Mapping[int, int]) -> list[str]:
    """Return the labels of the codes (question id -> code), in the order of the questions.

    Questions without an answer, or with a withdrawn one, are left out.
    """
    names = []
    for question in questions:
        labels_by_code = {category.code: category.label for category in question.categories.all()}
        label = labels_by_code.get(codes.get(question.pk, NO_CODE))
        if label is not None:
            names.append(label)
    return names


class LockedAssignment(NamedTuple):
    """A rater's locked assignment of an item, with further state of the rater.

    ``assignment`` is None if the item was never assigned. ``last_closed_at``: when the rater last
    closed an assignment, or None. ``due_exam_question_id``: question of a due exam, or None.
    """

    assignment: Assignment | None
    last_closed_at: datetime.datetime | None
    due_exam_question_id: int | None


def lock_assignment(rater: Rater, item: Item) -> LockedAssignment:
    """Lock the rater's queue row and assignment of the item until the transaction ends."""
    assignment_query = (_ASSIGNMENT_SQL + hidden_checks.get_lock_clause(), [item.pk, rater.pk])
    *_, queue_rows, assignment_rows, exam_rows = bulk.execute_statements(
        [
            *hidden_checks.build_queue_lock(rater),
            assignment_query,
            permissions.build_due_exam_query(rater.pk),
        ]
    )
    [(last_closed_at,)] = queue_rows
    [(due_exam_question_id,)] = exam_rows
    return LockedAssignment(
        _build_assignment(assignment_rows),
        last_closed_at and ensure_aware(last_closed_at),
        due_exam_question_id,
    )


def _build_assignment(rows: list[tuple[Any, ...]]) -> Assignment | None:
    return _ASSIGNMENT_ROW.build(rows[0]) if rows else None
