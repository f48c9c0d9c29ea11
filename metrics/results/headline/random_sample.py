"""Headline of the random sample: without ratings requested because of earlier ones.

Planned assignments for reliable labels, and slots beyond the overlap, select uncertain items; such
items lower every coefficient. So the headline is then based on the other ratings only
(`Assignment.planned` is false, or nobody was asked), and that of all ratings is stored with it as
``pooled``. No count says which ratings were requested. This is read from the ratings, shortly after
the other results (results.refresh), and if that is slow, not after every change.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TypedDict, cast

import numpy as np
from django.utils import timezone

from metrics.agreement.counts import tally
from metrics.agreement.headline import ICCS, LEAD_CHOICE
from metrics.models import CountState
from metrics.question_scale import QuestionScale
from metrics.results import intervals
from metrics.results.stored_values import (
    SAMPLE_PARTS,
    HeadlineResult,
    RandomSample,
    build_undefined_value,
    merge_sample_headline,
)
from ratings.models import NO_CODE, Assignment, Rating

from .headline_computation import ALL, MODELS, PEOPLE, build_headline_from_ratings

QUICK_SECONDS = 0.5  # a computation that takes no longer needs no pause
PAUSE_FACTOR = 10  # length of the pause, relative to the time that the computation took
ROW = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i8")])


class SampleFields(TypedDict, total=False):
    """The fields of a CountState that are computed from single ratings instead of counts."""

    sample_headline: HeadlineResult
    sample_is_stale: bool
    sample_paused_until: datetime.datetime
    cluster_effects: Mapping[str, object]
    cluster_version: int


def build_targeted_mask(project_id: int, ratings: np.ndarray) -> np.ndarray:
    """Return a mask (M,) of ratings that were requested because an item was uncertain.

    ``ratings`` (M,): array with item and rater.
    """
    assignments = (
        Assignment.objects.selected_by_answers_in(project_id)
        .order_by()
        .values_list("item_id", "rater_id")
    )
    pairs = np.array(list(assignments), np.int64).reshape(-1, 2)
    if not len(pairs) or not len(ratings):
        return np.zeros(len(ratings), bool)
    raters = np.unique(np.concatenate([pairs[:, 1], ratings["rater"]]))
    keys = pairs[:, 0] * raters.size + np.searchsorted(raters, pairs[:, 1])
    rating_keys = ratings["item"] * raters.size + np.searchsorted(raters, ratings["rater"])
    mask: np.ndarray = np.isin(rating_keys, keys)
    return mask


def replace_by_sample_headline(
    headline: HeadlineResult,
    ratings: np.ndarray,
    *,
    is_model: np.ndarray,
    is_excluded: np.ndarray,
    scale: QuestionScale,
) -> HeadlineResult:
    """Return the headline of the ratings that are not excluded; unchanged if all are included.

    ``headline``: that of all ratings; ``ratings`` (M,): array with item, rater and code (index in
    declared order); ``is_model`` (M,): mask of the ratings of models; ``is_excluded`` (M,): mask of
    the ratings outside the random sample.
    """
    return merge_sample_headline(
        headline,
        compute_sample_headline(
            headline, ratings, is_model=is_model, is_excluded=is_excluded, scale=scale
        ),
    )


def compute_sample_headline(
    headline: HeadlineResult,
    ratings: np.ndarray,
    *,
    is_model: np.ndarray,
    is_excluded: np.ndarray,
    scale: QuestionScale,
) -> HeadlineResult:
    """Return the SAMPLE_PARTS of the headline of the random sample; empty if none is excluded.

    `sample` has numbers of ratings and the group's coefficients; ``headline``: of all ratings.
    """
    if not is_excluded.any():
        return {}
    sample, sample_is_model = ratings[~is_excluded], is_model[~is_excluded]
    sample_info: RandomSample = {
        "n_ratings": len(sample), "left_out": int(is_excluded.sum()), "coefficients": {},
    }  # fmt: skip
    group_ratings = sample
    if "between" in headline and headline["population"] == PEOPLE:
        group_ratings = sample[~sample_is_model]
    if not len(group_ratings):
        return _build_empty_sample(headline, sample_info)
    # The same coefficient; but an intraclass correlation only if the sample is complete, too.
    by_table = headline["name"] in ICCS and headline["why"] != LEAD_CHOICE
    sample_scale = scale if by_table else replace(scale, chosen_headline=headline["name"])
    builder, row = build_headline_from_ratings(sample, sample_is_model, sample_scale)
    sample_headline = builder.build_headline(row)
    patterns = tally.count_patterns(group_ratings["item"], group_ratings["code"], scale.k)
    coefficients = row.pooled
    if group_ratings is not sample:
        coefficients = sample_headline.get("coefficients", coefficients)
    sample_info["coefficients"] = intervals.add_headline_intervals(
        sample_headline, coefficients, patterns, scale
    )
    parts = _build_parts(headline, sample_headline)
    if not by_table:
        parts.update(_select_choice(headline))
    parts["sample"], parts["replaces"] = sample_info, headline["name"]
    return parts


def _build_parts(headline: HeadlineResult, sample_headline: HeadlineResult) -> HeadlineResult:
    """Return the SAMPLE_PARTS of the sample's headline; ``headline``: that of all ratings."""
    parts = cast(
        "HeadlineResult",
        {name: value for name, value in sample_headline.items() if name in SAMPLE_PARTS},
    )
    if "between" in headline and PEOPLE not in parts:  # only ratings of people remain
        parts[ALL] = parts[PEOPLE] = parts["value"]
        parts[MODELS] = parts["between"] = build_undefined_value("no_pairable_items")
    return parts


def _build_empty_sample(headline: HeadlineResult, sample_info: RandomSample) -> HeadlineResult:
    """Return the SAMPLE_PARTS where no rating of the headline's group is in the sample."""
    undefined_value = build_undefined_value("no_pairable_items")
    parts = _select_choice(headline)
    if "between" in headline:
        parts[ALL] = parts[PEOPLE] = parts["between"] = undefined_value
    parts["value"], parts["values"] = undefined_value, {}
    parts["sample"], parts["replaces"] = sample_info, headline["name"]
    return parts


def _select_choice(headline: HeadlineResult) -> HeadlineResult:
    """Return the parts of a headline that name its coefficient and the reason for it."""
    return {
        "name": headline["name"], "why": headline["why"], "companions": headline["companions"],
    }  # fmt: skip


# --- stored with the results


def compute_fields_from_ratings(
    state: CountState, headline: HeadlineResult, scale: QuestionScale
) -> SampleFields:
    """Return the new values of those fields of ``state`` that are computed from single ratings.

    These are the headline of the random sample and the design effects of clusters of items; until
    ``sample_paused_until``, only that they are stale. ``headline``: that of all ratings.
    """
    question = state.question
    project = question.project
    has_planned = Assignment.objects.selected_by_answers_in(project.pk).exists()
    if not has_planned and not project.cluster_attribute:
        return {"sample_headline": {}, "sample_is_stale": False}
    now = timezone.now()
    if state.sample_paused_until is not None and now < state.sample_paused_until:
        return {"sample_is_stale": True}
    started = time.monotonic()
    ratings = _read_counted_ratings(question.pk, scale)
    is_model = np.isin(ratings["rater"], state.model_raters)
    fields: SampleFields = {"sample_headline": {}, "sample_is_stale": False}
    if has_planned:
        fields["sample_headline"] = compute_sample_headline(
            headline,
            ratings,
            is_model=is_model,
            is_excluded=build_targeted_mask(project.pk, ratings),
            scale=scale,
        )
    if project.cluster_attribute:
        numbers = intervals.get_cluster_numbers(ratings["item"], project)
        effects = intervals.compute_headline_clusters(
            ratings, numbers, is_model, scale, attribute=project.cluster_attribute
        )
        fields["cluster_effects"] = asdict(effects)
        fields["cluster_version"] = project.items_and_raters_version
    seconds = time.monotonic() - started
    pause = datetime.timedelta(seconds=PAUSE_FACTOR * seconds if seconds > QUICK_SECONDS else 0)
    fields["sample_paused_until"] = now + pause
    return fields


def _read_counted_ratings(question_id: int, scale: QuestionScale) -> np.ndarray:
    """Return the counted ratings, with ``code`` as the index in declared order."""
    rows = Rating.objects.filter(question=question_id, counted__gt=NO_CODE).order_by()
    columns = rows.values_list("item_id", "rater_id", "counted")
    ratings = np.fromiter(columns.iterator(chunk_size=20_000), dtype=ROW)
    ratings["code"] = scale.get_code_indices(ratings["code"])
    return ratings[ratings["code"] >= 0]
