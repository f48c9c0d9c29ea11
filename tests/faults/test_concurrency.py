"""Concurrent writers with real transactions: exact counts, nothing missed, no deadlocks."""

from __future__ import annotations

import datetime
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from rest_framework.test import APIClient

from metrics.counting import backlog, peer_store
from metrics.counting import question_counting as counting
from metrics.jobs import question_updates
from metrics.models import CountState, PairTally, RaterResult
from metrics.results import rater_results as rater_readings
from metrics.results import refresh as project_readings
from projects.models import Category, Item, Project, Question, Rater
from projects.services.item_upsert import upsert_items
from projects.services.projects import change_project
from projects.services.questions import change_weights
from ratings.annotation.assignments import queue
from ratings.files import media
from ratings.models import Rating, Revision
from ratings.services import project_changes, record_sql
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.faults.threads import (
    TIMEOUT_SECONDS,
    Gate,
    start_threads,
    wait_for_results,
    wait_until_blocked,
)
from tests.metrics import invariants

pytestmark = pytest.mark.django_db(transaction=True)

RATING_FIELDS = ("item__key", "rater__key", "code")
REVISION_FIELDS = ("rating__item__key", "rating__rater__key", "code")

postgresql_only = pytest.mark.postgresql_only(
    "SQLite writes one at a time; only PostgreSQL's writers can overtake each other"
)


@pytest.fixture
def ids(project: Any) -> tuple[list[int], list[int]]:
    """Return the ids of 12 items, and of 4 raters."""
    items = [
        Item.objects.create(project=project, key=str(number), body={"text": "x"}).pk
        for number in range(12)
    ]
    raters = [Rater.objects.create(project=project, key=str(number)).pk for number in range(4)]
    return items, raters


def save_ratings(question: Any, *rows: tuple[int, int, int]) -> None:
    """Record (item, rater, code) rows in one transaction."""
    record_ratings({question: [Judgement(*row) for row in rows]}, by=None, source="api")


@postgresql_only
def test_rating_committed_out_of_id_order_is_counted(question: Any, ids: Any) -> None:
    """Its ID is the smaller one, so a counter that remembers the largest ID would miss it."""
    (item, other_item, *_), (first_rater, second_rater, *_) = ids
    gate = Gate()

    def rate_and_wait() -> None:
        with transaction.atomic():
            save_ratings(question, (item, first_rater, 1))
            gate.wait()

    futures = start_threads(rate_and_wait)
    gate.wait_until_reached()
    save_ratings(question, (other_item, second_rater, 1))
    question_updates.update_question(question.pk)
    assert CountState.objects.get(question=question).ratings == 1
    gate.open()
    wait_for_results(futures)
    assert Rating.objects.get(rater=first_rater).pk < Rating.objects.get(rater=second_rater).pk
    assert question_updates.sweep_questions() == 1
    invariants.check(question.pk)
    assert CountState.objects.get(question=question).ratings == 2


@postgresql_only
def test_rating_saved_between_read_and_mark_stays_uncounted(
    question: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another transaction changes a counted rating and adds one while the counter's is open."""
    (item, *_), (rater_1, rater_2, rater_3, _) = ids
    save_ratings(question, (item, rater_1, 1), (item, rater_2, 2))
    question_updates.update_question(question.pk)
    save_ratings(question, (item, rater_1, 2))
    gate = Gate()
    add_peers = peer_store.add_peer_counts

    def wait_and_add_peers(*args: Any) -> dict[int, int]:
        gate.wait()
        return add_peers(*args)

    monkeypatch.setattr(peer_store, "add_peer_counts", wait_and_add_peers)
    futures = start_threads(lambda: counting.count_items(question.pk))
    gate.wait_until_reached()
    save_ratings(question, (item, rater_1, 0), (item, rater_3, 3))
    gate.open()
    wait_for_results(futures)
    monkeypatch.undo()
    uncounted = (
        Rating.objects.uncounted().order_by("rater_id").values_list("rater_id", "code", "counted")
    )
    assert list(uncounted) == [(rater_1, 0, 2), (rater_3, 3, -1)]
    question_updates.sweep_questions()
    invariants.check(question.pk)


def test_concurrent_counters_count_each_rating_once(question: Any, ids: Any) -> None:
    items, raters = ids
    save_ratings(
        question, *((item, rater, (item + rater) % 4) for item in items for rater in raters)
    )
    barrier = threading.Barrier(4)

    def count() -> None:
        barrier.wait()
        while counting.count_items(question.pk, limit=2).has_more:
            pass
        question_updates.update_question(question.pk)

    wait_for_results(start_threads(count, count, count, count))
    invariants.check(question.pk)
    assert CountState.objects.get(question=question).ratings == len(items) * len(raters)


def test_workers_share_a_backlog(
    question: Any, ids: Any, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each worker reads and tallies while the others do.

    No lease lasts, so they also take over shares from each other.
    """
    items, raters = ids
    save_ratings(
        question, *((item, rater, (item + rater) % 4) for item in items for rater in raters)
    )
    barrier = threading.Barrier(3)
    counted = []

    def count() -> None:
        barrier.wait()
        counted.append(question_updates.update_question(question.pk))

    wait_for_results(start_threads(count, count, count))
    assert sum(counted) == len(items)
    invariants.check(question.pk)
    assert CountState.objects.get(question=question).ratings == len(items) * len(raters)


@postgresql_only
def test_workers_share_the_results_of_raters(
    question: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In parallel: neither worker waits for the other, and together they compute all results."""
    items, raters = ids
    save_ratings(
        question, *((item, rater, (item + rater) % 4) for item in items for rater in raters)
    )
    counting.count_items(question.pk)
    monkeypatch.setattr(rater_readings, "MAX_RATERS", 1)
    monkeypatch.setattr(rater_readings, "RATERS_AT_ONCE", 1)
    gate, worker_calls = Gate(), []
    original_refresh = rater_readings.refresh_unlocked_raters

    def refresh_and_wait(question_id: int, scale: Any) -> bool:
        is_refreshed = original_refresh(question_id, scale)
        if is_refreshed and threading.current_thread() is not threading.main_thread():
            worker_calls.append(question_id)
            if len(worker_calls) == 1:
                gate.wait()  # while it holds one rater's lock
        return is_refreshed

    monkeypatch.setattr(rater_readings, "refresh_unlocked_raters", refresh_and_wait)
    worker = start_threads(lambda: project_readings.refresh_results(question.pk))
    gate.wait_until_reached()
    computed_ids = list(
        RaterResult.objects.filter(question=question).values_list("rater_id", flat=True)
    )
    while project_readings._refresh_raters_in_parallel(question.pk):
        pass
    n_computed = RaterResult.objects.filter(question=question).count()
    assert n_computed > len(computed_ids)
    gate.open()
    wait_for_results(worker)
    monkeypatch.undo()
    invariants.check(question.pk)


@postgresql_only
def test_a_recount_waits_for_a_worker_that_finishes_a_share(
    question: Any, ids: Any, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker has marked ratings and needs the question's lock next; a recount needs both."""
    items, raters = ids
    save_ratings(
        question, *((item, rater, (item + rater) % 4) for item in items for rater in raters)
    )
    backlog.start_backlog(question.pk)
    share = backlog.claim_range(question.pk)
    assert share is not None
    change = backlog.tally_range(share)
    gate = Gate()
    mark = counting.mark_change_counted

    def mark_and_wait(rows: Any) -> None:
        mark(rows)
        gate.wait()

    monkeypatch.setattr(counting, "mark_change_counted", mark_and_wait)
    worker = start_threads(lambda: backlog.add_counts_of_range(share, change))
    gate.wait_until_reached()
    recount = start_threads(lambda: question_updates.delete_counts_and_results(question))
    wait_until_blocked()
    gate.open()
    assert wait_for_results(worker) == [True]
    wait_for_results(recount)
    monkeypatch.undo()
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


def test_the_second_counter_waits_for_the_first(
    question: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise both would read the same uncounted ratings and add them twice."""
    (item, *_), (rater_1, rater_2, *_) = ids
    save_ratings(question, (item, rater_1, 1), (item, rater_2, 1))
    CountState.objects.create(question=question, scale_version=question.scale_version)
    gate = Gate()
    read_count = itertools.count()
    read = counting.load_ratings_of_uncounted_items

    def read_and_wait(*args: Any) -> Any:
        rows = read(*args)
        if next(read_count) == 0:
            gate.wait()
        return rows

    monkeypatch.setattr(counting, "load_ratings_of_uncounted_items", read_and_wait)
    first = start_threads(lambda: counting.count_items(question.pk))
    gate.wait_until_reached()
    second = start_threads(lambda: counting.count_items(question.pk))
    time.sleep(0.3)  # long enough for the second to read too, if nothing prevents it
    assert next(read_count) == 1
    gate.open()
    wait_for_results(first + second)
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


@pytest.mark.parametrize("shares", [False, True])
def test_counts_are_exact_with_concurrent_raters_counters_and_leads(
    question: Any, ids: Any, lead: User, request: pytest.FixtureRequest, shares: bool
) -> None:
    """Write overlapping batches in opposite orders, beside counts and recounts: no deadlock."""
    if shares:
        request.getfixturevalue("small_batches")
    items, raters = ids
    save_ratings(question, *((item, rater, 0) for item in items for rater in raters))
    stop_event = threading.Event()

    def rate(order: int) -> None:
        for turn in range(12):
            rows = [(item, rater, (item + turn + order) % 4) for item in items for rater in raters]
            save_ratings(question, *rows[::order])

    def count() -> None:
        while not stop_event.wait(0.1):
            question_updates.update_question(question.pk)

    def change_time_zones() -> None:
        project = Project.objects.get(pk=question.project_id)
        for zone in ("Pacific/Kiritimati", "America/Los_Angeles", "UTC"):
            change_project(project=project, by=lead, time_zone=zone)
            question_updates.delete_counts_and_results(question)

    counters = start_threads(count, count)
    try:
        wait_for_results(start_threads(lambda: rate(1), lambda: rate(-1), change_time_zones))
    finally:
        stop_event.set()
    wait_for_results(counters)
    question_updates.sweep_questions()
    invariants.check(question.pk)


@postgresql_only
def test_waiting_counter_holds_no_row_that_the_rater_needs(
    question: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the two deadlock, and PostgreSQL cancels one of them: perhaps the rater."""
    (first, second, *_), (rater, *_) = ids
    save_ratings(question, (first, rater, 1), (second, rater, 1))
    read = counting.load_ratings_of_uncounted_items

    def read_backwards(*args: Any) -> Any:
        """Return the rows in the worst order; PostgreSQL promises none."""
        rows, notes = read(*args)
        return np.sort(rows, order="item")[::-1], notes

    monkeypatch.setattr(counting, "load_ratings_of_uncounted_items", read_backwards)
    with transaction.atomic():
        save_ratings(question, (first, rater, 2))
        futures = start_threads(lambda: counting.count_items(question.pk))
        wait_until_blocked()
        save_ratings(question, (second, rater, 2))
    wait_for_results(futures)
    question_updates.sweep_questions()
    invariants.check(question.pk)


@postgresql_only
def test_rater_waiting_for_an_item_holds_no_other_item(
    project: Any, question: Any, ids: Any
) -> None:
    """The queue tries items in a different order for each rater, so held items could deadlock."""
    (first, *others), (rater_1, rater_2, rater, _) = ids
    save_ratings(
        question, *((item, rater_id, 1) for item in others for rater_id in (rater_1, rater_2))
    )
    # As after the overlap was raised: more raters than the row's counter says.
    Item.objects.filter(pk__in=others).update(slots_taken=0)
    Project.objects.filter(pk=project.pk).update(overlap=1)
    with transaction.atomic():
        Item.objects.select_for_update(no_key=True).get(pk=first)
        futures = start_threads(lambda: queue.get_next_item(Rater.objects.get(pk=rater)))
        wait_until_blocked()
        assert list(Item.objects.select_for_update(no_key=True, nowait=True).filter(pk__in=others))
    assert [item.pk for item in wait_for_results(futures)] == [first]


@postgresql_only
def test_writers_of_the_same_new_ratings_take_turns(question: Any, ids: Any) -> None:
    (first, second, *_), (rater, *_) = ids
    with transaction.atomic():
        save_ratings(question, (first, rater, 1))
        futures = start_threads(
            lambda: save_ratings(question, (second, rater, 2), (first, rater, 2))
        )
        wait_until_blocked()
        save_ratings(question, (second, rater, 1))
    wait_for_results(futures)
    assert set(Rating.objects.values_list("code", flat=True)) == {2}


@pytest.mark.parametrize("number", [4, 300])
def test_the_same_new_items_in_opposite_orders_are_all_stored(project: Any, number: int) -> None:
    """Files, uploads and requests arrive at once while items are changed: nobody deadlocks."""
    keys = [f"new {index}" for index in range(number)]
    barrier = threading.Barrier(4)

    def put_all(rows: list[str]) -> None:
        barrier.wait(TIMEOUT_SECONDS)
        for text in "xyz":
            upsert_items(
                project=project, rows=[{"key": key, "body": {"text": text}} for key in rows]
            )

    def upload_all(rows: list[str]) -> None:
        barrier.wait(TIMEOUT_SECONDS)
        files = [
            SimpleUploadedFile(f"{key}.png", b"\x89PNG\r\n\x1a\n" + b"picture" * 9)
            for key in rows[:4]
        ]
        media.add_media_items(project=project, files=files, by=None)

    wait_for_results(
        start_threads(
            lambda: put_all(keys),
            lambda: put_all(keys[::-1]),
            lambda: put_all(keys[::2] + keys[1::2]),
            lambda: upload_all(keys),
        )
    )
    stored = Item.objects.filter(project=project, body__text="z").order_by("pk")
    assert set(stored.values_list("key", flat=True)) == set(keys)


def test_large_concurrent_requests_are_stored_exactly(
    project: Project, question: Question, lead: User, api_for: Callable[..., APIClient]
) -> None:
    """Each has ratings of its own; half of them share their items, whose slots all of them take."""
    Item.objects.bulk_create(
        Item(project=project, key=f"i{number:03}", body={"text": "x"}) for number in range(600)
    )
    Rater.objects.bulk_create(Rater(project=project, key=key) for key in "abcd")
    Project.objects.filter(pk=project.pk).update(overlap=9)
    labels = [category.label for category in question.active_categories()]
    halves = [
        (range(first_item, first_item + 300), raters)
        for first_item in (0, 300)
        for raters in ("ab", "cd")
    ]
    bodies = [
        [
            {"item": f"i{n:03}", "rater": rater, "label": labels[n % len(labels)]}
            for n in items
            for rater in raters
        ]
        for items, raters in halves
    ]
    bodies[1::2] = [body[::-1] for body in bodies[1::2]]
    barrier = threading.Barrier(len(bodies))

    def send(body: list[dict[str, str]]) -> Any:
        client = api_for(lead)
        barrier.wait(TIMEOUT_SECONDS)
        return client.post(f"/api/v1/projects/{project.pk}/ratings/", body, format="json")

    responses = wait_for_results(start_threads(*(lambda body=body: send(body) for body in bodies)))
    assert [(response.status_code, response.json()["created"]) for response in responses] == [
        (200, 600)
    ] * 4
    expected = {(row["item"], row["rater"], row["label"]) for body in bodies for row in body}
    labels_by_code = dict(question.categories.values_list("code", "label"))
    stored = [
        (item, rater, labels_by_code[code])
        for item, rater, code in Rating.objects.values_list(*RATING_FIELDS)
    ]
    revisions = [
        (item, rater, labels_by_code[code])
        for item, rater, code in Revision.objects.values_list(*REVISION_FIELDS)
    ]
    assert len(stored) == len(revisions) == len(expected)
    assert set(stored) == set(revisions) == expected
    assert set(Item.objects.values_list("slots_taken", flat=True)) == {4}
    question_updates.sweep_questions()
    invariants.check(question.pk)


@postgresql_only
def test_request_of_many_raters_waits_only_for_its_own_ratings(question: Any, ids: Any) -> None:
    (item, *_), (other_rater, *_) = ids
    raters = [
        Rater.objects.create(project=question.project, key=f"more {number}").pk
        for number in range(8)
    ]
    save_ratings(question, *((item, rater, 1) for rater in (other_rater, *raters)))
    with transaction.atomic():
        Rating.objects.select_for_update().get(rater=other_rater)
        wait_for_results(
            start_threads(lambda: save_ratings(question, *((item, rater, 2) for rater in raters)))
        )
    assert Rating.objects.filter(code=2).count() == len(raters)


@postgresql_only
def test_batches_with_crossing_items_do_not_deadlock(
    question: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has written its first question's rating on the item of the other's second question."""
    (first, second, *_), (rater_1, rater_2, *_) = ids
    other_question = Question.objects.create(
        project=question.project, key="tone", text="Tone?", position=1
    )
    Category.objects.create(question=other_question, code=0, label="kind", position=0)
    halfway = threading.Barrier(2)
    write = record_sql.write_ratings

    def write_and_wait(question_id: int, *args: Any, **options: Any) -> None:
        write(question_id, *args, **options)
        if question_id == question.pk:
            halfway.wait(TIMEOUT_SECONDS)

    def record_batch(rater: int, items: tuple[int, int]) -> None:
        with transaction.atomic():
            judgements = {
                rated_question: [Judgement(item, rater, 0)]
                for rated_question, item in zip((question, other_question), items, strict=True)
            }
            record_ratings(judgements, by=None, source="api")

    monkeypatch.setattr(record_sql, "write_ratings", write_and_wait)
    wait_for_results(
        start_threads(
            lambda: record_batch(rater_1, (first, second)),
            lambda: record_batch(rater_2, (second, first)),
        )
    )
    assert Rating.objects.count() == 4
    assert set(
        Item.objects.filter(pk__in=(first, second)).values_list("slots_taken", flat=True)
    ) == {2}


@postgresql_only
def test_time_zone_backfill_locks_rows_in_the_counters_order(
    question: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lead changes the time zone while a counter marks ratings: neither is cancelled."""
    (first, second, *_), (rater, *_) = ids
    evening = datetime.datetime(2026, 3, 1, 22, tzinfo=datetime.UTC)
    for item in (second, first):  # ids in the opposite order of the items
        record_ratings(
            {question: [Judgement(item, rater, 1, rated_at=evening)]}, by=None, source="api"
        )
    Project.objects.filter(pk=question.project_id).update(time_zone="Pacific/Kiritimati")
    with transaction.atomic():
        # As a counter does after its first row.
        Rating.objects.select_for_update().get(item=first)
        futures = start_threads(lambda: project_changes.start_backfill(question.project_id))
        wait_until_blocked()
        Rating.objects.select_for_update().get(item=second)
    wait_for_results(futures)
    question_updates.sweep_questions()
    invariants.check(question.pk)


@postgresql_only
def test_waiting_recount_holds_no_row_that_raters_need(question: Any, ids: Any) -> None:
    (first, second, *_), (rater, *_) = ids
    for item in (second, first):  # on disk in the opposite order of the items
        save_ratings(question, (item, rater, 1))
        question_updates.update_question(question.pk)
    with transaction.atomic():
        save_ratings(question, (first, rater, 2))
        futures = start_threads(lambda: question_updates.delete_counts_and_results(question))
        wait_until_blocked()
        save_ratings(question, (second, rater, 2))
    wait_for_results(futures)
    question_updates.sweep_questions()
    invariants.check(question.pk)


@postgresql_only
def test_counter_that_waited_uses_the_current_weights(
    question: Any, ids: Any, lead: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It started before the weights changed, and the results were recomputed before its turn came."""
    (item, other_item, *_), (rater_1, rater_2, *_) = ids
    save_ratings(
        question,
        *((item, rater, code) for rater, code in ((rater_1, 1), (rater_2, 2))),
        (other_item, rater_1, 0),
        (other_item, rater_2, 0),
    )
    identity = [[float(i == j) for j in range(4)] for i in range(4)]
    change_weights(question=question, weights="custom", matrix=identity, by=lead)
    question_updates.update_question(question.pk)
    before = PairTally.objects.get(question=question).kappa_custom
    save_ratings(question, (item, rater_1, 3))
    gate = Gate()
    lock = counting.lock_count_state

    def wait_and_lock(question_id: int) -> CountState:
        if threading.current_thread() is not threading.main_thread():
            gate.wait()
        return lock(question_id)

    monkeypatch.setattr(counting, "lock_count_state", wait_and_lock)
    futures = start_threads(lambda: counting.count_items(question.pk))
    gate.wait_until_reached()
    new_weights = [[1.0 if i == j else 0.9 * (abs(i - j) == 1) for j in range(4)] for i in range(4)]
    change_weights(
        question=Question.objects.get(pk=question.pk), weights="custom", matrix=new_weights, by=lead
    )
    project_readings.refresh_results(question.pk)
    assert PairTally.objects.get(question=question).kappa_custom != before
    gate.open()
    wait_for_results(futures)
    question_updates.sweep_questions()
    invariants.check(question.pk)


def test_rating_with_a_stale_project_uses_the_current_time_zone(
    question: Any, ids: Any, lead: User
) -> None:
    (item, *_), (rater, *_) = ids
    stale = Question.objects.select_related("project").get(pk=question.pk)
    change_project(
        project=Project.objects.get(pk=question.project_id), by=lead, time_zone="Pacific/Kiritimati"
    )
    evening = datetime.datetime(2026, 3, 1, 22, tzinfo=datetime.UTC)
    record_ratings({stale: [Judgement(item, rater, 1, rated_at=evening)]}, by=lead, source="form")
    assert Rating.objects.get().day == (datetime.date(2026, 3, 2) - datetime.date(1970, 1, 1)).days


def test_concurrent_writes_of_one_rating_keep_its_history(question: Any, ids: Any) -> None:
    (item, *_), (rater, *_) = ids
    barrier = threading.Barrier(8)

    def rate(code: int) -> None:
        barrier.wait()
        save_ratings(question, (item, rater, code))

    wait_for_results(start_threads(*(lambda code=code: rate(code % 4) for code in range(8))))
    rating = Rating.objects.get()
    assert rating.revisions.count() >= 4
    assert rating.revisions.latest("id").code == rating.code
    question_updates.sweep_questions()
    invariants.check(question.pk)


@postgresql_only
def test_new_rating_sent_twice_at_once_is_created_once(question: Any, ids: Any) -> None:
    """A client may resend when it got no response: one revision, and one response says created."""
    (item, *_), (rater, *_) = ids
    judgements = {question: [Judgement(item, rater, 1)]}
    with transaction.atomic():
        first = record_ratings(judgements, by=None, source="api")
        futures = start_threads(lambda: record_ratings(judgements, by=None, source="api"))
        wait_until_blocked()
    (second,) = wait_for_results(futures)
    assert (first.created, second.created, second.unchanged) == (1, 0, 1)
    assert Rating.objects.get().revisions.count() == 1
