"""What raters set aside: skipped, or flagged for the lead to look at, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from projects.models import Project
from ratings.models import Apart, Assignment, Rating

COUNTED = 1_000  # more are told as so many


@dataclass(frozen=True)
class Aside:
    """A rater set an item aside. ``why``: the reason of a skip, and what whoever flagged it wrote
    beside their answers."""

    assignment: Assignment
    why: list[str]


def number(project: Project) -> int:
    """How often items of the project were set aside, at most COUNTED."""
    return Assignment.objects.set_aside_in(project)[:COUNTED].count()


def of_items(item_ids: Iterable[int]) -> dict[int, list[Aside]]:
    """item -> who set it aside, the latest first; of a page of items."""
    rows = Assignment.objects.set_aside().filter(item__in=list(item_ids))
    rows = rows.select_related("rater").order_by("-closed_at", "-id")
    found: dict[int, list[Aside]] = {}
    for one in with_why(list(rows)):
        found.setdefault(one.assignment.item_id, []).append(one)
    return found


def with_why(rows: list[Assignment]) -> list[Aside]:
    """The same rows with their reasons."""
    comments = _comments_of_flagged(rows) if any(row.flagged for row in rows) else {}
    found = []
    for row in rows:
        why = [row.skip_reason] if row.skip_reason else []
        found.append(Aside(row, why + comments.get((row.item_id, row.rater_id), [])))
    return found


def _comments_of_flagged(rows: list[Assignment]) -> dict[tuple[int, int], list[str]]:
    """What the raters wrote who flagged an item, by (item, rater), in the order of the questions:
    of what tests them it stands apart."""
    keys = {(row.item_id, row.rater_id): bool(row.why) for row in rows if row.flagged}
    of = {"item__in": {item for item, _rater in keys}, "rater__in": {rater for _i, rater in keys}}
    found: dict[tuple[int, int], list[str]] = {}
    models: tuple[Any, Any] = Rating, Apart
    for is_apart, model in enumerate(models):
        said = model.objects.standing().filter(**of).exclude(comment="")
        said = said.order_by("question__position", "question_id")
        for item, rater, comment in said.values_list("item_id", "rater_id", "comment"):
            if keys.get((item, rater)) == bool(is_apart):
                found.setdefault((item, rater), []).append(comment)
    return found
