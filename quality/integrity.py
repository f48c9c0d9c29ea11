"""Are the stored scores on gold, of repeats, and where raters stand in drift what the ratings come
to? They are made again in memory and compared, each rater and each field. (Labels:
quality.consensus.integrity.)

What waits to be made anew anyway is not compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Model
from django.utils import timezone

from metrics.integrity.audit_hooks import Stored
from projects.models import Question
from quality.alerts import sweep
from quality.alerts.detection import input_version as alarms_stamp
from quality.alerts.detection import scan, storage
from quality.gold import input_version as gold_stamp
from quality.gold import recompute as gold
from quality.models import (
    DriftRun,
    DriftStanding,
    GoldItem,
    GoldScore,
    GoldState,
    Renewed,
    RepeatScore,
    RepeatState,
)
from quality.recompute import Stamps
from quality.repeats import recompute as repeats

NEAR = 1e-9  # of numbers: the order of sums is nobody's promise


def of_gold(question_id: int) -> list[str]:
    row = _current(GoldState, question_id, gold_stamp.stamps(question_id))
    if row is None:
        return []
    each, items, summary = gold.anew(_question(question_id), row.bar)
    return [
        *_unlike("GoldState", row, GoldState(**summary), summary),
        *_differences(GoldScore, question_id, each, key="rater_id"),
        *_differences(GoldItem, question_id, items, key="item_id"),
    ]


def of_repeats(question_id: int) -> list[str]:
    row = _current(RepeatState, question_id, repeats.stamps(question_id))
    if row is None:
        return []
    each, whole = repeats.anew(_question(question_id))
    fresh: Any = whole
    return [
        *_unlike("RepeatState", row, RepeatState(**fresh), whole),
        *_differences(RepeatScore, question_id, each, key="rater_id"),
    ]


def of_drift(question_id: int) -> list[str]:
    if _current(DriftRun, question_id, alarms_stamp.stamps(question_id)) is None:
        return []
    question = _question(question_id)
    looked = scan.look(question, today=timezone.now().date())
    fresh = storage.standings(question, looked.drift) if looked.drift else []
    return _differences(DriftStanding, question_id, fresh, key="rater_id")


ALL = [
    Stored(of_gold, lambda question: gold.renew(question, at_once=True)),
    Stored(of_repeats, lambda question: repeats.renew(question, at_once=True)),
    Stored(of_drift, lambda question: sweep.renew(question, at_once=True)),
]


def _question(question_id: int) -> Question:
    questions = Question.objects.select_related("project").prefetch_related("categories")
    return questions.get(pk=question_id)


def _current(rows: type[Renewed], question_id: int, stamps: Stamps) -> Any:
    """The row that was made of what stands now; None where there is none."""
    row = rows._default_manager.filter(pk=question_id).first()
    if row is None or row.made_at is None or row.rests_on != stamps.get(question_id):
        return None
    return row


def _differences(
    rows: type[Model], question_id: int, fresh: Sequence[Model], *, key: str
) -> list[str]:
    """Of the question's rows, one of each ``key``: what is too many, missing, or other than
    ``fresh``."""
    what = f"{rows.__name__} of {key.removesuffix('_id')}"
    stored = {getattr(row, key): row for row in rows._default_manager.filter(question=question_id)}
    made = {getattr(row, key): row for row in fresh}
    left = (field.attname for field in rows._meta.concrete_fields if not field.primary_key)
    fields = [name for name in left if name != "question_id"]
    found = [f"{what} {one}: too many" for one in sorted(stored.keys() - made.keys())]
    found += [f"{what} {one}: missing" for one in sorted(made.keys() - stored.keys())]
    for one in sorted(stored.keys() & made.keys()):
        found += _unlike(f"{what} {one}", stored[one], made[one], fields)
    return found


def _unlike(what: str, stored: Model, fresh: Model, fields: Iterable[str]) -> list[str]:
    return [
        f"{what}: {name} is not the one made anew"
        for name in fields
        if not _same(getattr(stored, name), getattr(fresh, name))
    ]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=NEAR, abs_tol=NEAR)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
