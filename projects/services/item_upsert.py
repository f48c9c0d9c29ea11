"""Create and update items by key, with their gold answers, many in one call.

Repeating a call changes nothing.
"""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone
from rest_framework import serializers

from core import security_log
from core.api.errors import Conflict, RowProblem
from core.api.parameters import build_rows_error
from core.db import bulk
from projects import locks
from projects.models import Item, ItemVersion, Project, Question, has_content
from projects.services import gold
from projects.services.row_validation import (
    Counts,
    FieldSpec,
    RowData,
    describe_json_type,
    find_key_problem,
    get_existing_rows,
    validate_rows,
)

MAX_KEY_LENGTH = Item._meta.get_field("key").max_length or 0
MAX_BODY_LENGTH = 256 * 1024  # characters of names and values of an item's body or attributes
MAX_DEPTH = 50  # nested objects and lists
STATES = ("created", "changed", "unchanged")


def upsert_items(
    *,
    project: Project,
    rows: Sequence[Any],
    by: Any = None,
    is_import: bool = False,
    is_partial: bool = False,
) -> Counts:
    """Create or change items by key, all or none; fields that are left out keep their values.

    ``is_import``: a batch of an import, which has been validated and is logged as a whole;
    otherwise the audit log gets one line. ``is_partial``: rows change existing items and may leave
    out the body; raises Conflict if one does not exist. New items are queued in the order of the
    rows. The previous body of a changed item is kept as a version. Raises BadRequest with the
    errors of each row.
    """
    items = list(rows) if is_import else validate_rows("item", rows, FIELDS, is_partial=is_partial)
    with transaction.atomic():
        gold_answers = parse_gold_rows(project, items)
        existing = _get_existing_items(project, items)
        if is_partial and len(existing) < len(items):
            raise Conflict()
        now = timezone.now()
        changes = _find_changes(project, items, existing, now)
        store_item_versions(changes.ids_with_new_body, now=now, by=by)
        # Existing items by id: writers of ratings lock them in the same order.
        changes.changed.sort(key=itemgetter(0))
        _write_items([*(values for _id, values in changes.changed), *changes.created])
        apply_gold_rows(project, gold_answers, changes.states, by=by)
        if changes.changed or changes.created:
            Project.objects.filter(pk=project.pk).increment_items_and_raters_version()
            if not is_import:
                security_log.log_event(
                    "items_upserted",
                    project_id=project.pk,
                    by=getattr(by, "pk", None),
                    created=len(changes.created),
                    changed=len(changes.changed),
                )
    return {state: list(changes.states.values()).count(state) for state in STATES}


@dataclass
class _ItemChanges:
    """Items to create and to change. ``states``: {key: one of STATES} of all rows."""

    states: dict[str, str] = field(default_factory=dict)
    changed: list[tuple[int, tuple[Any, ...]]] = field(default_factory=list)  # id, columns
    created: list[tuple[Any, ...]] = field(default_factory=list)
    ids_with_new_body: list[int] = field(default_factory=list)


def _find_changes(
    project: Project, rows: Sequence[RowData], existing: Mapping[str, Any], now: datetime.datetime
) -> _ItemChanges:
    """Compare each row with the existing item of its key; return what is to be written.

    ``existing``: {key: state}, as ``_get_existing_items`` returns it.
    """
    changes, timestamp = _ItemChanges(), connection.ops.adapt_datetimefield_value(now)
    for row in rows:
        old_state = existing.get(row["key"])
        new_state = _build_new_state(row, old_state, timestamp)
        if old_state is not None and is_same_json(new_state, old_state):
            changes.states[row["key"]] = "unchanged"
            continue
        changes.states[row["key"]] = "created" if old_state is None else "changed"
        values = (project.pk, row["key"], *new_state.to_columns(), timestamp, timestamp)
        if old_state is None:
            changes.created.append(values)
            continue
        changes.changed.append((old_state.id, values))
        if old_state.has_content and not is_same_json(old_state.body, new_state.body):
            changes.ids_with_new_body.append(old_state.id)
    return changes


class _ItemState(NamedTuple):
    """The stored columns of an item. ``withdrawn_at`` has the database driver's own type."""

    id: int
    body: Any
    attributes: Any
    has_content: bool
    withdrawn_at: Any

    def to_columns(self) -> tuple[Any, ...]:
        texts = [json.dumps(part) if part else "{}" for part in (self.body, self.attributes)]
        return (*texts, self.has_content, self.withdrawn_at)


def _get_existing_items(project: Project, items: Sequence[RowData]) -> dict[str, _ItemState]:
    """Return {key: state} of the items that exist already.

    Also locks the project's items, so that nobody else creates one until the transaction ends.
    """
    columns = "id, body, attributes, has_content, withdrawn_at"
    existing = {}
    for key, (pk, body, attributes, *other_columns) in get_existing_rows(
        "projects_item", columns, project, items, before=locks.build_items_lock(project.pk)
    ).items():
        existing[key] = _ItemState(pk, json.loads(body), json.loads(attributes), *other_columns)
    return existing


def _build_new_state(row: RowData, old_state: _ItemState | None, now: Any) -> _ItemState:
    """Return the item's state after the row is applied; ``old_state`` is None for a new item."""
    if old_state is None:
        old_state = _ItemState(0, None, {}, False, None)
    withdrawn_at = old_state.withdrawn_at
    if "withdrawn" in row and row["withdrawn"] != (withdrawn_at is not None):
        withdrawn_at = now if row["withdrawn"] else None
    body = row.get("body", old_state.body)
    attributes = row.get("attributes", old_state.attributes)
    return _ItemState(old_state.id, body, attributes, has_content(body), withdrawn_at)


def _write_items(rows: Sequence[tuple[Any, ...]]) -> None:
    columns = ("body", "attributes", "has_content", "withdrawn_at", "changed_at")
    bulk.upsert(
        "projects_item",
        ("project_id", "key", *columns, "created_at"),
        rows,
        key=("project_id", "key"),
        update={column: f"excluded.{column}" for column in columns},
        keep_order=True,
    )


# --- gold answers in rows of items, by the labels of the project's questions

# question -> key of an item -> its answer, None to retire it
GoldAnswers = dict[Question, dict[str, gold.Answer | None]]


def parse_gold_rows(project: Project, items: Sequence[RowData]) -> GoldAnswers:
    """Return the gold answers in validated rows of items, as {question: {item key: answer}}.

    The answer is None where the current one is to be retired. Raises BadRequest with the errors of
    each row. Call it in the transaction that writes the answers, before items are locked: locks are
    always taken in this order.
    """
    used_keys = {key for row in items for key in row.get("gold", {})}
    if not used_keys:
        return {}
    questions = {question.key: question for question in project.questions.order_by("pk")}
    for question in questions.values():
        if question.key in used_keys:
            gold.lock_gold_answers(question)
    codes = {
        key: gold.get_codes_by_label(question)
        for key, question in questions.items()
        if key in used_keys
    }
    answers: GoldAnswers = {questions[key]: {} for key in codes}
    errors: dict[int, list[RowProblem]] = {}
    for index, row in enumerate(items):
        for key, value in row.get("gold", {}).items():
            try:
                if key not in codes:
                    raise gold.InvalidGoldAnswer(f"unknown question; one of {', '.join(questions)}")
                answer = None if value is None else gold.parse_answer(value, codes[key])
                answers[questions[key]][row["key"]] = answer
            except gold.InvalidGoldAnswer as error:
                message = f"'gold' of '{key[:64]}': {error}"
                errors.setdefault(index, []).append(RowProblem("invalid", "gold", message))
    if errors:
        raise build_rows_error("item", errors)
    return answers


def apply_gold_rows(
    project: Project, answers: GoldAnswers, states: dict[str, str], *, by: Any
) -> None:
    """Set and retire the gold answers that ``parse_gold_rows`` returned; their items must exist.

    ``states``: {item key: state}; "unchanged" becomes "changed" if an answer changed.
    """
    for question, answers_by_key in answers.items():
        ids = bulk.get_ids_by_key("projects_item", project.pk, list(answers_by_key))
        new_answers = [
            gold.NewGoldAnswer(ids[key], answer)
            for key, answer in answers_by_key.items()
            if answer is not None
        ]
        ids_to_retire = [ids[key] for key, answer in answers_by_key.items() if answer is None]
        set_states = gold.set_gold_answers(question=question, answers=new_answers, by=by)
        retired = set(gold.retire_gold_answers(question=question, item_ids=ids_to_retire, by=by))
        for key in answers_by_key:
            is_changed = set_states.get(ids[key], "unchanged") != "unchanged" or ids[key] in retired
            if is_changed and states[key] == "unchanged":
                states[key] = "changed"


def get_gold_by_item(
    questions: Iterable[Question], item_ids: Sequence[int]
) -> Mapping[int, dict[str, object]]:
    """Return {item id: {question key: answer by label}} of the current gold answers.

    Items without one are left out.
    """
    gold_by_item: dict[int, dict[str, object]] = {}
    for question in questions:
        labels = {category.code: category.label for category in question.categories.all()}
        for gold_answer in gold.get_gold_in_force(question, item_ids):
            gold_by_item.setdefault(gold_answer.item_id, {})[question.key] = gold.format_answer(
                gold_answer.answer, labels
            )
    return gold_by_item


def store_item_versions(item_ids: Sequence[int], *, now: datetime.datetime, by: Any) -> None:
    """Store the current bodies of these items as earlier versions.

    Call this in the transaction that changes them.
    """
    items = Item.objects.filter(pk__in=item_ids)
    if not item_ids:
        return
    # Read under the lock, because somebody else may have changed them meanwhile.
    locked = items.select_for_update(no_key=True).order_by("pk")
    ItemVersion.objects.bulk_create(
        [
            ItemVersion(item_id=pk, number=number, body=body, until=now, by=by)
            for pk, number, body in locked.values_list("pk", "version", "body")
        ],
        batch_size=500,
    )
    items.update(version=F("version") + 1, version_since=now)


def find_body_problem(body: Any) -> str | None:
    """Return the error message for an invalid body of an item, or None."""
    problem = _find_object_problem("body", body)
    if isinstance(body, dict) and not isinstance(body.get("text", ""), str):
        text_problem = f"'text' of 'body' must be a text, not {describe_json_type(body['text'])}"
        return f"{problem}; {text_problem}" if problem else text_problem
    return problem


def _find_gold_problem(gold: Any) -> str | None:
    if isinstance(gold, dict) and all(
        isinstance(answer, str | list | dict | None) for answer in gold.values()
    ):
        return None
    return (
        '\'gold\' must be an object of answers by question, like {"severity": "major"}, '
        '{"severity": ["major", "critical"]}, {"severity": {"major": 0.7, "minor": 0.3}}, '
        "or null for none"
    )


def _find_withdrawn_problem(withdrawn: Any) -> str | None:
    if isinstance(withdrawn, bool):
        return None
    return f"'withdrawn' must be true or false, not {describe_json_type(withdrawn)}"


def _find_object_problem(name: str, value: Any) -> str | None:
    if not isinstance(value, dict):
        return f"'{name}' must be an object, not {describe_json_type(value)}"
    if _is_small_and_flat(value):
        return None
    if any(isinstance(part, dict | list) for part in value.values()) and not _is_within_depth(
        value, MAX_DEPTH
    ):
        return f"'{name}' is nested deeper than {MAX_DEPTH} levels"
    if _estimate_json_length(value, MAX_BODY_LENGTH) > MAX_BODY_LENGTH:
        return f"'{name}' is larger than {MAX_BODY_LENGTH} characters; store the rest elsewhere"
    return None


def _is_small_and_flat(value: dict[str, object]) -> bool:
    """Return True if all values are texts, and short enough with their names, as in most items."""
    length = 0
    for name, part in value.items():
        if type(part) is not str:
            return False
        length += len(name) + len(part) + 2
    return length < MAX_BODY_LENGTH


def _estimate_json_length(value: Any, limit: int) -> int:
    """Estimate the length of a value as JSON; stop counting beyond the limit.

    Each value counts one character more than its text, so that many empty values are long, too.
    """
    total = 0
    pending = [value]
    while pending and total <= limit:
        part = pending.pop()
        if isinstance(part, str):
            total += len(part) + 1
        elif isinstance(part, dict):
            total += 1 + sum(map(len, part))
            pending += part.values()
        elif isinstance(part, list | tuple):
            total += 1
            pending += part
        else:
            total += len(str(part)) + 1
    return total + len(pending)


def _is_within_depth(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    parts = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_within_depth(part, levels - 1) for part in parts)


def is_same_json(first: Any, second: Any) -> bool:
    """Return True if two JSON values are equal; unlike in Python, true and 1 differ."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            is_same_json(value, second[name]) for name, value in first.items()
        )
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(is_same_json, first, second))
    return first == second and isinstance(first, bool) == isinstance(second, bool)


# All fields of an item, for the API and for imports of items.
FIELDS = {
    "key": FieldSpec(
        functools.partial(find_key_problem, max_length=MAX_KEY_LENGTH),
        serializers.CharField(
            max_length=MAX_KEY_LENGTH, help_text="Your own name of the item; unique in the project"
        ),
    ),
    "body": FieldSpec(
        find_body_problem,
        serializers.DictField(help_text='What the rater judges, like {"text": "..."}'),
    ),
    "attributes": FieldSpec(
        functools.partial(_find_object_problem, "attributes"),
        serializers.DictField(
            required=False, help_text="Anything else; kept as it is when left out"
        ),
    ),
    "gold": FieldSpec(
        _find_gold_problem,
        serializers.DictField(
            required=False,
            help_text="The right answer by question: a label, a list of those that are right, or "
            "shares of labels that add up to 1; null takes it away. Kept as it is when left out",
        ),
    ),
    "withdrawn": FieldSpec(
        _find_withdrawn_problem,
        serializers.BooleanField(
            required=False,
            help_text="Not given to raters any more; its ratings stay. Unchanged when left out",
        ),
    ),
}
