"""The one way in. A rating is on disk, with its history, before anybody is answered."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from projects.models import Question
from ratings import changes
from ratings.models import NOTHING

from . import places, writing
from .judgement import KEPT, Judgement, Outcome, UnknownCode
from .standing import InForce, Standing, read_and_lock

Judgements = Mapping[Question, Sequence[Judgement]]


@transaction.atomic(savepoint=False)
def record(judgements: Judgements, *, by: Any, source: str) -> Outcome:
    """Write what ``by`` said about questions of one project, with its history; after the commit,
    hint that there is something to count.

    All or nothing: what it raises ends the transaction that it is part of. The judgements of a
    question name each (item, rater) once. Raises UnknownCode when a code is not an active category.
    A judgement that says what already stands changes nothing. ``rated_at`` stays what it was unless
    the source brings one; a rating given again after a withdrawal is a new rating.
    """
    outcome = Outcome()
    by_id = by.pk if by is not None else None
    written: list[tuple[Judgement, int]] = []
    # In one order for all writers: question by question, and after all ratings the items whose
    # places they take. Who held an item while asking for the next question's ratings could wait in
    # a circle with who came from there.
    questions = sorted(judgements, key=lambda question: question.pk)
    for question in questions:
        said = judgements[question]
        in_force, standing = read_and_lock(question, {(new.item_id, new.rater_id) for new in said})
        _check_codes(question, said, in_force)
        shared = writing.Circumstances(timezone.now(), by_id, source, in_force)
        rows = []
        for new in said:
            old = standing.get((new.item_id, new.rater_id))
            row = _next_row(new, old, now=shared.now)
            _tally(outcome, new, old, row)
            if row is not None:
                rows.append(row)
                written.append((new, NOTHING if old is None else old.code))
        then = []
        if question == questions[-1]:
            then = places.following(written, overlap=question.project.overlap)
        writing.write(question.pk, rows, shared, then=then)
        if rows:
            changes.announce(question.pk)
    return outcome


def _check_codes(question: Question, said: Sequence[Judgement], in_force: InForce) -> None:
    unknown = {new.code for new in said} - in_force.codes - {NOTHING}
    if unknown:
        raise UnknownCode(f"no category of question '{question.key}' has the code {min(unknown)}")


def _next_row(
    new: Judgement, old: Standing | None, *, now: datetime.datetime
) -> writing.Row | None:
    """The row to write, or None when nothing changes."""
    if old is None:
        if new.code == NOTHING:
            return None
        kept = [getattr(new, name) or "" for name in KEPT]
        return writing.Row(new, new.rated_at or now, tuple(kept))
    if new.code == NOTHING:
        rated_at = old.rated_at
    elif old.code == NOTHING:
        rated_at = new.rated_at or now
    else:
        rated_at = new.rated_at or old.rated_at
    kept = []
    for name, before in zip(KEPT, old.kept, strict=True):
        sent = getattr(new, name)
        kept.append(before if sent is None else sent)
    if (new.code, rated_at, tuple(kept)) == old:
        return None
    return writing.Row(new, rated_at, tuple(kept))


def _tally(outcome: Outcome, new: Judgement, old: Standing | None, row: writing.Row | None) -> None:
    if row is None:
        outcome.unchanged += 1
    elif new.code == NOTHING:
        outcome.withdrawn += 1
    elif old is None or old.code == NOTHING:
        outcome.created += 1
    else:
        outcome.changed += 1
