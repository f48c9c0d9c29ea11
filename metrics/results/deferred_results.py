"""Deferred results, which a sweep computes later: findings, bootstrap intervals, sample.

Bootstrap intervals, mean pairwise kappas, findings on disagreement, the design effects of clusters
of items, and the headline of the random sample where items were selected because of earlier
ratings. All need more data than a changed rating affects, so no rater waits for them. Pages show
the previous values meanwhile. ``CountState.deferred_version`` is the version that they are based
on.
"""

from __future__ import annotations

import logging
import math
import random
import time
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from metrics.models import CountState, Diagnosis, PeriodUnit, Result
from metrics.question_scale import QuestionScale
from ratings.services import uncounted

from . import bootstrap, pair_results
from .clusters import QuestionClusters
from .disagreement import findings
from .headline import random_sample, sample_headline
from .patterns import AllTimePatterns
from .values import HeadlineResult

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
        if time.monotonic() > deadline and uncounted.get_question_ids():
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
    intervals = bootstrap.compute_pooled_and_people_intervals(
        all_time.patterns, all_time.n_items, scale
    )
    mean_pairwise_kappas = pair_results.compute_question_mean_kappas(all_time)
    rows = Result.objects.filter(question=question_id, period_unit=PeriodUnit.ALL)
    all_time_result = rows.only("headline").first()
    full_headline = sample_headline.get_all_ratings_headline(
        {} if all_time_result is None else all_time_result.headline
    )
    sample_fields = _compute_sample_fields(state, full_headline, scale)
    state.cluster_effects = sample_fields.get("cluster_effects", state.cluster_effects)
    clusters = QuestionClusters.from_state(state, state.question.project)
    diagnosis = findings.compute_question_diagnosis(
        replace(all_time, clusters=clusters), mean_pairwise_kappas
    )
    if all_time_result is not None and "sample_headline" in sample_fields:
        all_time_result.headline = sample_headline.merge_sample_headline(
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


def _compute_sample_fields(
    state: CountState, full_headline: HeadlineResult, scale: QuestionScale
) -> random_sample.SampleFields:
    if not full_headline:
        return {"cluster_version": state.question.project.items_and_raters_version}
    return random_sample.compute_fields_from_ratings(state, full_headline, scale)


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
