"""Concurrent requests, which SQLite writes in one transaction.

Each is answered after its commit as if it were alone, and none affects another.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from rest_framework.test import APIClient

from projects import locks
from projects.models import Item, Member, Project, Question, Rater
from projects.services import tokens
from ratings.api import rating_rows, write_batching
from ratings.models import NO_CODE, Rating, Revision
from ratings.services import slots
from ratings.services.judgement import Judgement
from tests.faults.threads import TIMEOUT_SECONDS, Gate, start_threads, wait_for_results

pytestmark = pytest.mark.django_db(transaction=True)

REQUESTS = 6

ExecuteFunction = Callable[[str, list[Any]], Any]


@contextlib.contextmanager
def block_writers(question: Question) -> Iterator[ExecuteFunction]:
    """Block other writers of the question's ratings; yield a function that executes SQL.

    The blocked writers see its effects afterwards.
    """
    with (
        contextlib.closing(connection.copy()) as other_connection,
        other_connection.cursor() as cursor,
    ):
        if other_connection.vendor == "postgresql":
            cursor.execute("BEGIN")
            cursor.execute(
                "SELECT pg_advisory_xact_lock(%s, %s)", [locks.CATEGORIES_LOCK, question.pk]
            )
        else:
            cursor.execute("BEGIN IMMEDIATE")
        yield cursor.execute
        cursor.execute("COMMIT")


@pytest.fixture
def group_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the size of each group that is written, or whose writing fails."""
    sizes: list[int] = []
    write_group = write_batching._write_group

    def write_and_record_size(group: Any) -> Any:
        sizes.append(len(group))
        return write_group(group)

    monkeypatch.setattr(write_batching, "_write_group", write_and_record_size)
    monkeypatch.setattr(write_batching, "MAX_WAIT_SECONDS", TIMEOUT_SECONDS)
    return sizes


def wait_until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.001)


def start_in_order(*works: Callable[[], Any]) -> list[Future[Any]]:
    """Start works in order: the first leads and waits to write, the others queue behind it.

    On PostgreSQL the leader has begun to write and is a group of its own.
    """
    futures = []
    first_number = 0 if connection.vendor == "postgresql" else 1
    for number, work in enumerate(works, first_number):
        futures += start_threads(work)
        wait_until(functools.partial(is_queued_behind, number, futures))
    return futures


def is_queued_behind(number: int, futures: list[Future[Any]]) -> bool:
    return has_leader() and len(list_waiting()) + count_refused(futures) == number


def count_refused(futures: list[Future[Any]]) -> int:
    """Return the number of requests that were rejected before they joined the queue."""
    return sum(future.done() for future in futures)


def list_waiting() -> list[Any]:
    return [turn for line in write_batching._lines.values() for turn in line.waiting]


def has_leader() -> bool:
    return any(line.is_led for line in write_batching._lines.values())


def get_expected_sizes(number: int) -> list[int]:
    """Return the sizes of the groups of ``number`` works that ``start_in_order`` has started."""
    return [1, number - 1] if connection.vendor == "postgresql" else [number]


def is_queue_empty() -> bool:
    return not list_waiting() and not has_leader()


@pytest.fixture
def items(project: Project) -> list[str]:
    Item.objects.bulk_create(Item(project=project, key=f"i{number}") for number in range(REQUESTS))
    return [f"i{number}" for number in range(REQUESTS)]


@pytest.fixture
def make_post() -> Callable[..., Any]:
    """Return a function (project, user) that returns a function which sends ratings of rater "ann".

    The latter takes items and labels: ``post(item, label, (item, label), ...)``.
    """

    def make(project: Project, user: User) -> Any:
        token = tokens.create_token(user=user)
        path = f"/api/v1/projects/{project.pk}/ratings/"

        def send(item: str, label: str | None, *other_rows: tuple[str, str | None]) -> Any:
            client = APIClient(headers={"Authorization": f"Bearer {token}"})
            rows = [
                {"item": item, "rater": "ann", "label": label}
                for item, label in ((item, label), *other_rows)
            ]
            return client.post(path, rows, format="json")

        send("none", "none")  # the token's first use writes
        return send

    return make


@pytest.fixture
def post(project: Project, lead: User, make_post: Any) -> Any:
    return make_post(project, lead)


def test_waiting_requests_share_one_transaction(
    items: Any, question: Any, post: Any, group_sizes: list[int]
) -> None:
    with block_writers(question):
        futures = start_in_order(*(lambda item=item: post(item, "major") for item in items))
    assert [response.json()["created"] for response in wait_for_results(futures)] == [1] * REQUESTS
    assert group_sizes == get_expected_sizes(REQUESTS)
    assert Rating.objects.count() == Revision.objects.count() == REQUESTS
    assert set(Item.objects.values_list("slots_taken", flat=True)) == {1}
    assert is_queue_empty()


def test_each_request_keeps_its_user_and_its_outcome(
    items: Any,
    question: Any,
    lead: User,
    annotator: User,
    project: Any,
    make_post: Any,
    group_sizes: list[int],
) -> None:
    by_lead, by_annotator = make_post(project, lead), make_post(project, annotator)
    by_lead("i1", "minor", ("i2", "minor"), ("i3", "minor"))
    # one slot of a full item is freed
    Project.objects.filter(pk=project.pk).update(overlap=1)
    Revision.objects.all().delete()
    group_sizes.clear()
    requests = [
        *((by_lead, "i0", "none"), (by_annotator, "i1", None), (by_lead, "i2", "minor")),
        *((by_annotator, "i3", "major"), (by_lead, "i4", "critical")),
    ]
    with block_writers(question):
        futures = start_in_order(
            *(
                lambda post=post, item=item, label=label: post(item, label)
                for post, item, label in requests
            )
        )
    outcomes = [
        {name for name, number in response.json().items() if number}
        for response in wait_for_results(futures)
    ]
    assert outcomes == [{"created"}, {"withdrawn"}, {"unchanged"}, {"changed"}, {"created"}]
    assert group_sizes == get_expected_sizes(5)
    revisions = Revision.objects.order_by("rating__item__key").values_list(
        "rating__item__key", "by__username", "code"
    )
    assert list(revisions) == [
        *(("i0", "lead", 0), ("i1", "annotator", NO_CODE)),
        *(("i3", "annotator", 2), ("i4", "lead", 3)),
    ]
    assert list(Item.objects.order_by("key").values_list("slots_taken", flat=True)) == [
        1,
        0,
        1,
        1,
        1,
        0,
    ]


def test_no_request_is_answered_before_the_commit(
    items: Any, question: Any, post: Any, group_sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    commit = BaseDatabaseWrapper._commit  # type: ignore[attr-defined]  # not in the stubs

    def wait_and_commit(self: Any) -> Any:
        if group_sizes and group_sizes[-1] > 1:
            gate.wait()
        return commit(self)

    with block_writers(question):
        futures = start_in_order(*(lambda item=item: post(item, "major") for item in items))
        monkeypatch.setattr(BaseDatabaseWrapper, "_commit", wait_and_commit)
    gate.wait_until_reached()
    last_size = get_expected_sizes(REQUESTS)[-1]
    assert not any(future.done() for future in futures[-last_size:])
    assert Rating.objects.count() == REQUESTS - last_size
    gate.open()
    wait_for_results(futures)
    assert Rating.objects.count() == REQUESTS


INVALIDATING_SQL = {
    "label": "UPDATE projects_category SET retired = true WHERE label = %s",
    "item": "DELETE FROM projects_item WHERE key = %s",
}


@pytest.mark.parametrize("kind", INVALIDATING_SQL)
def test_rejected_request_does_not_affect_the_others(
    kind: str, items: Any, question: Any, post: Any, group_sizes: list[int]
) -> None:
    """It gets the same error as if it were alone."""
    labels = {"i2": "minor"}
    with block_writers(question) as execute:
        futures = start_in_order(
            *(lambda item=item: post(item, labels.get(item, "major")) for item in items)
        )
        execute(INVALIDATING_SQL[kind], ["minor" if kind == "label" else "i2"])
    responses = wait_for_results(futures)
    assert [response.status_code for response in responses] == [200, 200, 400, 200, 200, 200]
    assert f"unknown {kind}" in responses[2].json()["error"]["fields"]["rows"]["0"]
    assert group_sizes == get_expected_sizes(REQUESTS)
    assert set(Rating.objects.values_list("item__key", flat=True)) == set(items) - {"i2"}
    assert Revision.objects.count() == REQUESTS - 1


@pytest.mark.postgresql_only("on SQLite nobody changes anything between look-up and writing")
@pytest.mark.parametrize("kind", INVALIDATING_SQL)
def test_request_rejected_after_the_lookup_affects_no_other(
    kind: str, items: Any, question: Any, post: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = {"i2": "minor"}
    resolve = rating_rows.resolve_rows
    pending_kind = iter([kind])

    def resolve_and_invalidate(request: Any) -> Any:
        resolved = resolve(request)
        if request.rows[0]["item"] == "i2" and next(pending_kind, None):
            with (
                contextlib.closing(connection.copy()) as other_connection,
                other_connection.cursor() as cursor,
            ):
                cursor.execute(INVALIDATING_SQL[kind], ["minor" if kind == "label" else "i2"])
        return resolved

    monkeypatch.setattr(rating_rows, "resolve_rows", resolve_and_invalidate)
    works = [lambda item=item: post(item, labels.get(item, "major")) for item in items]
    responses = wait_for_results(start_threads(*works))
    assert [response.status_code for response in responses] == [200, 200, 400, 200, 200, 200]
    assert set(Rating.objects.values_list("item__key", flat=True)) == set(items) - {"i2"}
    assert Revision.objects.count() == REQUESTS - 1


def test_request_without_permission_does_not_affect_the_others(
    items: Any,
    question: Any,
    annotator: User,
    lead: User,
    project: Any,
    group_sizes: list[int],
    assign_items: Callable[..., None],
) -> None:
    """An annotator without a rater, one who rates as somebody else, and one who omits the rater."""
    assign_items(project, "ann", "i1", "i3", "i4")
    user_without_rater = User.objects.create_user("without")
    Member.objects.create(project=project, user=user_without_rater, role=Member.Role.ANNOTATOR)
    Rater.objects.create(project=project, key="bob")
    path = f"/api/v1/projects/{project.pk}/ratings/"
    clients = {}
    for user in (lead, annotator, user_without_rater):
        clients[user] = APIClient(
            headers={"Authorization": f"Bearer {tokens.create_token(user=user)}"}
        )
        clients[user].get(path)  # the token's first use writes

    def send(user: User, item: str, **extra: str) -> Callable[[], Any]:
        return lambda: clients[user].post(
            path, {"item": item, "label": "major", **extra}, format="json"
        )

    with block_writers(question):
        futures = start_in_order(
            send(lead, "i0", rater="ann"),
            send(annotator, "i1", rater="ann"),
            send(user_without_rater, "i2"),
            send(annotator, "i3", rater="bob"),
            send(annotator, "i4"),
        )
    assert [response.status_code for response in wait_for_results(futures)] == [
        200,
        200,
        403,
        403,
        200,
    ]
    assert group_sizes == get_expected_sizes(3 if connection.vendor == "postgresql" else 5)
    stored = Rating.objects.order_by("item__key").values_list("item__key", "rater__key")
    assert list(stored) == [("i0", "ann"), ("i1", "ann"), ("i4", "ann")]


def test_rejected_correction_does_not_affect_the_others(
    items: Any,
    question: Any,
    annotator: User,
    lead: User,
    project: Any,
    make_post: Any,
    assign_items: Callable[..., None],
) -> None:
    assign_items(project, "ann", "i1", "i2")
    by_lead, by_annotator = make_post(project, lead), make_post(project, annotator)
    by_annotator("i1", "minor")
    Project.objects.filter(pk=project.pk).update(allows_corrections=False)
    with block_writers(question):
        futures = start_in_order(
            lambda: by_lead("i0", "major"),
            lambda: by_annotator("i1", "major"),
            lambda: by_annotator("i2", "major"),
        )
    assert [response.status_code for response in wait_for_results(futures)] == [200, 403, 200]
    stored = Rating.objects.order_by("item__key").values_list("item__key", "code")
    assert list(stored) == [("i0", 2), ("i1", 1), ("i2", 2)]


def test_failed_group_commit_is_retried_one_by_one(
    items: Any, question: Any, post: Any, group_sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = BaseDatabaseWrapper._commit  # type: ignore[attr-defined]  # not in the stubs
    failures = iter([OperationalError("disk I/O error")])

    def fail_once(self: Any) -> Any:
        for failure in failures if group_sizes and group_sizes[-1] > 1 else ():
            raise failure
        return commit(self)

    with block_writers(question):
        futures = start_in_order(*(lambda item=item: post(item, "major") for item in items))
        monkeypatch.setattr(BaseDatabaseWrapper, "_commit", fail_once)
    assert [response.json()["created"] for response in wait_for_results(futures)] == [1] * REQUESTS
    assert next(failures, None) is None
    assert Rating.objects.count() == Revision.objects.count() == REQUESTS


def test_terminated_leader_does_not_block_the_others(
    items: Any, question: Any, post: Any, group_sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_group = write_batching._write_group

    def exit_for_groups(group: Any) -> Any:
        if len(group) > 1:
            raise SystemExit
        return write_group(group)

    monkeypatch.setattr(write_batching, "_write_group", exit_for_groups)
    with block_writers(question):
        futures = start_in_order(*(lambda item=item: post(item, "major") for item in items))
    terminated = [
        index
        for index, future in enumerate(futures)
        if isinstance(future.exception(timeout=TIMEOUT_SECONDS), SystemExit)
    ]
    (leader,) = terminated
    del futures[leader]
    assert [response.status_code for response in wait_for_results(futures)] == [200] * (
        REQUESTS - 1
    )
    assert set(Rating.objects.values_list("item__key", flat=True)) == set(items) - {items[leader]}
    assert is_queue_empty()


def test_requests_for_one_rating_keep_their_order(
    items: Any, question: Any, post: Any, group_sizes: list[int]
) -> None:
    """Each comes after the earlier and before the later requests for the same rating."""
    requests = [("i0", "none"), ("i1", "none"), ("i1", "minor"), ("i2", "none"), ("i1", "major")]
    with block_writers(question):
        futures = start_in_order(
            *(lambda item=item, label=label: post(item, label) for item, label in requests)
        )
    outcomes = [
        {name for name, number in response.json().items() if number}
        for response in wait_for_results(futures)
    ]
    assert outcomes == [{"created"}, {"created"}, {"changed"}, {"created"}, {"changed"}]
    assert group_sizes == ([1, 2, 1, 1] if connection.vendor == "postgresql" else [5])
    history = Revision.objects.filter(rating__item__key="i1").order_by("pk")
    assert list(history.values_list("code", flat=True)) == [0, 1, 2]


def test_group_size_is_limited(
    items: Any, question: Any, post: Any, group_sizes: list[int], monkeypatch: Any
) -> None:
    monkeypatch.setattr(write_batching, "MAX_GROUP_SIZE", 3)
    with block_writers(question):
        futures = start_in_order(
            lambda: post("i0", "none"),
            lambda: post("i1", "none", ("i2", "none")),
            lambda: post("i3", "none", ("i4", "none")),
            lambda: post("i5", "none"),
        )
    assert [response.json()["created"] for response in wait_for_results(futures)] == [1, 2, 2, 1]
    assert group_sizes == ([1, 3] if connection.vendor == "postgresql" else [3, 1])


def test_projects_do_not_affect_each_other(
    items: Any,
    question: Any,
    post: Any,
    lead: User,
    make_project: Any,
    make_post: Any,
    project: Project,
) -> None:
    """On SQLite they share the commit; on PostgreSQL one does not wait for the other's locks."""
    other_project = make_project("Other", key="tone", overlap=1)
    Member.objects.create(project=other_project, user=lead, role=Member.Role.LEAD)
    Rater.objects.create(project=other_project, key="ann")
    Item.objects.create(project=other_project, key="theirs")
    post_to_other = make_post(other_project, lead)
    with block_writers(question):
        if connection.vendor == "postgresql":
            futures = start_in_order(*(lambda item=item: post(item, "major") for item in items))
            assert (
                wait_for_results(start_threads(lambda: post_to_other("theirs", "minor")))[0].json()[
                    "created"
                ]
                == 1
            )
        else:
            works = [lambda item=item: post(item, "major") for item in items]
            futures = start_in_order(
                *works[:2], lambda: post_to_other("theirs", "minor"), *works[2:]
            )
    assert {response.json()["created"] for response in wait_for_results(futures)} == {1}
    assert (
        Rating.objects.filter(question__project=project, item__project=project).count() == REQUESTS
    )
    assert (
        Rating.objects.filter(question__project=other_project, item__project=other_project).count()
        == 1
    )
    assert set(Item.objects.values_list("slots_taken", flat=True)) == {1}


@pytest.mark.postgresql_only("SQLite has one writer at a time")
def test_request_that_waits_for_a_lock_blocks_no_other(items: Any, post: Any) -> None:
    post("i0", "none")
    with transaction.atomic():
        Rating.objects.select_for_update().get(item__key="i0")
        blocked = start_threads(lambda: post("i0", "minor"))
        wait_until(lambda: has_leader() and not list_waiting())
        others = start_threads(lambda: post("i1", "minor"), lambda: post("i2", "minor"))
        assert [response.status_code for response in wait_for_results(others)] == [200, 200]
        assert not blocked[0].done()
    assert wait_for_results(blocked)[0].json()["changed"] == 1


@pytest.mark.sqlite_only("PostgreSQL has a lock for each row")
def test_locked_database_rejects_all_and_blocks_nobody(
    items: Any, question: Any, post: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.5)
    with block_writers(question):
        futures = start_threads(*(lambda item=item: post(item, "major") for item in items))
        statuses = {response.status_code for response in wait_for_results(futures)}
    assert statuses == {503}
    assert not Rating.objects.exists()
    assert post(items[0], "major").status_code == 200


def test_request_inside_a_transaction_is_part_of_it(items: Any, post: Any) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        assert post("i0", "major").json()["created"] == 1
        raise ZeroDivisionError
    assert not Rating.objects.exists()


def test_slots_of_a_group_are_locked_in_one_order() -> None:
    """Also when one item's slot is freed and another's taken: otherwise two groups could deadlock."""
    written = [
        (Judgement(7, 1, NO_CODE), 2),
        (Judgement(3, 2, 1), NO_CODE),
        (Judgement(9, 2, 1), NO_CODE),
    ]
    statements = slots.build_statements_after_write(written, overlap=3)
    order = [values[0] for _sql, values in statements]
    assert order == sorted(order)
    assert set(order) == {3, 7, 9}
