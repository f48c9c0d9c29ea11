"""Empty the database after a test that commits, table by table.

Django truncates all hundred tables and then looks up all content types and permissions, most of a
second on PostgreSQL. A test leaves rows in few tables.
"""

from __future__ import annotations

import functools

from django.core.management import call_command
from django.db import connection, transaction

# Rows that depend on the models alone.
KEPT_TABLES = {"django_migrations", "django_content_type", "auth_permission"}
# PostgreSQL reads deleted rows until they are vacuumed, so tables with more rows are truncated.
MAX_ROWS_TO_DELETE = 1000


def empty_tables() -> None:
    """Delete all rows, except for those of content types and permissions."""
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute(_build_row_count_query())
        row_counts = {table: count for table, count in cursor.fetchall() if count}
        if max(row_counts.values(), default=0) <= MAX_ROWS_TO_DELETE:
            for table in row_counts:  # in any order: foreign keys are checked at the end
                cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)}")
            return
    call_command("flush", verbosity=0, interactive=False, reset_sequences=False)


@functools.cache
def _build_row_count_query() -> str:
    """Return the query for (table, number of rows) of all tables, which stops counting early."""
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    quote = connection.ops.quote_name
    return " UNION ALL ".join(
        f"SELECT '{table}', (SELECT count(*) FROM "
        f"(SELECT 1 FROM {quote(table)} LIMIT {MAX_ROWS_TO_DELETE + 1}) AS some_rows)"
        for table in sorted(set(tables) - KEPT_TABLES)
    )
