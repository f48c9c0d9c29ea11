"""Record raters' answers to their own items, as ratings or as check answers.

Check answers have the same rules, outcomes and history as ratings, but the counts never read them.
``record_own_answers`` is the one way in for annotators, from the annotation pages and the API, so
that nothing tells a rater which of the items are checks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from projects.models import Question
from ratings.models import NO_CODE, Assignment, CheckAnswer, Rating

from . import permissions
from .current_ratings import CurrentRating, QuestionState, lock_and_get_current_ratings
from .judgement import STORED_TEXTS, Judgement, RecordOutcome
from .record import JudgementsByQuestion, record_ratings

ROWS_PER_INSERT = 500


def lock_check_kinds(rater_id: int, item_ids: Collection[int]) -> dict[int, str]:
    """Lock the rater's assignments of those items that are checks; return item id -> kind."""
    checks = Assignment.objects.checks().filter(rater=rater_id, item__in=item_ids)
    rows = checks.select_for_update(no_key=True).order_by("pk").values_list("item_id", "kind")
    return dict(rows)


@transaction.atomic(savepoint=False)
def record_own_answers(
    judgements: JudgementsByQuestion,
    *,
    check_kinds: Mapping[int, str],
    by: Any,
    source: str,
    closed_item_ids: Collection[int] | None = None,
) -> RecordOutcome:
    """Record a rater's answers to their own items, each as a rating or as a check answer.

    ``check_kinds``: item id -> kind of check, for the items that are checks; the caller has locked
    their assignments. The outcome counts what the rater sees: a changed check answer counts as a
    change. If the answer to a repeat is changed, the item's rating is changed, too.
    ``closed_item_ids``: items that the rater may not correct, None where corrections are open.

    Raises what ``record_ratings`` raises, and ExamAnswersFinal for an answer given in an exam.
    """
    outcome = RecordOutcome()
    ratings: dict[Question, list[Judgement]] = {}
    checks: dict[str, dict[Question, list[Judgement]]] = {}
    for question, question_judgements in judgements.items():
        for judgement in question_judgements:
            kind = check_kinds.get(judgement.item_id, Assignment.Kind.ORDINARY)
            group = checks.setdefault(str(kind), {}) if kind else ratings
            group.setdefault(question, []).append(judgement)
    if ratings:
        outcome += record_ratings(ratings, by=by, source=source, closed_item_ids=closed_item_ids)
    for kind, check_judgements in checks.items():
        outcome += record_check_answers(
            check_judgements, kind=kind, by=by, source=source, closed_item_ids=closed_item_ids
        )
    return outcome


@transaction.atomic
def record_check_answers(
    judgements: JudgementsByQuestion,
    *,
    kind: str,
    by: Any,
    source: str,
    closed_item_ids: Collection[int] | None = None,
) -> RecordOutcome:
    """Record a rater's answers to items that are checks of one kind; return the outcome.

    NO_CODE withdraws the answer. All or nothing; equal answers change nothing. ``closed_item_ids``
    and errors: as in ratings.services.record. The caller has locked the assignments.
    """
    outcome = RecordOutcome()
    corrections: dict[Question, list[Judgement]] = {}
    for question in sorted(judgements, key=lambda question: question.pk):
        state, ratings = lock_and_get_current_ratings(question, judgements[question])
        for judgement in judgements[question]:
            item_id, rater_id = judgement.item_id, judgement.rater_id
            current_rows = CheckAnswer.objects.filter(
                question=question, item=item_id, rater=rater_id, is_current=True
            )
            previous = current_rows.first()
            previous_code = None if previous is None else previous.code
            row = _build_next_row(judgement, previous, state)
            outcome.add(judgement, previous_code, is_unchanged=row is None)
            if row is None:
                continue
            _validate_correction_allowed(judgement, previous_code, kind, closed_item_ids)
            row.question, row.kind, row.by, row.source = question, kind, by, source
            rating = ratings.get((item_id, rater_id))
            if kind == Assignment.Kind.REPEAT and rating is not None:
                row.rated_code = _get_rated_code(rating, previous)
                if previous_code not in (None, NO_CODE) and judgement.code != NO_CODE:
                    corrections.setdefault(question, []).append(judgement)
            current_rows.update(is_current=False)
            row.save()
    if corrections:
        _correct_repeated_ratings(corrections, by=by, source=source)
    return outcome


def _get_rated_code(rating: CurrentRating, previous: CheckAnswer | None) -> int:
    """Return the code of the rating before the first repeat, with which a repeat is compared.

    ``previous`` is the rater's earlier answer to the repeat, None before the first.
    """
    if previous is None or previous.rated_code is None:
        return rating.code
    return previous.rated_code


def _validate_correction_allowed(
    judgement: Judgement,
    previous_code: int | None,
    kind: str,
    closed_item_ids: Collection[int] | None,
) -> None:
    """Raise CorrectionsClosed, or ExamAnswersFinal in an exam, if the answer may not be changed.

    ``previous_code`` is None without an earlier answer. ``closed_item_ids`` is None where
    corrections are open, which has no effect on an exam.
    """
    if kind != Assignment.Kind.EXAM:
        permissions.validate_correction_allowed(judgement.item_id, previous_code, closed_item_ids)
    # An item of an earlier attempt may be answered once more in the next one.
    elif closed_item_ids is None or judgement.item_id in closed_item_ids:
        raise permissions.ExamAnswersFinal


def _correct_repeated_ratings(corrections: JudgementsByQuestion, *, by: Any, source: str) -> None:
    """Apply corrections of repeated items to their current ratings, too."""
    judgements_by_question: dict[Question, list[Judgement]] = {}
    for question, judgements in corrections.items():
        current_ratings = Rating.objects.current().filter(
            question=question,
            item__in=[judgement.item_id for judgement in judgements],
            rater__in={judgement.rater_id for judgement in judgements},
        )
        comments = {
            (item, rater): comment
            for item, rater, comment in current_ratings.values_list("item", "rater", "comment")
        }
        judgements_by_question[question] = [
            judgement._replace(comment=judgement.comment or comments[pair])
            for judgement in judgements
            if (pair := (judgement.item_id, judgement.rater_id)) in comments
        ]
    record_ratings(judgements_by_question, by=by, source=source)


@transaction.atomic
def record_repeats(
    judgements: Mapping[Question, Sequence[Judgement]], *, by: Any, source: str
) -> int:
    """Record second answers from an import, each as a repeat of the current rating.

    Nothing else changes. Returns the number of recorded repeats: an (item, rater) that already has
    a check answer, or has no current rating, is left out. Each (item, rater) must occur once per
    question. Raises UnknownCode and ProjectArchived.
    """
    n_recorded = 0
    for question in sorted(judgements, key=lambda question: question.pk):
        by_pair = {
            (judgement.item_id, judgement.rater_id): judgement for judgement in judgements[question]
        }
        state, ratings = lock_and_get_current_ratings(question, judgements[question])
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
    """Return the check answer of a repeat; ``first_code``: the code of the current rating."""
    now = timezone.now()
    guidelines, item_version = state.get_versions(
        judgement.item_id, judgement.rated_at, judgement.guidelines, judgement.item_version
    )
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
        guidelines=guidelines,
        item_version=item_version,
    )


def _build_next_row(
    judgement: Judgement, previous: CheckAnswer | None, state: QuestionState
) -> CheckAnswer | None:
    """Return the check answer to write, None if nothing changes.

    The caller sets question, kind, user and source.
    """
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
    guidelines, item_version = state.get_versions(
        judgement.item_id, None, judgement.guidelines, judgement.item_version
    )
    return CheckAnswer(
        item_id=judgement.item_id,
        rater_id=judgement.rater_id,
        code=judgement.code,
        rated_at=now if previous is None or is_new else previous.rated_at,
        changed_at=now,
        seconds=seconds,
        **texts,
        guidelines=guidelines,
        item_version=item_version,
    )


def _get_texts(row: CheckAnswer) -> dict[str, str]:
    return {name: getattr(row, name) for name in STORED_TEXTS}


def _resolve_text(name: str, judgement: Judgement, previous: CheckAnswer | None) -> str:
    """Return the text of the judgement, or the previous text where the judgement has none."""
    text: str | None = getattr(judgement, name)
    if text is None:
        text = getattr(previous, name) if previous is not None else ""
    return text
