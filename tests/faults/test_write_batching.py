"""Several requests at once, which SQLite writes in one transaction: each answered after its commit,
as if it had been alone, and none at another's cost."""

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

from projects import authentication, locks
from projects.models import Item, Member, Project, Question, Rater
from ratings.api import rating_rows, write_batching
from ratings.models import NO_CODE, Rating, Revision
from ratings.services import slots
from ratings.services.judgement import Judgement
from tests.faults.threads import PATIENCE, Gate, finish, start

pytestmark = pytest.mark.django_db(transaction=True)

REQUESTS = 6

Held = Callable[[str, list[Any]], Any]


@contextlib.contextmanager
def writers_held(question: Question) -> Iterator[Held]:
    """Nobody else can write ratings of the question meanwhile, but SQL can be done that they find
    done afterwards."""
    with contextlib.closing(connection.copy()) as other, other.cursor() as cursor:
        if other.vendor == "postgresql":
            cursor.execute("BEGIN")
            cursor.execute(
                "SELECT pg_advisory_xact_lock(%s, %s)", [locks.CATEGORIES_LOCK, question.pk]
            )
        else:
            cursor.execute("BEGIN IMMEDIATE")
        yield cursor.execute
        cursor.execute("COMMIT")


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the groups that were written, or tried."""
    sizes: list[int] = []
    write_group = write_batching._write_group

    def counted(group: Any) -> Any:
        sizes.append(len(group))
        return write_group(group)

    monkeypatch.setattr(write_batching, "_write_group", counted)
    monkeypatch.setattr(write_batching, "MAX_WAIT_SECONDS", PATIENCE)
    return sizes


def wait_until(true: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.001)


def behind(*works: Callable[[], Any]) -> list[Future[Any]]:
    """The first work leads and waits for its turn to write; the others wait behind it, in this
    order. On PostgreSQL the leader has begun to write, and is a group of its own."""
    futures = []
    first = 0 if connection.vendor == "postgresql" else 1
    for number, work in enumerate(works, first):
        futures += start(work)
        wait_until(functools.partial(stands_behind, number, futures))
    return futures


def stands_behind(number: int, futures: list[Future[Any]]) -> bool:
    return is_led() and len(waiting()) + refused(futures) == number


def refused(futures: list[Future[Any]]) -> int:
    """Those who were told so before they stood in the line."""
    return sum(future.done() for future in futures)


def waiting() -> list[Any]:
    return [turn for line in write_batching._lines.values() for turn in line.waiting]


def is_led() -> bool:
    return any(line.is_led for line in write_batching._lines.values())


def shared(number: int) -> list[int]:
    """The sizes of the groups of so many works, started by ``behind``."""
    return [1, number - 1] if connection.vendor == "postgresql" else [number]


def nobody_waits() -> bool:
    return not waiting() and not is_led()


@pytest.fixture
def items(project: Project) -> list[str]:
    Item.objects.bulk_create(Item(project=project, key=f"i{number}") for number in range(REQUESTS))
    return [f"i{number}" for number in range(REQUESTS)]


@pytest.fixture
def make_post() -> Callable[..., Any]:
    """``make_post(project, user)(item, label, (item, label), ...)``: ratings of the rater "ann"."""

    def make(project: Project, user: User) -> Any:
        token = authentication.create_token(user=user)
        path = f"/api/v1/projects/{project.pk}/ratings/"

        def send(item: str, label: str | None, *more: tuple[str, str | None]) -> Any:
            client = APIClient(headers={"Authorization": f"Bearer {token}"})
            rows = [
                {"item": item, "rater": "ann", "label": label}
                for item, label in ((item, label), *more)
            ]
            return client.post(path, rows, format="json")

        send("none", "none")  # the token's first use writes
        return send

    return make


@pytest.fixture
def post(project: Project, lead: User, make_post: Any) -> Any:
    return make_post(project, lead)


def test_requests_that_wait_share_one_transaction(
    items: Any, question: Any, post: Any, groups: list[int]
) -> None:
    with writers_held(question):
        futures = behind(*(lambda item=item: post(item, "major") for item in items))
    assert [answer.json()["created"] for answer in finish(futures)] == [1] * REQUESTS
    assert groups == shared(REQUESTS)
    assert Rating.objects.count() == Revision.objects.count() == REQUESTS
    assert set(Item.objects.values_list("places_taken", flat=True)) == {1}
    assert nobody_waits()


def test_each_keeps_its_user_and_its_outcome(
    items: Any,
    question: Any,
    lead: User,
    annotator: User,
    project: Any,
    make_post: Any,
    groups: list[int],
) -> None:
    by_lead, by_annotator = make_post(project, lead), make_post(project, annotator)
    by_lead("i1", "minor", ("i2", "minor"), ("i3", "minor"))
    # a place is freed of an item that is full
    Project.objects.filter(pk=project.pk).update(overlap=1)
    Revision.objects.all().delete()
    groups.clear()
    said = [
        *((by_lead, "i0", "none"), (by_annotator, "i1", None), (by_lead, "i2", "minor")),
        *((by_annotator, "i3", "major"), (by_lead, "i4", "critical")),
    ]
    with writers_held(question):
        futures = behind(
            *(
                lambda post=post, item=item, label=label: post(item, label)
                for post, item, label in said
            )
        )
    outcomes = [
        {name for name, number in answer.json().items() if number} for answer in finish(futures)
    ]
    assert outcomes == [{"created"}, {"withdrawn"}, {"unchanged"}, {"changed"}, {"created"}]
    assert groups == shared(5)
    lines = Revision.objects.order_by("rating__item__key").values_list(
        "rating__item__key", "by__username", "code"
    )
    assert list(lines) == [
        *(("i0", "lead", 0), ("i1", "annotator", NO_CODE)),
        *(("i3", "annotator", 2), ("i4", "lead", 3)),
    ]
    assert list(Item.objects.order_by("key").values_list("places_taken", flat=True)) == [
        1,
        0,
        1,
        1,
        1,
        0,
    ]


def test_nobody_is_answered_before_the_commit(
    items: Any, question: Any, post: Any, groups: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    commit = BaseDatabaseWrapper._commit  # type: ignore[attr-defined]  # not in the stubs

    def slowly(self: Any) -> Any:
        if groups and groups[-1] > 1:
            gate.wait()
        return commit(self)

    with writers_held(question):
        futures = behind(*(lambda item=item: post(item, "major") for item in items))
        monkeypatch.setattr(BaseDatabaseWrapper, "_commit", slowly)
    gate.wait_until_reached()
    last = shared(REQUESTS)[-1]
    assert not any(future.done() for future in futures[-last:])
    assert Rating.objects.count() == REQUESTS - last
    gate.open()
    finish(futures)
    assert Rating.objects.count() == REQUESTS


REFUSED = {
    "label": "UPDATE projects_category SET retired = true WHERE label = %s",
    "item": "DELETE FROM projects_item WHERE key = %s",
}


@pytest.mark.parametrize("what", REFUSED)
def test_one_that_is_refused_spoils_no_other(
    what: str, items: Any, question: Any, post: Any, groups: list[int]
) -> None:
    """It is told so as if it had been alone."""
    labels = {"i2": "minor"}
    with writers_held(question) as execute:
        futures = behind(
            *(lambda item=item: post(item, labels.get(item, "major")) for item in items)
        )
        execute(REFUSED[what], ["minor" if what == "label" else "i2"])
    answers = finish(futures)
    assert [answer.status_code for answer in answers] == [200, 200, 400, 200, 200, 200]
    assert f"unknown {what}" in answers[2].json()["error"]["fields"]["rows"]["0"]
    assert groups == shared(REQUESTS)
    assert set(Rating.objects.values_list("item__key", flat=True)) == set(items) - {"i2"}
    assert Revision.objects.count() == REQUESTS - 1


@pytest.mark.postgresql_only("on SQLite nobody changes anything between look-up and writing")
@pytest.mark.parametrize("what", REFUSED)
def test_one_that_is_refused_after_the_look_up_spoils_no_other(
    what: str, items: Any, question: Any, post: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = {"i2": "minor"}
    resolve = rating_rows.resolve_rows
    once = iter([what])

    def late(sent: Any) -> Any:
        found = resolve(sent)
        if sent.rows[0]["item"] == "i2" and next(once, None):
            with contextlib.closing(connection.copy()) as other, other.cursor() as cursor:
                cursor.execute(REFUSED[what], ["minor" if what == "label" else "i2"])
        return found

    monkeypatch.setattr(rating_rows, "resolve_rows", late)
    works = [lambda item=item: post(item, labels.get(item, "major")) for item in items]
    answers = finish(start(*works))
    assert [answer.status_code for answer in answers] == [200, 200, 400, 200, 200, 200]
    assert set(Rating.objects.values_list("item__key", flat=True)) == set(items) - {"i2"}
    assert Revision.objects.count() == REQUESTS - 1


def test_who_may_not_rate_spoils_no_other(
    items: Any,
    question: Any,
    annotator: User,
    lead: User,
    project: Any,
    groups: list[int],
    give: Callable[..., None],
) -> None:
    """An annotator without a rater, an annotator as somebody else, and one who need not say who
    they are."""
    give(project, "ann", "i1", "i3", "i4")
    without = User.objects.create_user("without")
    Member.objects.create(project=project, user=without, role=Member.Role.ANNOTATOR)
    Rater.objects.create(project=project, key="bob")
    path = f"/api/v1/projects/{project.pk}/ratings/"
    clients = {}
    for user in (lead, annotator, without):
        clients[user] = APIClient(
            headers={"Authorization": f"Bearer {authentication.create_token(user=user)}"}
        )
        clients[user].get(path)  # the token's first use writes

    def send(user: User, item: str, **more: str) -> Callable[[], Any]:
        return lambda: clients[user].post(
            path, {"item": item, "label": "major", **more}, format="json"
        )

    with writers_held(question):
        futures = behind(
            send(lead, "i0", rater="ann"),
            send(annotator, "i1", rater="ann"),
            send(without, "i2"),
            send(annotator, "i3", rater="bob"),
            send(annotator, "i4"),
        )
    assert [answer.status_code for answer in finish(futures)] == [200, 200, 403, 403, 200]
    assert groups == shared(3 if connection.vendor == "postgresql" else 5)
    stored = Rating.objects.order_by("item__key").values_list("item__key", "rater__key")
    assert list(stored) == [("i0", "ann"), ("i1", "ann"), ("i4", "ann")]


def test_who_may_not_correct_spoils_no_other(
    items: Any,
    question: Any,
    annotator: User,
    lead: User,
    project: Any,
    make_post: Any,
    give: Callable[..., None],
) -> None:
    give(project, "ann", "i1", "i2")
    by_lead, by_annotator = make_post(project, lead), make_post(project, annotator)
    by_annotator("i1", "minor")
    Project.objects.filter(pk=project.pk).update(corrections=False)
    with writers_held(question):
        futures = behind(
            lambda: by_lead("i0", "major"),
            lambda: by_annotator("i1", "major"),
            lambda: by_annotator("i2", "major"),
        )
    assert [answer.status_code for answer in finish(futures)] == [200, 403, 200]
    stored = Rating.objects.order_by("item__key").values_list("item__key", "code")
    assert list(stored) == [("i0", 2), ("i1", 1), ("i2", 2)]


def test_a_commit_that_fails_is_done_again_one_by_one(
    items: Any, question: Any, post: Any, groups: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = BaseDatabaseWrapper._commit  # type: ignore[attr-defined]  # not in the stubs
    failures = iter([OperationalError("disk I/O error")])

    def once(self: Any) -> Any:
        for failure in failures if groups and groups[-1] > 1 else ():
            raise failure
        return commit(self)

    with writers_held(question):
        futures = behind(*(lambda item=item: post(item, "major") for item in items))
        monkeypatch.setattr(BaseDatabaseWrapper, "_commit", once)
    assert [answer.json()["created"] for answer in finish(futures)] == [1] * REQUESTS
    assert next(failures, None) is None
    assert Rating.objects.count() == Revision.objects.count() == REQUESTS


def test_a_leader_that_is_ended_holds_nobody(
    items: Any, question: Any, post: Any, groups: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_group = write_batching._write_group

    def ended(group: Any) -> Any:
        if len(group) > 1:
            raise SystemExit
        return write_group(group)

    monkeypatch.setattr(write_batching, "_write_group", ended)
    with writers_held(question):
        futures = behind(*(lambda item=item: post(item, "major") for item in items))
    ended_at = [
        place
        for place, future in enumerate(futures)
        if isinstance(future.exception(timeout=PATIENCE), SystemExit)
    ]
    (leader,) = ended_at
    del futures[leader]
    assert [answer.status_code for answer in finish(futures)] == [200] * (REQUESTS - 1)
    assert set(Rating.objects.values_list("item__key", flat=True)) == set(items) - {items[leader]}
    assert nobody_waits()


def test_who_names_the_same_rating_comes_after_it(
    items: Any, question: Any, post: Any, groups: list[int]
) -> None:
    """And before who came later still."""
    said = [("i0", "none"), ("i1", "none"), ("i1", "minor"), ("i2", "none"), ("i1", "major")]
    with writers_held(question):
        futures = behind(
            *(lambda item=item, label=label: post(item, label) for item, label in said)
        )
    outcomes = [
        {name for name, number in answer.json().items() if number} for answer in finish(futures)
    ]
    assert outcomes == [{"created"}, {"created"}, {"changed"}, {"created"}, {"changed"}]
    assert groups == ([1, 2, 1, 1] if connection.vendor == "postgresql" else [5])
    history = Revision.objects.filter(rating__item__key="i1").order_by("pk")
    assert list(history.values_list("code", flat=True)) == [0, 1, 2]


def test_a_group_is_bounded(
    items: Any, question: Any, post: Any, groups: list[int], monkeypatch: Any
) -> None:
    monkeypatch.setattr(write_batching, "MAX_GROUP_SIZE", 3)
    with writers_held(question):
        futures = behind(
            lambda: post("i0", "none"),
            lambda: post("i1", "none", ("i2", "none")),
            lambda: post("i3", "none", ("i4", "none")),
            lambda: post("i5", "none"),
        )
    assert [answer.json()["created"] for answer in finish(futures)] == [1, 2, 2, 1]
    assert groups == ([1, 3] if connection.vendor == "postgresql" else [3, 1])


def test_projects_do_not_mix(
    items: Any,
    question: Any,
    post: Any,
    lead: User,
    make_project: Any,
    make_post: Any,
    project: Project,
) -> None:
    """On SQLite they share the commit. On PostgreSQL the one does not wait for the other's
    locks."""
    other = make_project("Other", key="tone", overlap=1)
    Member.objects.create(project=other, user=lead, role=Member.Role.LEAD)
    Rater.objects.create(project=other, key="ann")
    Item.objects.create(project=other, key="theirs")
    elsewhere = make_post(other, lead)
    with writers_held(question):
        if connection.vendor == "postgresql":
            futures = behind(*(lambda item=item: post(item, "major") for item in items))
            assert finish(start(lambda: elsewhere("theirs", "minor")))[0].json()["created"] == 1
        else:
            works = [lambda item=item: post(item, "major") for item in items]
            futures = behind(*works[:2], lambda: elsewhere("theirs", "minor"), *works[2:])
    assert {answer.json()["created"] for answer in finish(futures)} == {1}
    assert (
        Rating.objects.filter(question__project=project, item__project=project).count() == REQUESTS
    )
    assert Rating.objects.filter(question__project=other, item__project=other).count() == 1
    assert set(Item.objects.values_list("places_taken", flat=True)) == {1}


@pytest.mark.postgresql_only("SQLite has one writer at a time")
def test_nobody_waits_for_one_who_waits_for_a_lock(items: Any, post: Any) -> None:
    post("i0", "none")
    with transaction.atomic():
        Rating.objects.select_for_update().get(item__key="i0")
        blocked = start(lambda: post("i0", "minor"))
        wait_until(lambda: is_led() and not waiting())
        others = start(lambda: post("i1", "minor"), lambda: post("i2", "minor"))
        assert [answer.status_code for answer in finish(others)] == [200, 200]
        assert not blocked[0].done()
    assert finish(blocked)[0].json()["changed"] == 1


@pytest.mark.sqlite_only("PostgreSQL has a lock for each row")
def test_a_database_that_takes_nothing_refuses_each_and_holds_nobody(
    items: Any, question: Any, post: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.5)
    with writers_held(question):
        futures = start(*(lambda item=item: post(item, "major") for item in items))
        statuses = {answer.status_code for answer in finish(futures)}
    assert statuses == {503}
    assert not Rating.objects.exists()
    assert post(items[0], "major").status_code == 200


def test_inside_a_transaction_it_is_part_of_that(items: Any, post: Any) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        assert post("i0", "major").json()["created"] == 1
        raise ZeroDivisionError
    assert not Rating.objects.exists()


def test_the_places_of_a_group_are_asked_for_in_one_order() -> None:
    """Also where one item's place is freed and another's is taken: else two groups could wait in a
    circle."""
    written = [
        (Judgement(7, 1, NO_CODE), 2),
        (Judgement(3, 2, 1), NO_CODE),
        (Judgement(9, 2, 1), NO_CODE),
    ]
    statements = slots.build_statements_after_write(written, overlap=3)
    order = [values[0] for _sql, values in statements]
    assert order == sorted(order)
    assert set(order) == {3, 7, 9}
