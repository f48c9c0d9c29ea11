"""The readings of several small questions of one scale, made by one call of each formula
(metrics.counting.batch_counting)."""

from __future__ import annotations

from django.utils import timezone

from metrics.counting.batch_counting import Counted
from metrics.models import PatternTally

from . import question_results
from .headline.headline_computation import Counted as Facts
from .headline.headline_computation import First
from .raters import rater_results

TAIL = 62  # days of cumulative readings made at once, as in readings.project


def make(counted: Counted) -> None:
    """Make what counting moved, under the questions' locks and in the same transaction; nothing of
    it was marked as stale."""
    scale = counted.scale
    if counted.moved:
        rows = PatternTally.objects.filter(question__in=counted.moved).order_by("question", "day")
        loaded = question_results.Loaded.of(list(rows), scale)
        facts = Facts.of_many([counted.states[pk] for pk in counted.moved], scale)
        wanted = []
        for pk, days in counted.days.items():
            state = counted.states[pk]
            ever, *read = loaded.question(pk)
            put_off = bool(days) and int((read[0] > min(days)).sum()) - len(days) > TAIL
            if put_off:
                state.cumulative_from = min(days)
            first = First(facts[pk], loaded.patterns, ever, scale)
            found = question_results.Due.of(state, first, days, (read[0], read[1]), put_off=put_off)
            wanted.append(found)
        question_results.make(
            wanted, loaded.patterns, scale, [counted.labels[pk] for pk in counted.days]
        )
    rater_results.make(counted.whose, counted.raters, scale)
    for pk in {*counted.moved, *map(counted.whose.question, counted.raters)}:
        counted.states[pk].read_at = timezone.now()
        counted.states[pk].version += 1
