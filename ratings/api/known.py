"""What the rows of a request may name: questions with their labels, items, and raters, found on one
journey to the database.

Plain SQL: every request that brings ratings asks this, and the ORM takes longer to build three
queries than the database to answer them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from groundwork.database import bulk
from projects.models import Project, Question


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the codes of its labels, in declared order."""

    question: Question
    codes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Known:
    """Questions, and ids of items and raters, by their keys."""

    questions: dict[str, Asked]
    items: dict[str, int]
    raters: dict[str, int]
    own_rater: str | None  # key of the rater that the user is, where that was asked

    @property
    def only_question(self) -> str:
        """Key of the project's question where it has a single one, else nothing."""
        return next(iter(self.questions)) if len(self.questions) == 1 else ""


_QUESTIONS = """
    SELECT q.id, q.key, c.label, c.code
    FROM projects_question q
    LEFT JOIN projects_category c ON c.question_id = q.id AND NOT c.retired
    WHERE q.project_id = %s
    ORDER BY q.position, q.id, c.position, c.code
    """
_OWN_RATER = "SELECT key, id FROM projects_rater WHERE project_id = %s AND user_id = %s"


def look_up(project: Project, rows: Sequence[dict[str, Any]], *, own_rater_of: int | None) -> Known:
    """All that the rows may name. ``own_rater_of`` is a user's id, None where nobody asks."""
    items = bulk.find("projects_item", "id", project.pk, {row["item"] for row in rows})
    named = {row["rater"] for row in rows if row.get("rater")}
    raters = bulk.find("projects_rater", "id", project.pk, named)
    if own_rater_of is not None:
        raters.append((_OWN_RATER, [project.pk, own_rater_of]))
    asked, *found = bulk.several([(_QUESTIONS, [project.pk]), *items, *raters])
    found_items = found[: len(items)]
    found_raters = found[len(items) :]
    own = found_raters[-1] if own_rater_of is not None else []
    return Known(
        questions=_questions(project, asked),
        items=_by_key(found_items),
        raters=_by_key(found_raters),
        own_rater=own[0][0] if own else None,
    )


def _by_key(parts: Iterable[list[tuple[Any, ...]]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in parts:
        found.update((key, pk) for key, pk in part)
    return found


def _questions(project: Project, rows: Iterable[tuple[Any, ...]]) -> dict[str, Asked]:
    """The project's questions by key, in their order."""
    found: dict[str, Asked] = {}
    for pk, key, label, code in rows:
        if key not in found:
            found[key] = Asked(Question(pk=pk, key=key, project=project))
        if label is not None:
            found[key].codes[label] = code
    return found
