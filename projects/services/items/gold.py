"""Gold answers: what is known to be right of an item. Another answer is a new version, and what was
set before stays to be read.

An answer is a list of the codes that are right, or a share for each code of a distribution; in the
database its codes are the keys of an object, which are texts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from core import security_log
from core.db import bulk
from core.text import has_nul
from projects import locks
from projects.models import GoldAnswer, Item, Question
from projects.querysets import GoldQuerySet

Answer = list[int] | dict[int, float]
One = TypeVar("One")
Moved = dict[int, tuple[Any, Any]]  # item -> stored answer before and after; None: none

AT_ONCE = 5_000  # items
MOST_TOLD = 100  # of them a line of the trail names
LONGEST_EXPLANATION = 10_000
# Shares may be off by so much, for they were rounded by somebody; they are stored as adding up.
ROUNDING = 0.005


class InvalidGold(ValueError):
    """What was said is no answer to the question; the message says why, in English."""


class New(NamedTuple):
    """A gold answer to set. An ``explanation`` of None stays what it is while the answer does."""

    item_id: int
    answer: Answer
    explanation: str | None = None


def set_gold(
    *, item: Item, question: Question, answer: Answer, by: Any, explanation: str = ""
) -> GoldAnswer:
    """Make this the item's gold answer to a question of its project; the one in force, which may
    say the same already.

    ``answer`` is a list of codes, or {code: share}. Raises InvalidGold for a code that is no active
    category, and shares that do not add up to 1.
    """
    set_many(question=question, answers=[New(item.pk, answer, explanation)], by=by)
    return in_force(question, [item.pk]).get()


@transaction.atomic
def set_many(*, question: Question, answers: Iterable[New], by: Any) -> dict[int, str]:
    """Set gold answers of items of the question's project, each item once: item -> "created",
    "changed" (a new version), or "unchanged". All or nothing; raises InvalidGold."""
    states: dict[int, str] = {}
    moved: Moved = {}
    codes = hold(question)
    for part in _parts(answers):
        stored = {new.item_id: _stored(new.answer, codes) for new in part}
        _check_explanations(part)
        _check_items(question, stored)
        old = {gold.item_id: gold for gold in in_force(question, stored)}
        different = []
        for new in part:
            state = _state(new, stored[new.item_id], old.get(new.item_id))
            states[new.item_id] = state
            if state != "unchanged":
                different.append(new)
                stood = old.get(new.item_id)
                moved[new.item_id] = stood.answer if stood else None, stored[new.item_id]
        _write(question, different, stored, by)
    if moved:
        _tell(question, moved, by)
    return states


def retire_gold(*, item: Item, question: Question, by: Any) -> bool:
    """The item has no gold answer to the question any more; whether it had one. History stays."""
    return bool(retire_many(question=question, item_ids=[item.pk], by=by))


@transaction.atomic
def retire_many(*, question: Question, item_ids: Iterable[int], by: Any) -> list[int]:
    """The same for many items; those that had one."""
    hold(question)
    moved: Moved = {}
    for part in _parts(item_ids):
        found = in_force(question, part)
        these = dict(found.values_list("item_id", "answer"))
        now = timezone.now()
        found.update(retired_at=now, retired_by=by)
        Item.objects.filter(pk__in=list(these)).update(changed_at=now)
        moved |= {item: (answer, None) for item, answer in these.items()}
    if moved:
        _tell(question, moved, by)
    return list(moved)


def in_force(question: Question, item_ids: Iterable[int]) -> GoldQuerySet:
    """The gold answers to a question that some thousand items have now."""
    return GoldAnswer.objects.in_force().filter(question=question, item__in=list(item_ids))


def hold(question: Question) -> set[int]:
    """The codes of the active categories. Until the transaction ends nobody else sets gold answers
    of the question, and its categories stay."""
    bulk.several(locks.hold_categories(question.pk))
    # Not against those who insert ratings: these only need the row to stay.
    Question.objects.select_for_update(no_key=True).get(pk=question.pk)
    active = question.categories.filter(retired=False)
    return set(active.values_list("code", flat=True))


def count_in_use(question_id: int, codes: Iterable[int]) -> dict[int, int]:
    """code -> gold answers in force that name it: a listener of projects.hooks."""
    wanted = set(codes)
    found: Counter[int] = Counter()
    rows = GoldAnswer.objects.in_force().filter(question=question_id)
    for answer in rows.values_list("answer", flat=True).iterator(chunk_size=AT_ONCE):
        found.update(wanted.intersection(map(int, answer)))
    return dict(found)


# --- as people and other programs say it: by labels


def read_answer(said: Any, codes: Mapping[str, int]) -> Answer:
    """The answer that a label, a list of labels, or an object of shares by label says. ``codes``
    are of the active categories by their labels. Raises InvalidGold."""
    labels = [said] if isinstance(said, str) else said
    if not isinstance(labels, list | dict) or not all(isinstance(one, str) for one in labels):
        raise InvalidGold('must be a label, a list of labels, or shares like {"minor": 0.7, ...}')
    for label in labels:
        if label not in codes:
            raise InvalidGold(f"unknown label '{label[:60]}'; one of {', '.join(codes)}")
    if isinstance(labels, dict):
        answer: Answer = {codes[label]: share for label, share in labels.items()}
    else:
        answer = [codes[label] for label in labels]
    _stored(answer, set(codes.values()))
    return answer


def shown(stored: Any, labels: Mapping[int, str]) -> Any:
    """A stored answer by labels: one, a list of several, or {label: share}. A code without a label
    is shown as its number."""
    if isinstance(stored, dict):
        return {labels.get(int(code), code): share for code, share in stored.items()}
    named = [labels.get(code, str(code)) for code in stored]
    return named[0] if len(named) == 1 else named


# --- one answer


def _stored(answer: Answer, codes: set[int]) -> Any:
    """The answer as the database has it: the same whoever says the same."""
    if not answer:
        raise InvalidGold("names no category")
    unknown = sorted(set(answer) - codes)
    if unknown:
        raise InvalidGold(f"the question has no category with the code {unknown[0]}")
    if not isinstance(answer, dict):
        if len(set(answer)) != len(answer):
            raise InvalidGold("names a category twice")
        return sorted(answer)
    for share in answer.values():
        if isinstance(share, bool) or not isinstance(share, int | float):
            raise InvalidGold("each share must be a number")
        if not math.isfinite(share) or share < 0:
            raise InvalidGold("a share cannot be negative or endless")
    whole = math.fsum(answer.values())
    if abs(whole - 1) > ROUNDING:
        raise InvalidGold(f"the shares must add up to 1, not {whole:.6g}")
    above = {code: answer[code] / whole for code in sorted(answer) if answer[code] > 0}
    if len(above) == 1:
        return list(above)
    return {str(code): share for code, share in above.items()}


def _state(new: New, stored: Any, old: GoldAnswer | None) -> str:
    if old is None:
        return "created"
    same = old.answer == stored and new.explanation in (None, old.explanation)
    return "unchanged" if same else "changed"


def _check_explanations(part: Sequence[New]) -> None:
    for new in part:
        text = new.explanation or ""
        if len(text) > LONGEST_EXPLANATION or has_nul(text):
            raise InvalidGold(
                f"an explanation has {LONGEST_EXPLANATION} characters at most, and no NUL"
            )


# --- rows


def _check_items(question: Question, wanted: Mapping[int, Any]) -> None:
    known = Item.objects.filter(project=question.project_id, pk__in=list(wanted)).count()
    if known != len(wanted):
        raise InvalidGold("an item is not of the question's project")


def _write(question: Question, new: Sequence[New], stored: Mapping[int, Any], by: Any) -> None:
    ids = [one.item_id for one in new]
    of_items = GoldAnswer.objects.filter(question=question, item__in=ids).order_by()
    last = dict(of_items.values_list("item").annotate(Max("version")))
    now = timezone.now()
    in_force(question, ids).update(retired_at=now, retired_by=by)
    Item.objects.filter(pk__in=ids).update(changed_at=now)
    GoldAnswer.objects.bulk_create(
        [
            GoldAnswer(
                item_id=one.item_id,
                question=question,
                version=last.get(one.item_id, 0) + 1,
                answer=stored[one.item_id],
                explanation=one.explanation or "",
                by=by,
                made_at=now,
            )
            for one in new
        ],
        batch_size=500,
    )


def _parts(values: Iterable[One]) -> Iterator[list[One]]:
    rest = iter(values)
    while part := list(islice(rest, AT_ONCE)):
        yield part


def _tell(question: Question, moved: Moved, by: Any) -> None:
    """To the trail: the first items by their keys, answers by labels."""
    first = list(moved)[:MOST_TOLD]
    keys = dict(Item.objects.filter(pk__in=first).values_list("pk", "key"))
    labels = dict(question.categories.values_list("code", "label"))
    before, after = (
        {
            keys[item]: shown(moved[item][at], labels)
            for item in first
            if moved[item][at] is not None
        }
        for at in (0, 1)
    )
    security_log.event(
        "gold_changed",
        project_id=question.project_id,
        by=None if by is None else by.pk,
        question=question.key,
        items=len(moved),
        before=before,
        after=after,
    )
