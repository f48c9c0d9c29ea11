"""Reactions to changes of a project: time zone backfill and recomputation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from django.db.models import Q

from projects.models import Question
from ratings import changes
from ratings.models import Rating

from . import timezone_backfill


def count_ratings_by_code(question_id: int, codes: Iterable[int]) -> dict[int, int]:
    """Return code -> number of ratings with this code now or in the stored counts."""
    requested_codes = set(codes)
    if not requested_codes:
        return {}
    rows = Rating.objects.filter(
        Q(code__in=requested_codes) | Q(counted__in=requested_codes), question=question_id
    )
    counts: Counter[int] = Counter()
    for code, counted in rows.values_list("code", "counted").iterator(chunk_size=5000):
        counts.update({code, counted} & requested_codes)
    return dict(counts)


def start_backfill_after_zone_change(project_id: int) -> None:
    """Start to move the project's ratings to the days of its new time zone."""
    timezone_backfill.start_backfill(project_id)
    for question_id in (
        Question.objects.filter(project=project_id).order_by("pk").values_list("pk", flat=True)
    ):
        changes.RATINGS_CHANGED.notify_on_commit(question_id)


def notify_after_scale_change(question_id: int) -> None:
    """Notify listeners, after the commit, that the question's results have to be recomputed."""
    changes.RATINGS_CHANGED.notify_on_commit(question_id)
