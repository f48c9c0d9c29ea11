"""The one way in. A rating is on disk, with its history, before anybody is answered."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from projects.models import Question
from ratings import changes
from ratings.models import NOTHING

from . import permissions, record_sql, slots
from .current_ratings import InForce, Standing, read_and_lock
from .judgement import KEPT, Judgement, Outcome, UnknownCode

Judgements = Mapping[Question, Sequence[Judgement]]


class Said(NamedTuple):
    """What one user says at once."""

    judgements: Judgements
    by: Any
    # Of a rater who may not correct: the items that they are done with (permitted.py)
    closed: Collection[int] | None = None


def record(
    judgements: Judgements,
    *,
    by: Any,
    source: str,
    closed: Collection[int] | None = None,
    erasing: bool = False,
) -> Outcome:
    """Write what ``by`` said about questions of one project, with its history; after the commit,
    hint that there is something to count.

    All or nothing: what it raises ends the transaction that it is part of. The judgements of a
    question name each (item, rater) once. Raises UnknownCode when a code is not an active category,
    CorrectionsClosed when a change is not allowed (``closed``, see permitted.refuse_correction),
    and Archived in a project that rests, unless it is withdrawn to be deleted (``erasing``). A
    judgement that says what already stands changes nothing. ``rated_at`` stays what it was unless
    the source brings one; a rating given again after a withdrawal is a new rating.
    """
    return record_each([Said(judgements, by, closed)], source=source, erasing=erasing)[0]


@transaction.atomic(savepoint=False)
def record_each(said: Sequence[Said], *, source: str, erasing: bool = False) -> list[Outcome]:
    """`record` of what several users say in one go, none of whom names a rating that another one
    names; the outcome of each."""
    outcomes = [Outcome() for _one in said]
    written: list[tuple[Judgement, int]] = []
    # In one order for all writers: question by question, and after all ratings the items whose
    # places they take. Who held an item while asking for the next question's ratings could wait in
    # a circle with who came from there.
    asked = {question for one in said for question in one.judgements}
    questions = sorted(asked, key=lambda question: question.pk)
    for question in questions:
        each = list(_each(said, outcomes, question))
        judgements = [new for new, _one, _outcome in each]
        wanted = {(new.item_id, new.rater_id) for new in judgements}
        in_force, standing = read_and_lock(question, wanted)
        if in_force.archived and not erasing:
            raise permissions.Archived
        _check_codes(question, judgements, in_force)
        shared = record_sql.Circumstances(timezone.now(), source, in_force)
        rows = []
        for new, one, outcome in each:
            old = standing.get((new.item_id, new.rater_id))
            by_id = one.by.pk if one.by is not None else None
            row = _next_row(new, old, by_id=by_id, now=shared.now)
            _tally(outcome, new, old, row)
            if row is not None:
                permissions.refuse_correction(new.item_id, old and old.code, one.closed)
                rows.append(row)
                written.append((new, NOTHING if old is None else old.code))
        then = []
        if question == questions[-1]:
            then = slots.following(written, overlap=question.project.overlap)
        record_sql.write(question.pk, rows, shared, then=then)
        if rows:
            changes.announce(question.pk)
    return outcomes


def _each(
    said: Sequence[Said], outcomes: Sequence[Outcome], question: Question
) -> Iterator[tuple[Judgement, Said, Outcome]]:
    """Each judgement of the question, with whom it comes from and the outcome that it counts
    for."""
    for one, outcome in zip(said, outcomes, strict=True):
        for new in one.judgements.get(question, ()):
            yield new, one, outcome


def _check_codes(question: Question, said: Sequence[Judgement], in_force: InForce) -> None:
    unknown = {new.code for new in said} - in_force.codes - {NOTHING}
    if unknown:
        raise UnknownCode(f"no category of question '{question.key}' has the code {min(unknown)}")


def _next_row(
    new: Judgement, old: Standing | None, *, by_id: int | None, now: datetime.datetime
) -> record_sql.Row | None:
    """The row to write, or None when nothing changes."""
    if old is None:
        if new.code == NOTHING:
            return None
        kept = [getattr(new, name) or "" for name in KEPT]
        return record_sql.Row(new, new.rated_at or now, tuple(kept), by_id)
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
    return record_sql.Row(new, rated_at, tuple(kept), by_id)


def _tally(
    outcome: Outcome, new: Judgement, old: Standing | None, row: record_sql.Row | None
) -> None:
    if row is None:
        outcome.unchanged += 1
    elif new.code == NOTHING:
        outcome.withdrawn += 1
    elif old is None or old.code == NOTHING:
        outcome.created += 1
    else:
        outcome.changed += 1
