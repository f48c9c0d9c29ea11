"""Detect items that still lack ratings long after their first one (a count, not a test)."""

from __future__ import annotations

import datetime

import numpy as np

from projects.models import Item, Question
from projects.models.item import AVAILABLE
from quality.models import AlertKind
from ratings.services.rating_times import EPOCH

from .candidates import AlertCandidate, build_count_candidate

GRACE_DAYS = 14  # days after its first rating within which an item should get all of them
WINDOW_DAYS = 60  # only items whose first rating is newer are counted
MIN_OVERDUE_ITEMS = 20
MIN_SHARE = 0.1


def list_candidates(
    question: Question, ratings: np.ndarray, today: datetime.date
) -> list[AlertCandidate]:
    """Return one candidate if many items of the queue lack ratings, else an empty list.

    Counts items whose first rating is between GRACE_DAYS and WINDOW_DAYS old and that have
    fewer ratings than the project's overlap: at least MIN_OVERDUE_ITEMS, and a tenth of all items
    begun in these days. ``ratings``: all current ratings of people, an array of scan.RATING_DTYPE.
    """
    now = (today - EPOCH).days
    item_ids, item_index = np.unique(ratings["item"], return_inverse=True)
    first_day = np.full(item_ids.size, np.iinfo(np.int64).max)
    np.minimum.at(first_day, item_index, ratings["day"])
    begun_in_window = (first_day <= now - GRACE_DAYS) & (first_day > now - WINDOW_DAYS)
    overlap_target = question.project.overlap
    incomplete = begun_in_window & (
        np.bincount(item_index, minlength=item_ids.size) < overlap_target
    )
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
    if n_overdue < MIN_OVERDUE_ITEMS or n_overdue < MIN_SHARE * n_begun:
        return []
    since = int(first_day[overdue].min())
    facts = {"wanted": overlap_target, "share": n_overdue / n_begun}
    return [
        build_count_candidate(
            AlertKind.RATINGS_MISSING, n_overdue, since=since, now=now, facts=facts
        )
    ]
