"""How SQLite answers a query: by which index."""

from __future__ import annotations

from collections.abc import Callable

from django.db import connection
from django.test.utils import CaptureQueriesContext


def of_sqlite(ask: Callable[[], object]) -> list[str]:
    """The plan of each SELECT that ``ask`` sends."""
    with CaptureQueriesContext(connection) as captured:
        ask()
    plans = []
    with connection.cursor() as cursor:
        for one in captured:
            if one["sql"].startswith("SELECT"):
                cursor.execute(f"EXPLAIN QUERY PLAN {one['sql']}")
                plans.append(" ".join(str(row[-1]) for row in cursor.fetchall()))
    return plans
