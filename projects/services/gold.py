"""Set and retire gold answers, the known correct answers of items.

Another answer is a new version, and earlier versions stay readable. An answer is a list of the
correct codes, or a share for each code of a distribution; in the database the codes of shares are
the keys of an object, which are texts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from core import security_log
from core.text import has_nul
from projects import locks
from projects.models import GoldAnswer, Item, Question
from projects.models.item import GoldQuerySet

Answer = list[int] | dict[int, float]
ElementT = TypeVar("ElementT")
GoldChanges = dict[int, tuple[Any, Any]]  # item -> stored answer before and after (None: none)

BATCH_SIZE = 5_000  # items
MAX_LOGGED_ITEMS = 100  # items listed in one entry of the audit log
MAX_EXPLANATION_LENGTH = 10_000
# The sum of rounded shares may differ from 1 by this much; stored shares are normalized.
SHARE_SUM_TOLERANCE = 0.005
EQUAL_DISTANCE = 1e-9  # 0.3 - 0.2 is a little less than 0.1


class InvalidGoldAnswer(ValueError):
    """The answer is not valid for the question; the message says why, in English."""


class NewGoldAnswer(NamedTuple):
    """A gold answer to set.

    ``explanation``: None keeps the current one if the answer does not change.
    """

    item_id: int
    answer: Answer
    explanation: str | None = None


def set_gold_answer(
    *, item: Item, question: Question, answer: Answer, by: Any, explanation: str = ""
) -> GoldAnswer:
    """Set the item's gold answer to a question of its project; return the current one.

    Nothing changes if the current one is the same. ``answer`` is a list of codes, or {code:
    share}. Raises InvalidGoldAnswer for a code that is no active category, and for shares that
    do not add up to 1.
    """
    set_gold_answers(
        question=question, answers=[NewGoldAnswer(item.pk, answer, explanation)], by=by
    )
    return get_gold_in_force(question, [item.pk]).get()


@transaction.atomic
def set_gold_answers(
    *, question: Question, answers: Iterable[NewGoldAnswer], by: Any
) -> dict[int, str]:
    """Set gold answers of items of the question's project, all or none.

    Returns {item id: "created", "changed" (a new version) or "unchanged"}. Raises InvalidGoldAnswer
    if an answer, an explanation or an item is not valid.
    """
    states: dict[int, str] = {}
    changes: GoldChanges = {}
    codes = lock_gold_answers(question)
    for batch in _iter_batches(answers):
        stored = {
            new_answer.item_id: _normalize_answer(new_answer.answer, codes) for new_answer in batch
        }
        _validate_explanations(batch)
        _validate_items(question, stored)
        current = {gold.item_id: gold for gold in get_gold_in_force(question, stored)}
        different = []
        for new_answer in batch:
            state = _get_write_outcome(
                new_answer, stored[new_answer.item_id], current.get(new_answer.item_id)
            )
            states[new_answer.item_id] = state
            if state != "unchanged":
                different.append(new_answer)
                previous = current.get(new_answer.item_id)
                changes[new_answer.item_id] = (
                    previous.answer if previous else None,
                    stored[new_answer.item_id],
                )
        _write_answers(question, different, stored, by)
    if changes:
        _log_changes(question, changes, by)
    return states


def retire_gold_answer(*, item: Item, question: Question, by: Any) -> bool:
    """Retire the item's gold answer to the question; return True if it had one.

    Its versions stay stored.
    """
    return bool(retire_gold_answers(question=question, item_ids=[item.pk], by=by))


@transaction.atomic
def retire_gold_answers(*, question: Question, item_ids: Iterable[int], by: Any) -> list[int]:
    """Retire the gold answers of many items; return the ids of those that had one."""
    lock_gold_answers(question)
    changes: GoldChanges = {}
    for batch in _iter_batches(item_ids):
        current = get_gold_in_force(question, batch)
        answers_by_item = dict(current.values_list("item_id", "answer"))
        now = timezone.now()
        current.update(retired_at=now, retired_by=by)
        Item.objects.filter(pk__in=list(answers_by_item)).update(changed_at=now)
        changes |= {item: (answer, None) for item, answer in answers_by_item.items()}
    if changes:
        _log_changes(question, changes, by)
    return list(changes)


def get_gold_in_force(question: Question, item_ids: Iterable[int]) -> GoldQuerySet:
    """Return the current gold answers of these items to a question.

    ``item_ids``: at most some thousands, because they become parameters of one query.
    """
    return GoldAnswer.objects.in_force().filter(question=question, item__in=list(item_ids))


def lock_gold_answers(question: Question) -> set[int]:
    """Lock the question's gold answers and categories until the transaction ends.

    Returns the codes of the active categories. Writers of ratings are not blocked.
    """
    locks.share_categories_lock(question.pk)
    # This lock does not block those who insert ratings, which only need the row to exist.
    Question.objects.select_for_update(no_key=True).get(pk=question.pk)
    active = question.categories.filter(retired=False)
    return set(active.values_list("code", flat=True))


def get_right_codes(
    answer: Collection[int], positions: Mapping[int, float], tolerance: float
) -> frozenset[int]:
    """Return the codes that count as right: those within ``tolerance`` of a code of the answer.

    ``positions``: as ``get_positions`` returns them; the tolerance is a difference of positions.
    Codes of ``answer`` without a position are left out.
    """
    right_positions = [positions[code] for code in answer if code in positions]
    return frozenset(
        code
        for code, position in positions.items()
        if any(abs(position - right) <= tolerance + EQUAL_DISTANCE for right in right_positions)
    )


def get_positions(question: Question) -> dict[int, float]:
    """Return {code: numeric value, or else rank from 0} of the active categories."""
    categories = question.active_categories()
    if question.has_values:
        values = {category.code: category.value for category in categories}
        return {code: value for code, value in values.items() if value is not None}
    return {category.code: place for place, category in enumerate(categories)}


def count_gold_uses(question_id: int, codes: Iterable[int]) -> dict[int, int]:
    """Return {code: number of current gold answers with it}, without unused codes.

    Registered in projects.hooks.COUNT_IN_USE.
    """
    code_set = set(codes)
    uses: Counter[int] = Counter()
    rows = GoldAnswer.objects.in_force().filter(question=question_id)
    for answer in rows.values_list("answer", flat=True).iterator(chunk_size=BATCH_SIZE):
        uses.update(code_set.intersection(map(int, answer)))
    return dict(uses)


# --- answers by label, as in forms, files and the API


def get_codes_by_label(question: Question) -> dict[str, int]:
    """Return {label: code} of the active categories, in declared order."""
    return {category.label: category.code for category in question.active_categories()}


def parse_answer(value: Any, codes: Mapping[str, int]) -> Answer:
    """Return the answer that a label, a list of labels or an object of shares by label denotes.

    ``codes`` maps the labels of active categories to their codes. Raises InvalidGoldAnswer for any
    other value and for an unknown label.
    """
    labels = [value] if isinstance(value, str) else value
    if not isinstance(labels, list | dict) or not all(
        isinstance(label_value, str) for label_value in labels
    ):
        raise InvalidGoldAnswer(
            'must be a label, a list of labels, or shares like {"minor": 0.7, ...}'
        )
    for label in labels:
        if label not in codes:
            raise InvalidGoldAnswer(f"unknown label '{label[:60]}'; one of {', '.join(codes)}")
    if isinstance(labels, dict):
        answer: Answer = {codes[label]: share for label, share in labels.items()}
    else:
        answer = [codes[label] for label in labels]
    _normalize_answer(answer, set(codes.values()))
    return answer


def format_answer(stored: Any, labels: Mapping[int, str]) -> Any:
    """Return a stored answer with labels instead of codes.

    It is a label, a list of several labels, or {label: share}. ``labels``: {code: label}; a code
    without a label is shown as its number.
    """
    if isinstance(stored, dict):
        return {labels.get(int(code), code): share for code, share in stored.items()}
    label_list = [labels.get(code, str(code)) for code in stored]
    return label_list[0] if len(label_list) == 1 else label_list


# --- one answer


def _normalize_answer(answer: Answer, codes: set[int]) -> Any:
    """Return the answer in its stored form, which is the same for equal answers.

    ``codes``: those of the active categories. Raises InvalidGoldAnswer for an empty answer, a
    category that is unknown or named twice, and shares that are no parts of 1.
    """
    if not answer:
        raise InvalidGoldAnswer("names no category")
    unknown = sorted(set(answer) - codes)
    if unknown:
        raise InvalidGoldAnswer(f"the question has no category with the code {unknown[0]}")
    if not isinstance(answer, dict):
        if len(set(answer)) != len(answer):
            raise InvalidGoldAnswer("names a category twice")
        return sorted(answer)
    for share in answer.values():
        if isinstance(share, bool) or not isinstance(share, int | float):
            raise InvalidGoldAnswer("each share must be a number")
        if not math.isfinite(share) or share < 0:
            raise InvalidGoldAnswer("a share cannot be negative or endless")
    total = math.fsum(answer.values())
    if abs(total - 1) > SHARE_SUM_TOLERANCE:
        raise InvalidGoldAnswer(f"the shares must add up to 1, not {total:.6g}")
    positive = {code: answer[code] / total for code in sorted(answer) if answer[code] > 0}
    if len(positive) == 1:
        return list(positive)
    return {str(code): share for code, share in positive.items()}


def _get_write_outcome(new_answer: NewGoldAnswer, stored: Any, current: GoldAnswer | None) -> str:
    if current is None:
        return "created"
    is_same = current.answer == stored and new_answer.explanation in (None, current.explanation)
    return "unchanged" if is_same else "changed"


def _validate_explanations(batch: Sequence[NewGoldAnswer]) -> None:
    for new_answer in batch:
        text = new_answer.explanation or ""
        if len(text) > MAX_EXPLANATION_LENGTH or has_nul(text):
            raise InvalidGoldAnswer(
                f"an explanation has {MAX_EXPLANATION_LENGTH} characters at most, and no NUL"
            )


# --- rows


def _validate_items(question: Question, answers_by_item: Mapping[int, Any]) -> None:
    n_known = Item.objects.filter(project=question.project_id, pk__in=list(answers_by_item)).count()
    if n_known != len(answers_by_item):
        raise InvalidGoldAnswer("an item is not of the question's project")


def _write_answers(
    question: Question, new_answers: Sequence[NewGoldAnswer], stored: Mapping[int, Any], by: Any
) -> None:
    ids = [new_answer.item_id for new_answer in new_answers]
    versions = GoldAnswer.objects.filter(question=question, item__in=ids).order_by()
    last_versions = dict(versions.values_list("item").annotate(Max("version")))
    now = timezone.now()
    get_gold_in_force(question, ids).update(retired_at=now, retired_by=by)
    Item.objects.filter(pk__in=ids).update(changed_at=now)
    GoldAnswer.objects.bulk_create(
        [
            GoldAnswer(
                item_id=new_answer.item_id,
                question=question,
                version=last_versions.get(new_answer.item_id, 0) + 1,
                answer=stored[new_answer.item_id],
                explanation=new_answer.explanation or "",
                by=by,
                created_at=now,
            )
            for new_answer in new_answers
        ],
        batch_size=500,
    )


def _iter_batches(values: Iterable[ElementT]) -> Iterator[list[ElementT]]:
    iterator = iter(values)
    while batch := list(islice(iterator, BATCH_SIZE)):
        yield batch


def _log_changes(question: Question, changes: GoldChanges, by: Any) -> None:
    """Log the number of changes, and the first MAX_LOGGED_ITEMS by item key and labels."""
    logged_items = list(changes)[:MAX_LOGGED_ITEMS]
    keys = dict(Item.objects.filter(pk__in=logged_items).values_list("pk", "key"))
    labels = dict(question.categories.values_list("code", "label"))
    before, after = (
        {
            keys[item]: format_answer(changes[item][side], labels)
            for item in logged_items
            if changes[item][side] is not None
        }
        for side in (0, 1)
    )
    security_log.log_event(
        "gold_changed",
        project_id=question.project_id,
        by=None if by is None else by.pk,
        question=question.key,
        items=len(changes),
        before=before,
        after=after,
    )
