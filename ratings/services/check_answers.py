"""Recording of check answers: same rules and history as ratings, but never read by the counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from projects.models import Question
from ratings.models import NO_CODE, Assignment, CheckAnswer

from . import permissions
from .current_ratings import QuestionState, read_and_lock
from .judgement import STORED_TEXTS, Judgement, UnknownCode

ROWS_PER_INSERT = 500


@transaction.atomic
def record_check_answers(
    judgements: Mapping[Question, Judgement],
    *,
    kind: str,
    by: Any,
    source: str,
    is_closed: bool = False,
) -> None:
    """Record a rater's answers to one hidden check or exam item, one judgement per question.

    NO_CODE withdraws the answer. All or nothing; an answer that equals the current one changes
    nothing. ``is_closed``: the rater is done with the item and may not correct it. Raises
    UnknownCode, ProjectArchived, and CorrectionsClosed as ratings.services.record does. The caller
    holds the assignment's lock.
    """
    for question in sorted(judgements, key=lambda question: question.pk):
        judgement = judgements[question]
        pair = (judgement.item_id, judgement.rater_id)
        state, ratings = read_and_lock(question, {pair})
        if state.archived:
            raise permissions.ProjectArchived
        if judgement.code not in state.codes | {NO_CODE}:
            raise UnknownCode(
                f"no category of question '{question.key}' has the code {judgement.code}"
            )
        current_rows = CheckAnswer.objects.filter(
            question=question, item=judgement.item_id, rater=judgement.rater_id, is_current=True
        )
        previous = current_rows.first()
        row = _build_next_row(judgement, previous, state)
        if row is None:
            continue
        if is_closed:
            in_exam = kind == Assignment.Kind.EXAM
            raise permissions.ExamAnswersFinal if in_exam else permissions.CorrectionsClosed
        row.question, row.kind, row.by, row.source = question, kind, by, source
        if kind == Assignment.Kind.REPEAT and pair in ratings:
            # A corrected repeat is still compared with the rating before the first repeat.
            row.rated_code = (
                ratings[pair].code
                if previous is None or previous.rated_code is None
                else previous.rated_code
            )
        current_rows.update(is_current=False)
        row.save()


@transaction.atomic
def record_repeats(
    judgements: Mapping[Question, Sequence[Judgement]], *, by: Any, source: str
) -> int:
    """Record second answers that a source brings, each as a repeat of the current rating.

    Nothing else changes. Returns the number of recorded repeats: a pair is left out if it already
    has a check answer or has no current rating. Each (item, rater) occurs once per question. Raises
    UnknownCode and ProjectArchived.
    """
    n_recorded = 0
    for question in sorted(judgements, key=lambda question: question.pk):
        by_pair = {
            (judgement.item_id, judgement.rater_id): judgement for judgement in judgements[question]
        }
        state, ratings = read_and_lock(question, set(by_pair))
        if state.archived:
            raise permissions.ProjectArchived
        if unknown_codes := {judgement.code for judgement in by_pair.values()} - state.codes:
            raise UnknownCode(f"no category of '{question.key}' has the code {min(unknown_codes)}")
        existing = CheckAnswer.objects.filter(
            question=question,
            is_current=True,
            item__in={item for item, _rater in by_pair},
            rater__in={rater for _item, rater in by_pair},
        )
        existing_pairs = set(existing.values_list("item_id", "rater_id"))
        rows = [
            _build_repeat(judgement, ratings[pair].code, state)
            for pair, judgement in by_pair.items()
            if pair not in existing_pairs and pair in ratings and ratings[pair].code != NO_CODE
        ]
        for row in rows:
            row.question, row.by, row.source = question, by, source
        CheckAnswer.objects.bulk_create(rows, batch_size=ROWS_PER_INSERT)
        n_recorded += len(rows)
    return n_recorded


def _build_repeat(judgement: Judgement, first_code: int, state: QuestionState) -> CheckAnswer:
    now = timezone.now()
    return CheckAnswer(
        item_id=judgement.item_id,
        rater_id=judgement.rater_id,
        kind=Assignment.Kind.REPEAT,
        code=judgement.code,
        rated_code=first_code,
        rated_at=judgement.rated_at or now,
        changed_at=now,
        seconds=judgement.seconds,
        **{name: _resolve_text(name, judgement, None) for name in STORED_TEXTS},
        guidelines=state.guidelines.get_number_for(judgement.rated_at, judgement.guidelines),
        item_version=state.get_item_version(judgement.item_id).get_number_for(
            judgement.rated_at, judgement.item_version
        ),
    )


def _build_next_row(
    judgement: Judgement, previous: CheckAnswer | None, state: QuestionState
) -> CheckAnswer | None:
    """Return the row to write, without columns shared by all rows of a call; None if unchanged."""
    if previous is None and judgement.code == NO_CODE:
        return None
    now = timezone.now()
    texts = {name: _resolve_text(name, judgement, previous) for name in STORED_TEXTS}
    is_new = previous is None or (previous.code == NO_CODE and judgement.code != NO_CODE)
    if previous is not None and judgement.code == previous.code and texts == _get_texts(previous):
        return None
    seconds = judgement.seconds
    if seconds is None and previous is not None:
        seconds = previous.seconds
    return CheckAnswer(
        item_id=judgement.item_id,
        rater_id=judgement.rater_id,
        code=judgement.code,
        rated_at=now if previous is None or is_new else previous.rated_at,
        changed_at=now,
        seconds=seconds,
        **texts,
        guidelines=state.guidelines.get_number_for(None, judgement.guidelines),
        item_version=state.get_item_version(judgement.item_id).get_number_for(
            None, judgement.item_version
        ),
    )


def _get_texts(row: CheckAnswer) -> dict[str, str]:
    return {name: getattr(row, name) for name in STORED_TEXTS}


def _resolve_text(name: str, judgement: Judgement, previous: CheckAnswer | None) -> str:
    """Return the text of the judgement, or the previous text where the judgement has none."""
    text: str | None = getattr(judgement, name)
    if text is None:
        text = getattr(previous, name) if previous is not None else ""
    return text
