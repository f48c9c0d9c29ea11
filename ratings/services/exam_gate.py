"""Queries for the question whose exam a rater still has to pass.

Leads know the gold answers and models need no exam: neither takes one. A passed or waived exam
stays valid if the rules change later.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.db import bulk

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
