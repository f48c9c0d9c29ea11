"""Refresh stored results from changed counts, at once or, where that takes long, by a later sweep.

Rows of counts that changed are marked ``stale`` in the transaction that changed them.
``refresh_results`` computes the results that are based on them and clears the marks in one
transaction under the same lock, so that after a crash the rows still say what is left to do. A
change on an old day affects every later cumulative result. Where these are many, it stores the day
in ``CountState.cumulative_from``, and seconds later the sweep computes them
(``recompute_deferred_cumulative_results``).

Deferred results need more data than a changed rating affects, so no rater waits for them: bootstrap
intervals, mean pairwise kappas, findings on disagreement, the design effects of clusters of items,
and the headline of the random sample where items were selected because of earlier ratings. A sweep
computes them (``refresh_deferred_results``); pages show the previous values meanwhile.
``CountState.deferred_version`` is the version that they are based on.
"""

from __future__ import annotations

import logging
import math
import random
import time
from dataclasses import replace
from typing import Any

import numpy as np
from django.db import connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from core.db import bulk
from core.db.transactions import lock_row_shared
from metrics import periods
from metrics.counting import store
from metrics.counting.question_counting import lock_count_state
from metrics.models import (
    ALL_DAYS,
    CountState,
    Diagnosis,
    PatternTally,
    PeerTally,
    PeriodUnit,
    Result,
)
from metrics.question_scale import QuestionScale
from metrics.results import findings
from metrics.results.intervals import QuestionClusters
from projects.models import Question
from ratings.services import uncounted_ratings

from . import pair_means, question_results, rater_results
from .headline import random_sample
from .headline.headline_computation import CountedRaters, HeadlineBuilder
from .patterns import AllTimePatterns, PeriodPatterns, compute_pooled_and_people_intervals
from .stored_values import get_all_ratings_headline, merge_sample_headline

MAX_CUMULATIVE_DAYS = 62  # days of cumulative results that are computed at once; more are deferred


def refresh_results(question_id: int) -> bool:
    """Compute the stale results of a question from its counts; return True if any was stale.

    It uses transactions of bounded length, so that no rater waits long for the database.
    """
    changed = False
    while (has_more := _refresh_project_and_some_raters(question_id)) is not None:
        changed = True
        if not has_more:
            break
        while _refresh_raters_in_parallel(question_id):
            pass
    return changed


@transaction.atomic
def _refresh_project_and_some_raters(question_id: int) -> bool | None:
    """Refresh a question's stale results, and those of some of its raters.

    Return None if nothing was stale, or the question is gone; else whether results are still stale.
    """
    try:
        state = lock_count_state(question_id)
    except Question.DoesNotExist:
        return None
    # Read while the lock is held: the current scale, or an older one, which scale_version shows.
    question = Question.objects.get(pk=question_id)
    scale = QuestionScale.for_question(question)
    rescaled = state.scale_version != question.scale_version
    if rescaled:
        _recompute_kappas_and_mark_stale(state, scale)
        state.scale_version = question.scale_version
    stale = PatternTally.objects.filter(question_id=question_id, stale=True)
    days = sorted(set(stale.values_list("day", flat=True)))
    if days:
        _refresh_project(state, scale, [day for day in days if day != ALL_DAYS])
        stale.update(stale=False)
    has_more = rater_results.refresh_stale_raters(question_id, scale)
    if not days and has_more is None:
        if rescaled or state.unrefreshed:  # changes that cancelled out, so that no count changed
            state.unrefreshed = 0
            state.version += 1
            state.save()
        return None
    if not has_more:
        state.unrefreshed = 0
    state.refreshed_at = timezone.now()
    state.version += 1
    state.save()
    return bool(has_more)


@transaction.atomic
def _refresh_raters_in_parallel(question_id: int) -> bool:
    """Refresh the results of some raters, in parallel with other workers.

    Return False if there is nothing more to do here: no stale rater is left, the scale has changed,
    or the database is SQLite, which has no such locks. Workers share the question's lock, so that
    no count changes meanwhile.
    """
    if connection.vendor != "postgresql":
        return False
    question = Question.objects.filter(pk=question_id).first()
    lock_row_shared("metrics_countstate", question_id, key="question_id", allows_updates=False)
    state = CountState.objects.filter(pk=question_id).only("scale_version").first()
    if question is None or state is None or state.scale_version != question.scale_version:
        return False
    return rater_results.refresh_unlocked_raters(question_id, QuestionScale.for_question(question))


def has_deferred_results(question_id: int) -> bool:
    """Return True if cumulative results of the question are still to be computed."""
    return CountState.objects.filter(pk=question_id, cumulative_from__isnull=False).exists()


@transaction.atomic
def recompute_deferred_cumulative_results(question_id: int) -> bool:
    """Compute and store the cumulative results that ``refresh_results`` deferred.

    Return False if there are none.
    """
    if not has_deferred_results(question_id):
        return False
    state = lock_count_state(question_id)
    first_day = state.cumulative_from
    if first_day is None:
        return False
    scale = QuestionScale.for_question(Question.objects.get(pk=question_id))
    stored_patterns = question_results.StoredPatterns.load(
        question_id, scale, Q(day__gte=periods.list_period_days([first_day])[0])
    )
    patterns = stored_patterns.patterns
    all_time, days, by_day = stored_patterns.select_question(question_id)
    span_periods = [
        PeriodPatterns.from_days(span, days, by_day).select_since(first_day)
        for span in periods.SPANS
    ]
    builder = HeadlineBuilder(CountedRaters.from_state(state, scale), patterns, all_time, scale)
    items = np.concatenate([span.compute_cumulative(all_time) for span in span_periods])
    values = patterns.iter_values(items, scale, builder.trend_coefficient)
    for span in span_periods:
        totals = dict(zip(span.list_start_dates(), values, strict=False))
        stored = Result.objects.filter(
            question_id=question_id, period_unit=span.span, start__in=list(totals)
        )
        rows = []
        for pk, start in stored.values_list("id", "start"):
            row = totals[start]
            people_values = store.encode_json(builder.select_trend_values(row))
            rows.append((pk, store.encode_json(row.pooled), people_values))
        bulk.update_rows_by_id("metrics_result", ["cumulative", "people_cumulative"], rows)
    state.cumulative_from = None
    state.version += 1
    state.save()
    return True


def _recompute_kappas_and_mark_stale(state: CountState, scale: QuestionScale) -> None:
    """Recompute all pairs' kappas and mark every result stale, after the scale changed."""
    state.pair_sums = store.recompute_pair_kappas(state.question_id, scale)
    PatternTally.objects.filter(question_id=state.question_id).update(stale=True)
    PeerTally.objects.filter(question_id=state.question_id, day=ALL_DAYS).update(stale=True)
    Diagnosis.objects.filter(question_id=state.question_id).delete()
    # Until all are computed, results are shown as stale, although no rating is uncounted.
    state.unrefreshed = max(1, state.unrefreshed)


def _refresh_project(state: CountState, scale: QuestionScale, days: list[int]) -> None:
    """Refresh the question's results: of all days, of periods with ``days``, and cumulative ones.

    Cumulative results are recomputed from the first of the days on, or deferred where too many
    later days have ratings.
    """
    question_id = state.question_id
    day_filter, deferred = Q(pk__isnull=True), False
    if days:
        later_rows = PatternTally.objects.filter(question_id=question_id, day__gt=days[0])
        n_later_days = later_rows.values("day").distinct().count()
        deferred = n_later_days - len(days) > MAX_CUMULATIVE_DAYS
        period_days = periods.list_period_days(days if deferred else days[:1])
        day_filter = Q(day__in=period_days) if deferred else Q(day__gte=period_days[0])
    if deferred:
        state.cumulative_from = min(days[0], state.cumulative_from or days[0])
    stored = question_results.StoredPatterns.load(question_id, scale, day_filter)
    raters = CountedRaters.from_state(state, scale)
    update = question_results.QuestionUpdate.from_patterns(
        stored, state, raters, days, deferred=deferred
    )
    question_results.compute_and_store_results([update])


logger = logging.getLogger(__name__)


def refresh_deferred_results(*, seconds: float = math.inf) -> None:
    """Recompute the stale deferred results of all questions, in random order.

    So parallel workers seldom compute the same. A failure of one question does not delay the
    others. After ``seconds``, it stops as soon as there are uncounted ratings.
    """
    deadline = time.monotonic() + seconds
    ids = list(
        CountState.objects.filter(_build_stale_deferred_filter()).values_list("pk", flat=True)
    )
    random.shuffle(ids)
    for question_id in ids:
        if time.monotonic() > deadline and uncounted_ratings.get_question_ids():
            return
        try:
            recompute_deferred_results(question_id)
        except Exception:
            logger.exception(
                "deferred results of question %s failed; the next sweep will retry",
                question_id,
            )


def _build_stale_deferred_filter() -> Q:
    now = timezone.now()
    sample_is_due = Q(sample_is_stale=True, sample_paused_until__lte=now)
    clusters_are_due = (
        Q(question__project__cluster_attribute__gt="")
        & ~Q(cluster_version=F("question__project__items_and_raters_version"))
        & (Q(sample_paused_until=None) | Q(sample_paused_until__lte=now))
    )
    return ~Q(deferred_version=F("version")) | sample_is_due | clusters_are_due


def recompute_deferred_results(question_id: int) -> None:
    """Recompute the deferred results of a question if they are stale.

    If ratings are counted meanwhile, nothing is stored, and a later sweep computes them again.
    """
    stale = CountState.objects.filter(_build_stale_deferred_filter())
    state = stale.select_related("question__project").filter(pk=question_id).first()
    if state is None:
        return
    scale = QuestionScale.for_question(state.question)
    all_time = AllTimePatterns.load(question_id, scale)
    intervals = compute_pooled_and_people_intervals(all_time.patterns, all_time.n_items, scale)
    mean_pairwise_kappas = pair_means.compute_question_mean_kappas(all_time)
    rows = Result.objects.filter(question=question_id, period_unit=PeriodUnit.ALL)
    all_time_result = rows.only("headline").first()
    full_headline = get_all_ratings_headline(all_time_result.headline if all_time_result else {})
    sample_fields: random_sample.SampleFields = {
        "cluster_version": state.question.project.items_and_raters_version
    }
    if full_headline:
        sample_fields = random_sample.compute_fields_from_ratings(state, full_headline, scale)
    state.cluster_effects = sample_fields.get("cluster_effects", state.cluster_effects)
    clusters = QuestionClusters.from_state(state, state.question.project)
    diagnosis = findings.compute_question_diagnosis(
        replace(all_time, clusters=clusters), mean_pairwise_kappas
    )
    if all_time_result is not None and "sample_headline" in sample_fields:
        all_time_result.headline = merge_sample_headline(
            full_headline, sample_fields["sample_headline"]
        )
    _store_deferred_results(
        state,
        all_time_result,
        diagnosis,
        bootstrap=intervals[0],
        bootstrap_people=intervals[1],
        mean_pairwise_kappas=mean_pairwise_kappas,
        **sample_fields,
    )


def _store_deferred_results(
    state: CountState, result: Result | None, diagnosis: findings.QuestionDiagnosis, **fields: Any
) -> None:
    """Store the results unless the question was counted meanwhile."""
    # The version rises, so that open pages are refreshed.
    new_version = state.version + 1
    unchanged = CountState.objects.filter(pk=state.question_id, version=state.version)
    with transaction.atomic():
        if not unchanged.update(**fields, deferred_version=new_version, version=new_version):
            return
        if result is not None and "sample_headline" in fields:
            result.save(update_fields=["headline"])
        Diagnosis(
            question_id=state.question_id, **vars(diagnosis), computed_at=timezone.now()
        ).save()  # inserts or updates
