"""The feed gives every committed event one place, and its readers never miss one."""

from __future__ import annotations

import datetime
import random
import threading
import time
from typing import Any

import pytest
import time_machine
from django.db import transaction

from events import feed
from events.models import Event, EventBatch
from events.services import add_to_batch, record_event
from tests.faults.threads import Gate, start_threads, wait_for_results

N_WRITERS, N_EVENTS_PER_WRITER = 6, 25


def record(project: Any, n: int) -> None:
    record_event(project_id=project.pk, kind="item.reviewed", data={"n": n})


def read_feed(project: Any, after: int) -> list[tuple[int, int]]:
    """Return (number, n) of the events after this number, as a reader of the API gets them."""
    events = feed.get_project_feed(project, "lead").filter(number__gt=after)
    return [(event.number or 0, event.data["n"]) for event in events]


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgresql_only("SQLite writes one at a time; no transaction overtakes another")
def test_event_committed_after_a_later_one_is_not_missed(project: Any) -> None:
    """The event with the smaller id is committed last."""
    gate = Gate()

    def record_slowly() -> None:
        with transaction.atomic():
            record(project, 1)
            gate.wait()

    futures = start_threads(record_slowly)
    gate.wait_until_reached()
    with transaction.atomic():
        record(project, 2)
    assert feed.publish_events() == 1
    assert read_feed(project, after=0) == [(1, 2)]
    gate.open()
    wait_for_results(futures)
    assert feed.publish_events() == 1
    assert read_feed(project, after=1) == [(2, 1)]
    assert Event.objects.get(number=2).pk < Event.objects.get(number=1).pk


@pytest.mark.django_db(transaction=True)
def test_readers_see_each_event_once_while_many_write_and_publish(project: Any) -> None:
    writers_are_done = threading.Event()

    def write(writer: int) -> None:
        pauses = random.Random(writer)
        for n in range(N_EVENTS_PER_WRITER):
            with transaction.atomic():
                record(project, writer * N_EVENTS_PER_WRITER + n)
                time.sleep(pauses.random() / 200)

    def publish() -> None:
        while not writers_are_done.is_set():
            feed.publish_events()
        feed.publish_events()

    def follow() -> list[tuple[int, int]]:
        rows: list[tuple[int, int]] = []
        while len(rows) < N_WRITERS * N_EVENTS_PER_WRITER:
            rows += read_feed(project, after=rows[-1][0] if rows else 0)
        return rows

    readers = start_threads(follow, follow)
    publishers = start_threads(publish, publish, publish)
    wait_for_results(start_threads(*(lambda n=n: write(n) for n in range(N_WRITERS))))
    writers_are_done.set()
    wait_for_results(publishers)
    for rows in wait_for_results(readers):
        assert [number for number, _n in rows] == list(range(1, len(rows) + 1))
        assert sorted(n for _number, n in rows) == list(range(N_WRITERS * N_EVENTS_PER_WRITER))


@pytest.mark.django_db
def test_rolled_back_event_leaves_no_gap(project: Any) -> None:
    record(project, 1)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        record(project, 2)
        raise ZeroDivisionError
    record(project, 3)
    assert feed.publish_events() == 2
    assert read_feed(project, after=0) == [(1, 1), (2, 3)]
    assert feed.publish_events() == 0


@pytest.mark.django_db
def test_changes_are_at_most_one_event_a_minute(project: Any) -> None:
    def change(*items: str, changes: int | None = None) -> None:
        add_to_batch(
            project_id=project.pk,
            kind="label.changed",
            subject="question/1",
            question="severity",
            items=items,
            changes=changes or len(items),
        )

    start = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
    with time_machine.travel(start, tick=False) as clock:
        change("a")
        change("b", "a")
        assert feed.publish_events() == 1
        change("c", changes=7)
        assert feed.publish_events() == 0
        clock.shift(59)
        assert feed.publish_events() == 0
        clock.shift(1)
        assert feed.publish_events() == 1
        clock.shift(3600)
        assert feed.publish_events() == 0
        change(*(f"i{n}" for n in range(150)))
        assert feed.publish_events() == 1
    events = [event.data for event in Event.objects.all()]
    assert events[:2] == [
        {"question": "severity", "changes": 3, "items": ["a", "b"]},
        {"question": "severity", "changes": 7, "items": ["c"]},
    ]
    assert (events[2]["changes"], len(events[2]["items"])) == (150, 100)
    assert EventBatch.objects.get().changes == 0
