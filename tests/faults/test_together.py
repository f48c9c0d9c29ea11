"""Several requests in one commit (SQLite): each answered after it, and none at another's cost."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, transaction
from rest_framework.test import APIClient

from agreement_site.sqlite3.base import DatabaseWrapper
from projects import tokens
from projects.models import Category, Item, Project, Rater
from ratings import together
from ratings.models import Rating, Revision
from tests.faults.threads import PATIENCE, Gate, finish, start

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.sqlite_only,
    pytest.mark.skipif("__import__('django.db').db.connection.vendor != 'sqlite'", reason="PostgreSQL does it itself"),
]

REQUESTS = 6


@contextlib.contextmanager
def writers_held() -> Iterator[None]:
    """Nobody else can begin to write meanwhile."""
    name = str(connection.settings_dict["NAME"])
    with contextlib.closing(sqlite3.connect(name, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        yield
        holder.execute("ROLLBACK")


@pytest.fixture
def leads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the groups that were taken."""
    sizes: list[int] = []
    take = together._take

    def counted() -> Any:
        group = take()
        sizes.append(len(group))
        return group

    monkeypatch.setattr(together, "_take", counted)
    return sizes


def wait_until_waiting(number: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while len(together._waiting) < number:
        assert time.monotonic() < deadline, "they do not come"
        time.sleep(0.001)


@pytest.fixture
def items(project: Project) -> list[str]:
    Item.objects.bulk_create(Item(project=project, key=f"i{number}") for number in range(REQUESTS))
    return [f"i{number}" for number in range(REQUESTS)]


@pytest.fixture
def post(project: Project, lead: User) -> Callable[[str, str], Any]:
    token = tokens.create(user=lead)
    path = f"/api/v1/projects/{project.pk}/ratings/"

    def send(item: str, label: str) -> Any:
        client = APIClient(headers={"Authorization": f"Bearer {token}"})
        return client.post(path, {"item": item, "rater": "ann", "label": label}, format="json")

    send("none", "none")  # the token's first use writes
    return send


def test_requests_that_wait_for_their_turn_share_one_commit(items: Any, post: Any, leads: list[int]) -> None:
    with writers_held():
        futures = start(*(lambda item=item: post(item, "major") for item in items))
        wait_until_waiting(REQUESTS)
    answers = finish(futures)
    assert [answer.json()["created"] for answer in answers] == [1] * REQUESTS
    assert leads == [REQUESTS]
    assert Rating.objects.count() == Revision.objects.count() == REQUESTS


def test_nobody_is_answered_before_the_commit(items: Any, post: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate()
    commit = DatabaseWrapper._commit

    def slowly(self: Any) -> Any:
        gate.wait()
        return commit(self)

    with writers_held():
        futures = start(*(lambda item=item: post(item, "major") for item in items))
        wait_until_waiting(REQUESTS)
        monkeypatch.setattr(DatabaseWrapper, "_commit", slowly)
    gate.wait_until_reached()
    assert not any(future.done() for future in futures)
    assert not Rating.objects.exists()
    gate.open()
    finish(futures)
    assert Rating.objects.count() == REQUESTS


def test_one_that_fails_spoils_no_other(items: Any, post: Any, question: Any, leads: list[int]) -> None:
    """Its category is retired after it was looked up: found out inside the transaction that it shares."""
    labels = {"i2": "minor"}
    minor = Category.objects.get(question=question, label="minor").pk
    with writers_held():
        futures = start(*(lambda item=item: post(item, labels.get(item, "major")) for item in items))
        wait_until_waiting(REQUESTS)
        together._waiting.insert(0, together._Turn(lambda: Category.objects.filter(pk=minor).update(retired=True)))
    statuses = [answer.status_code for answer in finish(futures)]
    assert statuses == [200, 200, 400, 200, 200, 200]
    assert leads == [REQUESTS + 1]
    assert set(Rating.objects.values_list("item__key", flat=True)) == set(items) - {"i2"}
    assert Revision.objects.count() == REQUESTS - 1


def test_a_commit_that_fails_is_done_again_one_by_one(items: Any, post: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = DatabaseWrapper._commit
    failures = iter([OperationalError("disk I/O error")])

    def once(self: Any) -> Any:
        for failure in failures:
            raise failure
        return commit(self)

    with writers_held():
        futures = start(*(lambda item=item: post(item, "major") for item in items))
        wait_until_waiting(REQUESTS)
        monkeypatch.setattr(DatabaseWrapper, "_commit", once)
    assert [answer.status_code for answer in finish(futures)] == [200] * REQUESTS
    assert Rating.objects.count() == Revision.objects.count() == REQUESTS


def test_a_database_that_takes_nothing_refuses_each_and_holds_nobody(
    items: Any, post: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.5)
    with writers_held():
        futures = start(*(lambda item=item: post(item, "major") for item in items))
        statuses = {answer.status_code for answer in finish(futures)}
    assert statuses == {503}
    assert not Rating.objects.exists()
    assert post(items[0], "major").status_code == 200


def test_the_ones_left_waiting_are_led_by_the_next(items: Any, project: Project) -> None:
    """While a group is committed the following one forms behind it."""
    gate = Gate()

    def first() -> str:
        gate.wait()
        return "first"

    futures = start(lambda: together.write(first))
    gate.wait_until_reached()
    works = [lambda n=n: Rater.objects.create(project=project, key=f"r{n}").key for n in range(3)]
    futures += start(*(lambda work=work: together.write(work) for work in works))
    wait_until_waiting(3)
    gate.open()
    assert finish(futures) == ["first", "r0", "r1", "r2"]
    assert together._leader is None


def test_inside_a_transaction_it_is_part_of_that(project: Project) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        together.write(lambda: Rater.objects.create(project=project, key="gone"))
        raise ZeroDivisionError
    assert not Rater.objects.filter(key="gone").exists()
