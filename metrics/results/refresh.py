"""Counts -> stored coefficients. Only what moved is read and computed again.

Rows of counts that moved are marked ``stale`` in the transaction that moved them; ``refresh`` makes
the readings that rest on them and clears the marks in one transaction under the same lock, so that
whatever dies, the rows still say what is left to do. A change on an old day moves every later
cumulative reading: where these are many, ``refresh`` notes the day in
``CountState.cumulative_from`` and the sweep makes them with ``finish``, seconds later.
"""

from __future__ import annotations

import numpy as np
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from core.db import bulk
from metrics import periods, result_listeners
from metrics.counting import store
from metrics.counting.question_counting import lock
from metrics.models import EVER, CountState, Diagnosis, PatternTally, PeerTally, Reading
from metrics.scale import QuestionScale
from projects.models import Question

from . import question_results
from .headline.headline_computation import Counted, First
from .period_patterns import Periods
from .raters import rater_results

TAIL = 62  # days of cumulative readings made at once; a longer tail is put off


def refresh(question_id: int) -> bool:
    """Bring the readings of a question up to its counts; True when something was stale.

    In transactions of bounded length, so that nobody who rates waits long for the database.
    """
    moved = False
    while (more := _refresh_some(question_id)) is not None:
        moved = True
        if not more:
            break
        while _refresh_beside(question_id):
            pass
    if moved:
        result_listeners.announce(question_id)
    return moved


@transaction.atomic
def _refresh_some(question_id: int) -> bool | None:
    """The project's stale readings and those of some raters. None: nothing was stale; else whether
    more is."""
    try:
        state = lock(question_id)
    except Question.DoesNotExist:
        return None
    # With the lock in hand: the scale of now, or an older one that lags.
    question = Question.objects.get(pk=question_id)
    scale = QuestionScale.of(question)
    rescaled = state.scale_version != question.scale_version
    if rescaled:
        _renew_all(state, scale)
        state.scale_version = question.scale_version
    stale = PatternTally.objects.filter(question_id=question_id, stale=True)
    days = sorted(stale.values_list("day", flat=True))
    if days:
        _refresh_project(state, scale, [day for day in days if day != EVER])
        stale.update(stale=False)
    more = rater_results.refresh_some(question_id, scale)
    if not days and more is None:
        if rescaled or state.unread:  # changes that took each other back, so that no count moved
            state.unread = 0
            state.version += 1
            state.save()
        return None
    if not more:
        state.unread = 0
    state.read_at = timezone.now()
    state.version += 1
    state.save()
    return bool(more)


@transaction.atomic
def _refresh_beside(question_id: int) -> bool:
    """The readings of some raters, beside other workers who make those of others; False when there
    are none to make.

    Each shares the question's lock, so that no count moves meanwhile. SQLite has no such locks, and
    one writer.
    """
    if connection.vendor != "postgresql":
        return False
    question = Question.objects.filter(pk=question_id).first()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT scale_version FROM metrics_countstate WHERE question_id = %s FOR SHARE",
            [question_id],
        )
        made_for = cursor.fetchone()
    if question is None or made_for != (question.scale_version,):
        return False
    return rater_results.refresh_whole(question_id, QuestionScale.of(question))


def is_put_off(question_id: int) -> bool:
    """Whether cumulative readings are to be made by ``finish``."""
    return CountState.objects.filter(pk=question_id, cumulative_from__isnull=False).exists()


@transaction.atomic
def finish(question_id: int) -> bool:
    """Make the cumulative readings that ``refresh`` put off; True when there were any."""
    if not is_put_off(question_id):
        return False
    state = lock(question_id)
    first = state.cumulative_from
    if first is None:
        return False
    scale = QuestionScale.of(Question.objects.get(pk=question_id))
    counts, ever, days, by_day = question_results.load(
        question_id, scale, Q(day__gte=periods.whole([first])[0])
    )
    spans = [Periods.of(span, days, by_day).since(first) for span in periods.SPANS]
    made = First(Counted.of(state, scale), counts, ever, scale)
    items = np.concatenate([span.cumulative(ever) for span in spans])
    readings = counts.readings(items, scale, made.over_time)
    for span in spans:
        totals = dict(zip(span.starts(), readings, strict=False))
        stored = Reading.objects.filter(
            question_id=question_id, span=span.name, start__in=list(totals)
        )
        rows = []
        for pk, start in stored.values_list("id", "start"):
            row = totals[start]
            people = store.json_text(made.shown(row))
            rows.append((pk, store.json_text(row.pooled), people))
        bulk.update_by_id("metrics_reading", ["cumulative", "people_cumulative"], rows)
    state.cumulative_from = None
    state.version += 1
    state.save()
    result_listeners.announce(question_id)
    return True


def _renew_all(state: CountState, scale: QuestionScale) -> None:
    """The scale changed: all pairs' kappas anew from their tables, and every reading stale."""
    state.pair_sums = store.renew_pairs(state.question_id, scale)
    PatternTally.objects.filter(question_id=state.question_id).update(stale=True)
    PeerTally.objects.filter(question_id=state.question_id, day=EVER).update(stale=True)
    Diagnosis.objects.filter(question_id=state.question_id).delete()
    # until all are made: the readings wait, although no rating does
    state.unread = max(1, state.unread)


def _refresh_project(state: CountState, scale: QuestionScale, days: list[int]) -> None:
    """The project's readings: ever, of the periods of ``days``, and the cumulative ones from the
    first of them on."""
    question_id = state.question_id
    wanted, put_off = Q(pk__isnull=True), False
    if days:
        later = PatternTally.objects.filter(question_id=question_id, day__gt=days[0]).count()
        put_off = later - len(days) > TAIL
        whole = periods.whole(days if put_off else days[:1])
        wanted = Q(day__in=whole) if put_off else Q(day__gte=whole[0])
    if put_off:
        state.cumulative_from = min(days[0], state.cumulative_from or days[0])
    counts, ever, *read = question_results.load(question_id, scale, wanted)
    first = First(Counted.of(state, scale), counts, ever, scale)
    question_results.make(
        [question_results.Due.of(state, first, days, (read[0], read[1]), put_off=put_off)],
        counts,
        scale,
    )
