"""Scan a question's ratings for drift, outliers and missing ratings."""

from __future__ import annotations

import datetime
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
from django.db.models.functions import Coalesce

from metrics.agreement import drift, outliers
from metrics.question_scale import QuestionScale
from metrics.results.headline.random_sample import build_targeted_mask
from metrics.results.intervals import find_cluster_numbers
from projects.models import GuidelineVersion, Item, Question, Rater
from projects.models.item import AVAILABLE
from quality.alerts import sensitivity
from quality.models import Alert, AlertCause, AlertKind
from ratings.models import Rating
from ratings.services.rating_timestamps import EPOCH, date_from_day, day_number

from .candidates import (
    AlertCandidate,
    build_count_candidate,
    build_drift_candidate,
    build_outlier_candidate,
)

GRACE_DAYS = 14  # days after its first rating within which an item should get all of them
WINDOW_DAYS = 60  # only items whose first rating is newer are counted
MIN_OVERDUE_ITEMS = 20
MIN_OVERDUE_SHARE = 0.1


def list_missing_rating_candidates(
    question: Question, ratings: np.ndarray, today: datetime.date
) -> list[AlertCandidate]:
    """Return one candidate if many items of the queue lack ratings, else an empty list.

    An item lacks ratings if its first one is between GRACE_DAYS and WINDOW_DAYS old and it has
    fewer than the project's overlap. Many are at least MIN_OVERDUE_ITEMS, and a tenth of the
    items begun in these days. ``ratings``: all current ratings of people, an array of
    RATING_DTYPE.
    """
    now = to_day_number(today)
    item_ids, first_day, n_ratings = _find_first_days(ratings)
    begun_in_window = (first_day <= now - GRACE_DAYS) & (first_day > now - WINDOW_DAYS)
    overlap_target = question.project.overlap
    incomplete = begun_in_window & (n_ratings < overlap_target)
    if incomplete.sum() < MIN_OVERDUE_ITEMS:
        return []
    queued_items = Item.objects.filter(
        AVAILABLE, project=question.project_id, slots_taken__lt=overlap_target
    )
    open_item_ids = set(queued_items.filter(slots_taken__gt=0).values_list("pk", flat=True))
    overdue = incomplete & np.isin(
        item_ids, np.fromiter(open_item_ids, np.int64, len(open_item_ids))
    )
    n_overdue, n_begun = int(overdue.sum()), int(begun_in_window.sum())
    if n_overdue < MIN_OVERDUE_ITEMS or n_overdue < MIN_OVERDUE_SHARE * n_begun:
        return []
    since = int(first_day[overdue].min())
    facts = {"wanted": overlap_target, "share": n_overdue / n_begun}
    return [
        build_count_candidate(
            AlertKind.RATINGS_MISSING, n_overdue, since=since, now=now, facts=facts
        )
    ]


def find_next_overdue_day(
    question: Question, ratings: np.ndarray, today: datetime.date
) -> datetime.date | None:
    """Return the next day after ``today`` on which further items lack ratings, if none arrive.

    None if no item can, or too few for an alert. ``ratings``: all current ratings of people, an
    array of RATING_DTYPE.
    """
    now = to_day_number(today)
    _item_ids, first_day, n_ratings = _find_first_days(ratings)
    incomplete = (first_day > now - WINDOW_DAYS) & (n_ratings < question.project.overlap)
    in_grace = incomplete & (first_day > now - GRACE_DAYS)
    if incomplete.sum() < MIN_OVERDUE_ITEMS or not in_grace.any():
        return None
    return date_from_day(int(first_day[in_grace].min()) + GRACE_DAYS)


def _find_first_days(
    ratings: np.ndarray,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the ids of the rated items, the day of each one's first rating, and its ratings.

    All three are arrays (N,), in order of the ids. ``ratings``: an array of RATING_DTYPE.
    """
    item_ids, item_index, n_ratings = np.unique(
        ratings["item"], return_inverse=True, return_counts=True
    )
    first_day = np.full(item_ids.size, np.iinfo(np.int64).max)
    np.minimum.at(first_day, item_index, ratings["day"])
    return item_ids, first_day, n_ratings


MAX_ATTRIBUTES = 5  # those that most items have
MAX_ATTRIBUTE_VALUES = 50
CHUNK_SIZE = 20_000
_NO_VALUE = 0  # the number of items without the attribute


def list_attribute_columns(
    question: Question, item_ids: npt.NDArray[np.int64]
) -> list[npt.NDArray[np.int64]]:
    """Return an array (M,) for each usable attribute: the number of its value, for each item id.

    ``item_ids`` (M,): the item of each rating. Usable are attributes with at most
    MAX_ATTRIBUTE_VALUES values that are not the same for all items; of these, the
    MAX_ATTRIBUTES that most items have. Values are numbered from 1; items without the attribute
    have 0.
    """
    rows = Item.objects.filter(project=question.project_id).exclude(attributes={})
    values_by_name: dict[str, dict[int, str]] = defaultdict(dict)
    for item_id, attributes in rows.values_list("pk", "attributes").iterator(chunk_size=CHUNK_SIZE):
        for name, value in _list_scalars(attributes):
            values_by_name[name][item_id] = value
    unique_ids, index = np.unique(item_ids, return_inverse=True)
    columns: list[npt.NDArray[np.int64]] = []
    by_coverage = sorted(values_by_name, key=lambda name: (-len(values_by_name[name]), name))
    for name in by_coverage:
        values = values_by_name[name]
        numbers = {value: number for number, value in enumerate(sorted(set(values.values())), 1)}
        if len(numbers) > MAX_ATTRIBUTE_VALUES or len(columns) == MAX_ATTRIBUTES:
            continue
        column = np.array(
            [numbers.get(values.get(item_id, ""), _NO_VALUE) for item_id in unique_ids.tolist()],
            np.int64,
        )
        if np.unique(column).size > 1:
            columns.append(column[index])
    return columns


def _list_scalars(attributes: Any) -> list[tuple[str, str]]:
    """Return (name, value as text) of an item's attributes.

    Lists, objects and empty texts are left out.
    """
    if not isinstance(attributes, dict):
        return []
    return [
        (name, str(value))
        for name, value in attributes.items()
        if isinstance(value, (str, int, float, bool)) and str(value)
    ]


# Ordered pairs of ratings of the same item, over all items; the computation needs some 100 bytes
# for each.
MAX_RATING_PAIRS = 5_000_000
TOO_MANY_COMPARISONS = "too_many_comparisons"
SINGLE_CATEGORY = "single_category"

MISSING_SECONDS = -1.0
RATING_DTYPE = np.dtype(
    [("item", "i8"), ("rater", "i8"), ("code", "i8"), ("day", "i8"), ("seconds", "f8")]
)


@dataclass(frozen=True)
class ScanResult:
    """Result of a scan: candidates for alerts, and the states of raters.

    ``drift`` is None where the question could not be scanned; ``reason`` then says why.
    ``level``: the evidence threshold of the scan. ``volume``: see
    sensitivity.compute_rating_volume. ``next_scan_on``: see find_next_overdue_day.
    """

    drift: drift.DriftResult | None
    reason: str
    n_ratings: int
    level: float = sensitivity.DEFAULT_LEVEL
    candidates: list[AlertCandidate] = field(default_factory=list)
    volume: dict[str, float] = field(default_factory=dict)
    next_scan_on: datetime.date | None = None


def scan_question(question: Question, *, today: datetime.date) -> ScanResult:
    """Scan the current ratings of people for drift, outliers and missing ratings.

    Each rating counts for the day on which its rater gave it; ``today`` is the day on which
    ratings are missing. The threshold follows from the project's sensitivity. Ratings that were
    requested because earlier ones disagreed are left out: agreement on such items is lower for
    everybody (metrics.results.headline.random_sample).
    """
    scale = QuestionScale.for_question(question)
    ratings = _load_ratings(question, scale)
    if scale.k < 2:
        return ScanResult(None, SINGLE_CATEGORY, ratings.size)
    if _count_pairs(ratings["item"]) > MAX_RATING_PAIRS:
        return ScanResult(None, TOO_MANY_COMPARISONS, ratings.size)
    level = sensitivity.get_evidence_threshold(question.project_id)
    known_changes = replace(
        build_drift_context(question),
        attributes=list_attribute_columns(question, ratings["item"]),
        clusters=find_cluster_numbers(ratings["item"], question.project),
    )
    watch_level = min(level, drift.DriftSettings().watch_level)
    settings = drift.DriftSettings(alert_level=level, watch_level=watch_level)
    columns = ratings["item"], ratings["rater"], ratings["code"], ratings["day"]
    drift_result = drift.detect_drift(
        *columns, scale.k, scale.type.ordered, context=known_changes, settings=settings
    )
    seconds = ratings["seconds"] if (ratings["seconds"] > MISSING_SECONDS).any() else None
    outlier_result = outliers.detect_outliers(
        drift_result, scale.k, segment_starts=known_changes.segment_starts, seconds=seconds
    )
    candidates = [
        *_build_candidates(drift_result, outlier_result, scale, level),
        *list_missing_rating_candidates(question, ratings, today),
    ]
    volume = sensitivity.compute_rating_volume(drift_result)
    next_scan_on = find_next_overdue_day(question, ratings, today)
    return ScanResult(drift_result, "", ratings.size, level, candidates, volume, next_scan_on)


def _build_candidates(
    drift_result: drift.DriftResult,
    outlier_result: outliers.OutlierResult,
    scale: QuestionScale,
    level: float,
) -> list[AlertCandidate]:
    """Return the candidates for the outliers, and for the drifts that no outlier explains."""
    drifts = [
        build_drift_candidate(alert, level)
        for index, alert in enumerate(drift_result.alerts)
        if index not in outlier_result.explained
    ]
    return drifts + [
        build_outlier_candidate(outlier, scale, level) for outlier in outlier_result.findings
    ]


def build_drift_context(question: Question) -> drift.DriftContext:
    """Return what the detection of drift must know: changes of the guidelines, and excused drifts.

    Excused are drifts that a lead dismissed with the cause NOT_RATER.
    """
    zone = ZoneInfo(question.project.time_zone)
    versions = GuidelineVersion.objects.filter(project_id=question.project_id, number__gt=1)
    segment_starts = [
        day_number(created_at, zone) for created_at in versions.values_list("created_at", flat=True)
    ]
    excused = []
    excused_alerts = Alert.objects.filter(question=question, cause=AlertCause.NOT_RATER)
    excused_alerts = excused_alerts.filter(kind=AlertKind.RATER_DRIFT)
    for alert in excused_alerts.order_by("pk"):
        if alert.rater_id is not None:
            since, noticed = to_day_number(alert.since), to_day_number(alert.detected_on)
            excused.append(drift.ExcusedAlert(alert.rater_id, since, noticed))
    return drift.DriftContext(segment_starts, excused)


def to_day_number(date: datetime.date) -> int:
    """Return a date as days since 1970-01-01."""
    return (date - EPOCH).days


def _load_ratings(question: Question, scale: QuestionScale) -> np.ndarray:
    """Return people's current ratings as an array of RATING_DTYPE, codes as category indexes.

    Left out are ratings of retired categories, and those requested because earlier ones disagreed.
    """
    current_ratings = Rating.objects.current().filter(
        question=question, rater__kind=Rater.Kind.HUMAN
    )
    seconds = Coalesce("seconds", MISSING_SECONDS)
    rows = current_ratings.order_by().values_list("item_id", "rater_id", "code", "day", seconds)
    ratings = np.fromiter(rows.iterator(chunk_size=CHUNK_SIZE), dtype=RATING_DTYPE)
    ratings["code"] = scale.get_code_indices(ratings["code"])
    ratings = ratings[ratings["code"] >= 0]
    return ratings[~build_targeted_mask(question.project_id, ratings)]


def _count_pairs(item_ids: np.ndarray) -> int:
    """Return the number of ordered pairs of ratings of the same item."""
    _item_ids, counts = np.unique(item_ids, return_counts=True)
    return int((counts * (counts - 1)).sum())
