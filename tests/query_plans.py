"""Query plans of SQLite: which index a query uses."""

from __future__ import annotations

from collections.abc import Callable

from django.db import connection
from django.test.utils import CaptureQueriesContext


def explain_sqlite_queries(run_queries: Callable[[], object]) -> list[str]:
    """Return the plan of each SELECT that ``run_queries`` sends."""
    with CaptureQueriesContext(connection) as captured:
        run_queries()
    plans = []
    with connection.cursor() as cursor:
        for query in captured:
            if query["sql"].startswith("SELECT"):
                cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
                plans.append(" ".join(str(row[-1]) for row in cursor.fetchall()))
    return plans
