"""What stands apart is written as a rating is: under the same rules, with its history, and never
read by the counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from projects.models import Question
from ratings.models import NOTHING, Apart, Assignment

from . import permissions
from .current_ratings import InForce, read_and_lock
from .judgement import KEPT, Judgement, UnknownCode

LINES_AT_ONCE = 500


@transaction.atomic
def record_apart(
    judgements: Mapping[Question, Judgement],
    *,
    why: str,
    by: Any,
    source: str,
    closed: bool = False,
) -> None:
    """Write what the rater says of one hidden item, or one of an exam, a judgement a question;
    NOTHING takes it back.

    All or nothing. What stands already changes nothing. ``closed``: the rater is done with the item
    and may not correct. Raises UnknownCode, Archived, and CorrectionsClosed as
    ratings.services.record does. The caller holds the assignment's lock.
    """
    for question in sorted(judgements, key=lambda question: question.pk):
        new = judgements[question]
        pair = (new.item_id, new.rater_id)
        in_force, ratings = read_and_lock(question, {pair})
        if in_force.archived:
            raise permissions.Archived
        if new.code not in in_force.codes | {NOTHING}:
            raise UnknownCode(f"no category of question '{question.key}' has the code {new.code}")
        mine = Apart.objects.filter(
            question=question, item=new.item_id, rater=new.rater_id, stands=True
        )
        old = mine.first()
        line = _next_line(new, old, in_force)
        if line is None:
            continue
        if closed:
            in_exam = why == Assignment.Why.EXAM
            raise permissions.ExamStands if in_exam else permissions.CorrectionsClosed
        line.question, line.why, line.by, line.source = question, why, by, source
        if why == Assignment.Why.REPEAT and pair in ratings:
            # Corrected, it is still compared with what had been said before it.
            line.first = ratings[pair].code if old is None or old.first is None else old.first
        mine.update(stands=False)
        line.save()


@transaction.atomic
def record_repeats(said: Mapping[Question, Sequence[Judgement]], *, by: Any, source: str) -> int:
    """Keep second answers that a source brings, each beside the rating that stands: as a repeat of
    it, which changes nothing else. How many were kept: where something of the rater and the item
    stands apart already, or no rating stands, nothing is.

    Each (item, rater) once a question. Raises UnknownCode and Archived.
    """
    kept = 0
    for question in sorted(said, key=lambda question: question.pk):
        by_pair = {(new.item_id, new.rater_id): new for new in said[question]}
        in_force, ratings = read_and_lock(question, set(by_pair))
        if in_force.archived:
            raise permissions.Archived
        if unknown := {new.code for new in by_pair.values()} - in_force.codes:
            raise UnknownCode(f"no category of '{question.key}' has the code {min(unknown)}")
        there = Apart.objects.filter(
            question=question,
            stands=True,
            item__in={item for item, _rater in by_pair},
            rater__in={rater for _item, rater in by_pair},
        )
        taken = set(there.values_list("item_id", "rater_id"))
        lines = [
            _repeat(new, ratings[pair].code, in_force)
            for pair, new in by_pair.items()
            if pair not in taken and pair in ratings and ratings[pair].code != NOTHING
        ]
        for line in lines:
            line.question, line.by, line.source = question, by, source
        Apart.objects.bulk_create(lines, batch_size=LINES_AT_ONCE)
        kept += len(lines)
    return kept


def _repeat(new: Judgement, first: int, in_force: InForce) -> Apart:
    now = timezone.now()
    return Apart(
        item_id=new.item_id,
        rater_id=new.rater_id,
        why=Assignment.Why.REPEAT,
        code=new.code,
        first=first,
        rated_at=new.rated_at or now,
        changed_at=now,
        seconds=new.seconds,
        **{name: _text(name, new, None) for name in KEPT},
        guidelines=in_force.guidelines.stamp(new.rated_at, new.guidelines),
        item_version=in_force.content_of(new.item_id).stamp(new.rated_at, new.item_version),
    )


def _next_line(new: Judgement, old: Apart | None, in_force: InForce) -> Apart | None:
    """The line to write, without what all lines of a call share; None when nothing changes."""
    if old is None and new.code == NOTHING:
        return None
    now = timezone.now()
    texts = {name: _text(name, new, old) for name in KEPT}
    begins = old is None or (old.code == NOTHING and new.code != NOTHING)
    if old is not None and new.code == old.code and texts == _texts(old):
        return None
    seconds = new.seconds
    if seconds is None and old is not None:
        seconds = old.seconds
    return Apart(
        item_id=new.item_id,
        rater_id=new.rater_id,
        code=new.code,
        rated_at=now if old is None or begins else old.rated_at,
        changed_at=now,
        seconds=seconds,
        **texts,
        guidelines=in_force.guidelines.stamp(None, new.guidelines),
        item_version=in_force.content_of(new.item_id).stamp(None, new.item_version),
    )


def _texts(line: Apart) -> dict[str, str]:
    return {name: getattr(line, name) for name in KEPT}


def _text(name: str, new: Judgement, old: Apart | None) -> str:
    """What is said now; what stood where nothing is."""
    said: str | None = getattr(new, name)
    if said is None:
        said = getattr(old, name) if old is not None else ""
    return said
