"""What the rows of a request may name: questions with their labels, items, and raters, found on one
journey to the database.

Plain SQL: every request that brings ratings asks this, and the ORM takes longer to build three
queries than the database to answer them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.db import bulk
from projects.models import Project, Question
from projects.services.raters import pseudonyms
from ratings.services import exam_gate
from ratings.services.permissions import HELD


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
    # True keys of raters whose names are hidden -> their pseudonyms, which `raters` names.
    shown: dict[str, str]
    own_rater: str | None  # key of the rater that the user is, where that was asked
    is_paused: bool = False  # this rater
    told: str = ""  # what answers on gold brought this rater
    exam_due: int | None = None  # the question whose exam this rater has to pass first
    # Where items that were given to this rater were asked for alone: those not yet answered.
    open_items: frozenset[int] = frozenset()
    may_correct: bool = True
    or_not_given: str = ""  # the end of what is said of an item that is not among them

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
_OWN_RATER = f"""
    SELECT r.key, r.id, r.paused, p.corrections, m.id IS NOT NULL, ({exam_gate.DUE}), r.told
    FROM projects_rater r
    JOIN projects_project p ON p.id = r.project_id
    LEFT JOIN projects_member m ON m.project_id = r.project_id AND m.user_id = r.user_id
    WHERE r.project_id = %s AND r.user_id = %s
    """  # noqa: S608
_OWN = "SELECT id FROM projects_rater WHERE project_id = %s AND user_id = %s"
# As the desk finds them (ratings/annotation/rater_work.py); what was skipped or given up is not held.
# Only fixed names are put into the text.
_GIVEN = f"""
    SELECT i.key, i.id, EXISTS (
        SELECT 1 FROM ratings_assignment a
        WHERE a.item_id = i.id AND a.rater_id = ({_OWN}) AND a.state = 'open'
    )
    FROM projects_item i
    WHERE i.project_id = %s AND (
        EXISTS (
            SELECT 1 FROM ratings_assignment a
            WHERE a.item_id = i.id AND a.rater_id = ({_OWN}) AND a.state IN ({{held}})
        )
        OR EXISTS (
            SELECT 1 FROM ratings_rating r WHERE r.item_id = i.id AND r.rater_id = ({_OWN})
        )
    ) AND {{among}}
    """  # noqa: S608
_OR_NOT_GIVEN = ", or it was never given to you"


def look_up(
    project: Project,
    rows: Sequence[dict[str, Any]],
    *,
    own_rater_of: int | None,
    given_alone: bool = False,
) -> Known:
    """All that the rows may name. ``own_rater_of`` is a user's id, None where nobody asks;
    ``given_alone`` leaves out all items but those that were given to this user's rater, or rated by
    it."""
    keys = {row["item"] for row in rows}
    if given_alone:
        items = _given(project, own_rater_of, sorted(keys))
    else:
        items = bulk.find("projects_item", "id", project.pk, keys)
    named = {row["rater"] for row in rows if row.get("rater")}
    raters = bulk.find("projects_rater", "id", project.pk, named)
    hidden = pseudonyms.asked(project, named)
    if own_rater_of is not None:
        raters.append((_OWN_RATER, [project.pk, own_rater_of]))
    asked, *found = bulk.several([(_QUESTIONS, [project.pk]), *hidden, *items, *raters])
    found_hidden = [row for part in found[: len(hidden)] for row in part]
    found = found[len(hidden) :]
    found_items = found[: len(items)]
    found_raters = found[len(items) :]
    own = found_raters.pop() if own_rater_of is not None else []
    known = Known(
        questions=_questions(project, asked),
        items=_by_key(found_items),
        raters=_by_key([*found_raters, own, [row[1:] for row in found_hidden]]),
        shown={true: pseudonym for true, pseudonym, _pk in found_hidden},
        own_rater=own[0][0] if own else None,
    )
    if not given_alone or not own:
        return known
    [(_key, _pk, is_paused, may_correct, is_member, exam_due, told)] = own
    if not is_member:  # since a moment ago
        return replace(known, own_rater=None)
    open_items = {pk for part in found_items for _key, pk, is_open in part if is_open}
    return replace(
        known,
        is_paused=bool(is_paused),
        exam_due=exam_due,
        told=told,
        may_correct=bool(may_correct),
        open_items=frozenset(open_items),
        or_not_given=_OR_NOT_GIVEN,
    )


def _given(project: Project, user_id: int | None, keys: list[str]) -> list[bulk.Statement]:
    if not keys:
        return []
    own = [project.pk, user_id]
    among, values = bulk.among("i.key", keys)
    held = ", ".join(f"'{state.value}'" for state in HELD)
    statement = _GIVEN.format(held=held, among=among)
    return [(statement, [*own, project.pk, *own, *own, *values])]


def _by_key(parts: Iterable[list[tuple[Any, ...]]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in parts:
        found.update((key, pk) for key, pk, *_rest in part)
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
