"""Record ratings with their history in one transaction, and notify listeners after its commit."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from core.hooks import CommitListeners
from projects.models import Question
from ratings.models import NO_CODE

from . import permissions, record_sql, slots
from .current_ratings import CurrentRating, lock_and_get_current_ratings
from .judgement import STORED_TEXTS, Judgement, RecordOutcome

RATINGS_CHANGED = CommitListeners("ratings_changed")  # called with the question's id

JudgementsByQuestion = Mapping[Question, Sequence[Judgement]]


class JudgementBatch(NamedTuple):
    """Judgements that one user submits at once."""

    judgements: JudgementsByQuestion
    by: Any
    # Items that the rater is done with and may not correct; None where corrections are open
    closed_item_ids: Collection[int] | None = None
    # Items of the rater that are checks: their answers are no ratings (see record_own_answers of
    # ratings.services.own_answers), so record_batches must not get them.
    check_item_ids: Collection[int] = ()


def record_ratings(
    judgements: JudgementsByQuestion,
    *,
    by: Any,
    source: str,
    closed_item_ids: Collection[int] | None = None,
    purging: bool = False,
) -> RecordOutcome:
    """Record one user's judgements on questions of one project, with their history.

    All or nothing: an exception ends the surrounding transaction. After the commit, listeners are
    notified of ratings to count. The judgements of a question name each (item, rater) once.
    A judgement that equals the current rating changes nothing. ``rated_at`` is kept unless the
    source sends one; a rating given again after a withdrawal is a new rating. ``by``: the acting
    user, None without one; ``source``: a value of Revision.Source.

    Raises UnknownCode if a code is not that of an active category, CorrectionsClosed if a change is
    not allowed (``closed_item_ids``, see permissions.validate_correction_allowed), and
    ProjectArchived in an archived project, unless ratings are withdrawn to be deleted
    (``purging``).
    """
    return record_batches(
        [JudgementBatch(judgements, by, closed_item_ids)], source=source, purging=purging
    )[0]


@transaction.atomic(savepoint=False)
def record_batches(
    batches: Sequence[JudgementBatch], *, source: str, purging: bool = False
) -> list[RecordOutcome]:
    """Record the batches of several users in one transaction; return the outcome of each batch.

    No two batches may name the same rating. Parameters and errors are those of `record_ratings`.
    """
    outcomes = [RecordOutcome() for _batch in batches]
    written: list[tuple[Judgement, int]] = []
    # One lock order for all writers: question by question, and after all ratings the items whose
    # slots they take. A transaction that held an item while locking the next question's ratings
    # could deadlock with one that locks them the other way round.
    all_questions = {question for batch in batches for question in batch.judgements}
    questions = sorted(all_questions, key=lambda question: question.pk)
    for question in questions:
        entries = [
            (judgement, batch, outcome)
            for batch, outcome in zip(batches, outcomes, strict=True)
            for judgement in batch.judgements.get(question, ())
        ]
        judgements = [judgement for judgement, _batch, _outcome in entries]
        state, ratings = lock_and_get_current_ratings(question, judgements, purging=purging)
        context = record_sql.WriteContext(timezone.now(), source, state)
        rows = []
        for judgement, batch, outcome in entries:
            previous = ratings.get((judgement.item_id, judgement.rater_id))
            row = _build_row(judgement, previous, batch, now=context.now)
            outcome.add(judgement, previous and previous.code, is_unchanged=row is None)
            if row is not None:
                rows.append(row)
                written.append((judgement, NO_CODE if previous is None else previous.code))
        recount = []
        if question == questions[-1]:
            overlap = question.project.overlap
            recount = slots.build_statements_after_write(written, overlap=overlap)
        record_sql.write_ratings(question.pk, rows, context, follow_up=recount)
        if rows:
            RATINGS_CHANGED.notify_on_commit(question.pk)
    return outcomes


def _build_row(
    judgement: Judgement,
    previous: CurrentRating | None,
    batch: JudgementBatch,
    *,
    now: datetime.datetime,
) -> record_sql.RatingWrite | None:
    """Return the row to write, or None when nothing changes.

    Raises CorrectionsClosed if the batch's user may not change the answer.
    """
    if previous is None:
        if judgement.code == NO_CODE:
            return None
        rated_at = judgement.rated_at or now
        texts = tuple(getattr(judgement, name) or "" for name in STORED_TEXTS)
    else:
        if judgement.code == NO_CODE:
            rated_at = previous.rated_at
        elif previous.code == NO_CODE:
            rated_at = judgement.rated_at or now
        else:
            rated_at = judgement.rated_at or previous.rated_at
        texts = tuple(
            previous_text if (text := getattr(judgement, name)) is None else text
            for name, previous_text in zip(STORED_TEXTS, previous.texts, strict=True)
        )
        if (judgement.code, rated_at, texts) == previous:
            return None
    permissions.validate_correction_allowed(
        judgement.item_id, previous and previous.code, batch.closed_item_ids
    )
    by_id = batch.by.pk if batch.by is not None else None
    return record_sql.RatingWrite(judgement, rated_at, texts, by_id)
