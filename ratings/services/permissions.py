"""Rules for what an annotator may submit, on pages and in the API.

Leads, files and the admin are not subject to them.

* A paused rater cannot submit.
* A rater with an exam to pass can only submit its answers, and these are final. Leads know the gold
  answers and models need no exam: neither takes one. A passed or waived exam stays valid if the
  rules change later.
* Only items that were assigned to the rater, or that the rater has a rating of (a lead may import
  ratings); not an item that was skipped or whose lease expired, until its slot is claimed again.
* If the project does not have ``allows_corrections``, submitted answers are final.
* The time of a rating is set by the server's clock.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from core.db import bulk
from projects.models import Rater
from ratings.models import NO_CODE, Assignment

# In these states of an assignment the rater may answer its item.
ANSWERABLE_STATES = (Assignment.State.OPEN, Assignment.State.DONE)


class RatingNotAllowed(Exception):
    """Base of errors for an answer that the rater may not submit; nothing was changed."""


class RaterPaused(RatingNotAllowed):
    """The lead has paused the rater."""


class RaterPausedForGold(RaterPaused):
    """The rater is paused because of wrong answers to gold items."""


class ExamRequired(RatingNotAllowed):
    """The rater has to pass an exam first."""


class ItemNotAssigned(RatingNotAllowed):
    """The item was never assigned to this rater, or is not in the state that the action needs."""


class ProjectArchived(RatingNotAllowed):
    """The project is archived: nobody can rate in it, and no file can be imported."""


class CorrectionsClosed(RatingNotAllowed):
    """The project does not let raters change their ratings."""


class ExamAnswersFinal(CorrectionsClosed):
    """The answer was given in an exam and cannot be changed."""


def validate_not_paused(paused: bool, gold_notice: str = "") -> None:
    """Raise RaterPaused for a paused rater, or RaterPausedForGold if ``gold_notice`` says so.

    ``gold_notice``: a value of Rater.GoldNotice, or empty.
    """
    if paused:
        raise (RaterPausedForGold if gold_notice == Rater.GoldNotice.PAUSED else RaterPaused)


def validate_exam_passed(due_question_id: int | None) -> None:
    """Raise ExamRequired if an exam is due.

    ``due_question_id`` is the question of this exam, None for no exam.
    """
    if due_question_id is not None:
        raise ExamRequired


def validate_correction_allowed(
    item_id: int, current_code: int | None, closed_item_ids: Collection[int] | None
) -> None:
    """Raise CorrectionsClosed if the answer may not be changed.

    ``closed_item_ids`` are the items that the rater has submitted or skipped; None if corrections
    are allowed. Otherwise an answer may not be changed if the item is one of them or has a rating
    (``current_code`` is neither None nor NO_CODE).
    """
    if closed_item_ids is None:
        return
    is_rated = current_code is not None and current_code != NO_CODE
    if is_rated or item_id in closed_item_ids:
        raise CorrectionsClosed


# The first question whose exam the rater ``r`` of the enclosing statement still has to pass.
DUE_EXAM_SQL = """
    SELECT x.question_id FROM ratings_examrules x
    JOIN projects_question q ON q.id = x.question_id
    WHERE q.project_id = r.project_id AND x.required AND r.kind = 'human'
        AND NOT EXISTS (
            SELECT 1 FROM projects_member m
            WHERE m.project_id = r.project_id AND m.user_id = r.user_id AND m.role = 'lead'
        )
        AND NOT EXISTS (
            SELECT 1 FROM ratings_exam e
            WHERE e.question_id = x.question_id AND e.rater_id = r.id
                AND e.state IN ('passed', 'waived')
        )
    ORDER BY q.position, q.id LIMIT 1
    """
_DUE_EXAMS_SQL = f"SELECT r.id, ({DUE_EXAM_SQL}) FROM projects_rater r WHERE r.id IN ({{raters}})"  # noqa: S608  # fixed names
_DUE_EXAM_OF_RATER_SQL = f"SELECT ({DUE_EXAM_SQL}) FROM projects_rater r WHERE r.id = %s"  # noqa: S608  # fixed names


def build_due_exam_query(rater_id: int) -> bulk.Statement:
    """Return the query of one row: the id of the question whose exam is due, or NULL."""
    return _DUE_EXAM_OF_RATER_SQL, [rater_id]


def get_due_question_ids_by_rater(rater_ids: Sequence[int]) -> dict[int, int]:
    """Return {rater: question} of the raters who still have an exam to pass."""
    sql = _DUE_EXAMS_SQL.format(raters=", ".join(["%s"] * len(rater_ids)))
    [rows] = bulk.execute_statements([(sql, rater_ids)])
    return {rater: int(question) for rater, question in rows if question is not None}
