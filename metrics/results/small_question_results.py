"""Compute the results of several small questions of one scale together.

See metrics.counting.small_question_counting.
"""

from __future__ import annotations

from django.utils import timezone

from metrics.counting.small_question_counting import SmallQuestionCounts
from metrics.models import PatternTally

from . import question_results
from .headline.headline_computation import CountedRaters, HeadlineBuilder
from .raters import rater_results

MAX_CUMULATIVE_DAYS = (
    62  # days of cumulative results that are computed at once, as in results.refresh
)


def compute_small_question_results(batch: SmallQuestionCounts) -> None:
    """Compute and store the results of these questions that counting changed.

    Call it under the questions' locks and in the transaction of counting, which marks nothing
    stale.
    """
    scale = batch.scale
    if batch.changed_questions:
        rows = PatternTally.objects.filter(question__in=batch.changed_questions).order_by(
            "question", "day"
        )
        loaded = question_results.StoredPatterns.from_rows(list(rows), scale)
        raters_by_question = CountedRaters.from_states(
            [batch.states[pk] for pk in batch.changed_questions], scale
        )
        updates = []
        for pk, days in batch.days.items():
            state = batch.states[pk]
            all_time, *items_by_day = loaded.select_question(pk)
            deferred = (
                bool(days)
                and int((items_by_day[0] > min(days)).sum()) - len(days) > MAX_CUMULATIVE_DAYS
            )
            if deferred:
                state.cumulative_from = min(days)
            builder = HeadlineBuilder(raters_by_question[pk], loaded.patterns, all_time, scale)
            update = question_results.QuestionUpdate.for_days(
                state, builder, days, (items_by_day[0], items_by_day[1]), deferred=deferred
            )
            updates.append(update)
        question_results.compute_and_write_results(
            updates, loaded.patterns, scale, [batch.labels[pk] for pk in batch.days]
        )
    rater_results.compute_rater_results(batch.scope, batch.raters, scale)
    for pk in {*batch.changed_questions, *map(batch.scope.get_question_id, batch.raters)}:
        batch.states[pk].refreshed_at = timezone.now()
        batch.states[pk].version += 1
