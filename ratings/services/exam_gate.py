"""Whether a rater has still to pass an exam: one statement for the desk and the API.

Who leads the project knows the gold answers, and a model needs none: they are not examined. An exam
that was passed, or that a lead waived, stands whatever the rules say later.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.db import bulk

# The first question whose exam is still to be passed by the rater ``r`` of the statement around it.
DUE = """
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
_OF_EACH = f"SELECT r.id, ({DUE}) FROM projects_rater r WHERE r.id IN ({{raters}})"  # noqa: S608  # fixed names
_OF_ONE = f"SELECT ({DUE}) FROM projects_rater r WHERE r.id = %s"  # noqa: S608  # fixed names


def asking(rater_id: int) -> bulk.Statement:
    """The statement that finds one row: the id of the question whose exam is due, or NULL."""
    return _OF_ONE, [rater_id]


def asking_of_each(rater_ids: Sequence[int]) -> bulk.Statement:
    """The same of several: (rater, question or NULL)."""
    return _OF_EACH.format(raters=", ".join(["%s"] * len(rater_ids))), rater_ids


def due(rater_id: int) -> int | None:
    """The id of the question whose exam the rater has still to pass."""
    [[(question_id,)]] = bulk.several([asking(rater_id)])
    return None if question_id is None else int(question_id)
