"""What ratings answer and do when a project's set-up changes: the listeners of projects.hooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from django.db.models import Q

from projects.models import Question
from ratings import changes
from ratings.models import Rating

from . import timezone_backfill


def count_in_use(question_id: int, codes: Iterable[int]) -> dict[int, int]:
    """code -> ratings that say it, or that the stored counts still hold under it."""
    wanted = set(codes)
    if not wanted:
        return {}
    rows = Rating.objects.filter(Q(code__in=wanted) | Q(counted__in=wanted), question=question_id)
    found: Counter[int] = Counter()
    for code, counted in rows.values_list("code", "counted").iterator(chunk_size=5000):
        found.update({code, counted} & wanted)
    return dict(found)


def zone_changed(project_id: int) -> None:
    """The days of all ratings follow the project's new time zone; the counts follow by the ordinary
    way."""
    timezone_backfill.begin(project_id)
    for question_id in (
        Question.objects.filter(project=project_id).order_by("pk").values_list("pk", flat=True)
    ):
        changes.announce(question_id)


def scale_changed(question_id: int) -> None:
    """Readings of the older scale are to be made anew: say so to whoever counts, once the change is
    on disk."""
    changes.announce(question_id)
