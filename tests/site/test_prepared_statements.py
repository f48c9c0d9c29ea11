"""Statements that PostgreSQL is told once a connection: the same answers, also when plans are made
anew or a pooler forbids it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import DatabaseError, connection, transaction

from groundwork.database import bulk
from groundwork.database.postgresql import base

pytestmark = [
    pytest.mark.postgresql_only("SQLite keeps its statements by itself"),
    pytest.mark.django_db,
]

ADD = "SELECT %s::int + %s::int"


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """A connection that takes itself for a new one, before and after."""
    connection._names, connection._asks = {}, 0
    yield
    connection._names, connection._asks = {}, 0


def prepared() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT statement FROM pg_prepared_statements WHERE name = ANY(%s)",
            [list(connection._names.values())],
        )
        return [statement for (statement,) in cursor.fetchall()]


def test_a_statement_is_told_once() -> None:
    for number in range(3):
        assert bulk.several([(ADD, [number, 1]), ("SELECT 'a%%b'", []), (ADD, [1, 1])]) == [
            [(number + 1,)],
            [("a%b",)],
            [(2,)],
        ]
    assert len(prepared()) == 2


def test_plans_are_made_anew_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "ASKS", 2)
    names = set()
    for number in range(7):
        assert bulk.several([(ADD, [number, 1])]) == [[(number + 1,)]]
        names |= set(connection._names.values())
    assert len(names) == 4
    assert len(prepared()) == 1


def test_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MOST_TEXTS", 3)
    for number in range(6):
        assert bulk.several([(f"SELECT {number} + %s", [1])]) == [[(number + 1,)]]
    assert len(prepared()) == 3


def test_many_parameters_are_not_prepared() -> None:
    marks = ", ".join(["%s"] * 50)
    assert bulk.several([(f"SELECT 1 WHERE 7 IN ({marks})", list(range(50)))]) == [[(1,)]]
    assert prepared() == []


def test_one_that_fails_leaves_the_others() -> None:
    with pytest.raises(DatabaseError), transaction.atomic():
        bulk.several([(ADD, [1, 1]), ("SELECT %s FROM no_such_table", [1])])
    with pytest.raises(DatabaseError, match="division"), transaction.atomic():
        bulk.several([(ADD, [1, 1]), ("SELECT 1 / %s", [0])])
    assert bulk.several([(ADD, [2, 3]), ("SELECT 1 / %s", [1])]) == [[(5,)], [(1,)]]


def test_none_behind_a_pooler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "PREPARED_STATEMENTS", False)
    assert bulk.several([(ADD, [1, 1]), (ADD, [2, 1])]) == [[(2,)], [(3,)]]
    assert connection._names == {}
