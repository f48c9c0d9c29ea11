"""Several statements in one round trip to PostgreSQL, which prepares them.

The results are the same as one by one, also after an error and behind a pooler that forbids
prepared statements.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from agreement_site import settings
from core.db import bulk

pytestmark = [
    pytest.mark.postgresql_only("SQLite caches its statements itself and needs no round trip"),
    pytest.mark.django_db(transaction=True),
]

ADD = "SELECT %s::int + %s::int"
FAILING = ("SELECT 1 / %s::int", [0])


@pytest.fixture(autouse=True)
def new_connection() -> None:
    connection.close()


def list_prepared_statements() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements ORDER BY statement")
        return [statement for (statement,) in cursor.fetchall()]


def test_a_statement_is_prepared_once() -> None:
    for number in range(3):
        assert bulk.execute_statements(
            [(ADD, [number, 1]), ("SELECT 'a%%b'", []), (ADD, [1, 1])]
        ) == [
            [(number + 1,)],
            [("a%b",)],
            [(2,)],
        ]
    assert list_prepared_statements() == ["SELECT $1::int + $2::int", "SELECT 'a%b'"]


def test_a_statement_with_a_list_is_planned_each_time() -> None:
    assert bulk.execute_statements(
        [("SELECT 1 WHERE 7 = ANY(%s::bigint[])", [[6, 7]]), (ADD, [1, 1])]
    ) == [
        [(1,)],
        [(2,)],
    ]
    assert list_prepared_statements() == ["SELECT $1::int + $2::int"]


def test_nothing_is_prepared_behind_a_pooler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREPARED_STATEMENTS", "0")
    options = settings.parse_database_url("postgresql:///")["OPTIONS"]
    assert options["prepare_threshold"] is None
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", options)
    assert bulk.execute_statements([(ADD, [1, 1]), (ADD, [2, 1])]) == [[(2,)], [(3,)]]
    assert list_prepared_statements() == []
    connection.close()  # it was opened with these options


@pytest.mark.parametrize("value", [5, -5, 40_000, 3 * 10**9, 2**62, None, True, "it's 5 %s", 0.5])
def test_values_are_returned_unchanged(value: Any) -> None:
    types = {int: "bigint", bool: "boolean", str: "text", float: "float8"}
    sql = f"SELECT %s::{types.get(type(value), 'text')}"
    assert bulk.execute_statements([(sql, [value])]) == [[(value,)]]


def test_all_statements_share_one_round_trip() -> None:
    """PostgreSQL treats a round trip outside a transaction as one transaction, with one start time."""
    now_statement: bulk.Statement = ("SELECT now()", [])
    [[first]], _, [[second]] = bulk.execute_statements(
        [now_statement, ("SELECT pg_sleep(0.002)", []), now_statement]
    )
    [[third]] = bulk.execute_statements([now_statement])[0]
    assert first == second < third


def test_statements_see_earlier_ones_and_may_return_no_rows() -> None:
    count: bulk.Statement = ("SELECT count(*) FROM numbers", [])
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE numbers (number integer)")
    results = bulk.execute_statements(
        [count, ("INSERT INTO numbers VALUES (%s), (%s)", [1, None]), count]
    )
    assert results == [[(0,)], [], [(2,)]]


def test_error_in_a_transaction_does_not_affect_later_statements() -> None:
    with pytest.raises(DatabaseError), transaction.atomic():
        bulk.execute_statements([(ADD, [1, 1]), ("SELECT %s FROM no_such_table", [1])])
    with transaction.atomic():
        with pytest.raises(DatabaseError, match="division"), transaction.atomic():
            bulk.execute_statements([(ADD, [1, 1]), FAILING, (ADD, [1, 1])])
        assert bulk.execute_statements([(ADD, [2, 3]), ("SELECT 1 / %s::int", [1])]) == [
            [(5,)],
            [(1,)],
        ]


@pytest.mark.parametrize("times", [0, 1, 4, 5, 6])
def test_error_outside_a_transaction_does_not_affect_later_ones(times: int) -> None:
    """However often the statements after it ran before, they work.

    With a prepare_threshold above 0 psycopg believes a statement prepared that never was.
    """
    for _ in range(times):
        assert bulk.execute_statements([(ADD, [1, 1])]) == [[(2,)]]
    with pytest.raises(DatabaseError, match="division"):
        bulk.execute_statements([FAILING, (ADD, [1, 1])])
    for _ in range(2):
        assert bulk.execute_statements([(ADD, [2, 3]), ("SELECT 1 / %s::int", [1])]) == [
            [(5,)],
            [(1,)],
        ]
