"""Items that raters skipped or flagged for the lead, with the reasons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from projects.models import Project
from ratings.models import Assignment, CheckAnswer, Rating

MAX_COUNTED = 1_000  # higher numbers are shown as this one


@dataclass(frozen=True)
class SkippedOrFlagged:
    """An assignment that a rater skipped or flagged.

    ``reasons``: the reason of the skip and, if flagged, the rater's comments on the item.
    """

    assignment: Assignment
    reasons: list[str]


def resolve_skip_or_flag(*, project: Project, assignment_id: int) -> bool:
    """Resolve a skip or flag of the project; return False if none with this id is unresolved."""
    rows = Assignment.objects.skipped_or_flagged_in(project).filter(pk=assignment_id)
    return bool(rows.update(resolved_at=timezone.now()))


def count_skips_and_flags(project: Project) -> int:
    """Return the number of the project's unresolved skips and flags, at most MAX_COUNTED."""
    return Assignment.objects.skipped_or_flagged_in(project)[:MAX_COUNTED].count()


def get_skips_and_flags_by_item(item_ids: Iterable[int]) -> dict[int, list[SkippedOrFlagged]]:
    """Return item id -> its unresolved skips and flags, the latest first; for one page of items."""
    rows = Assignment.objects.skipped_or_flagged().filter(item__in=list(item_ids))
    rows = rows.select_related("rater").order_by("-closed_at", "-id")
    entries_by_item: dict[int, list[SkippedOrFlagged]] = {}
    for entry in build_entries_with_reasons(list(rows)):
        entries_by_item.setdefault(entry.assignment.item_id, []).append(entry)
    return entries_by_item


def build_entries_with_reasons(rows: list[Assignment]) -> list[SkippedOrFlagged]:
    """Return skipped or flagged assignments with the raters' reasons and comments."""
    comments = _get_flag_comments(rows) if any(row.flagged for row in rows) else {}
    entries = []
    for row in rows:
        reasons = [row.skip_reason] if row.skip_reason else []
        entries.append(
            SkippedOrFlagged(row, reasons + comments.get((row.item_id, row.rater_id), []))
        )
    return entries


def _get_flag_comments(rows: list[Assignment]) -> dict[tuple[int, int], list[str]]:
    """Return (item id, rater id) -> comments on the flagged item, in the order of the questions.

    Comments on checks are read from the check answers.
    """
    check_by_key = {(row.item_id, row.rater_id): bool(row.kind) for row in rows if row.flagged}
    filters = {
        "item__in": {item for item, _rater in check_by_key},
        "rater__in": {rater for _item, rater in check_by_key},
    }
    comments: dict[tuple[int, int], list[str]] = {}
    models: tuple[Any, Any] = Rating, CheckAnswer
    for is_check, model in enumerate(models):
        answers = model.objects.current().filter(**filters).exclude(comment="")
        answers = answers.order_by("question__position", "question_id")
        for item, rater, comment in answers.values_list("item_id", "rater_id", "comment"):
            if check_by_key.get((item, rater)) == bool(is_check):
                comments.setdefault((item, rater), []).append(comment)
    return comments
