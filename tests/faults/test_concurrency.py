"""Two at once, with real transactions: nothing is counted twice, nothing is missed, nobody is
thrown out."""

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

from metrics.counting import backlog, peer_rows
from metrics.counting import question_counting as counting
from metrics.jobs import question_updates
from metrics.models import CountState, PairTally, RaterReading
from metrics.results import refresh as project_readings
from metrics.results.raters import rater_results as rater_readings
from projects.models import Category, Item, Project, Question, Rater
from projects.services.items.upsert import upsert_items
from projects.services.projects import change_project
from projects.services.scales import change_weights
from ratings.annotation.assignments import queue
from ratings.files import media
from ratings.models import Rating, Revision
from ratings.services import record_sql, timezone_backfill
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.faults.threads import PATIENCE, Gate, finish, start, wait_until_blocked
from tests.metrics import invariants

pytestmark = pytest.mark.django_db(transaction=True)

SAID = ("item__key", "rater__key", "code")
SAID_ONCE = ("rating__item__key", "rating__rater__key", "code")

postgresql_only = pytest.mark.postgresql_only(
    "SQLite's writers stand in one line: only PostgreSQL's can overtake each other"
)


@pytest.fixture
def ids(project: Any) -> tuple[list[int], list[int]]:
    """Ids of 12 items and 4 raters."""
    items = [
        Item.objects.create(project=project, key=str(number), body={"text": "x"}).pk
        for number in range(12)
    ]
    raters = [Rater.objects.create(project=project, key=str(number)).pk for number in range(4)]
    return items, raters


def put(question: Any, *rows: tuple[int, int, int]) -> None:
    """(item, rater, code) ..., in one transaction."""
    record_ratings({question: [Judgement(*row) for row in rows]}, by=None, source="api")


@postgresql_only
def test_a_rating_that_began_first_and_commits_last_is_counted(question: Any, ids: Any) -> None:
    """Its id is the smaller one: who remembers the largest id seen never looks at it."""
    (item, other, *_), (early, late, *_) = ids
    gate = Gate()

    def begin_first() -> None:
        with transaction.atomic():
            put(question, (item, early, 1))
            gate.wait()

    futures = start(begin_first)
    gate.wait_until_reached()
    put(question, (other, late, 1))
    question_updates.update_question(question.pk)
    assert CountState.objects.get(question=question).ratings == 1
    gate.open()
    finish(futures)
    assert Rating.objects.get(rater=early).pk < Rating.objects.get(rater=late).pk
    assert question_updates.sweep_questions() == 1
    invariants.check(question.pk)
    assert CountState.objects.get(question=question).ratings == 2


@postgresql_only
def test_a_rating_committed_between_reading_and_marking_stays_uncounted(
    question: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another transaction, while the counter's is open: both the change of a counted rating and
    a new one."""
    (item, *_), (one, two, three, _) = ids
    put(question, (item, one, 1), (item, two, 2))
    question_updates.update_question(question.pk)
    put(question, (item, one, 2))
    gate = Gate()
    add_peers = peer_rows.add_peers

    def slowly(*args: Any) -> dict[int, int]:
        gate.wait()
        return add_peers(*args)

    monkeypatch.setattr(peer_rows, "add_peers", slowly)
    futures = start(lambda: counting.count_items(question.pk))
    gate.wait_until_reached()
    put(question, (item, one, 0), (item, three, 3))
    gate.open()
    finish(futures)
    monkeypatch.undo()
    left = (
        Rating.objects.uncounted().order_by("rater_id").values_list("rater_id", "code", "counted")
    )
    assert list(left) == [(one, 0, 2), (three, 3, -1)]
    question_updates.sweep_questions()
    invariants.check(question.pk)


def test_counters_at_once_count_each_rating_once(question: Any, ids: Any) -> None:
    items, raters = ids
    put(question, *((item, rater, (item + rater) % 4) for item in items for rater in raters))
    together = threading.Barrier(4)

    def count() -> None:
        together.wait()
        while counting.count_items(question.pk, limit=2).has_more:
            pass
        question_updates.update_question(question.pk)

    finish(start(count, count, count, count))
    invariants.check(question.pk)
    assert CountState.objects.get(question=question).ratings == len(items) * len(raters)


def test_workers_share_a_backlog(
    question: Any, ids: Any, small_shares: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reads and tallies while the others do; no lease lasts, so that they also take shares
    from each other."""
    items, raters = ids
    put(question, *((item, rater, (item + rater) % 4) for item in items for rater in raters))
    together = threading.Barrier(3)
    counted = []

    def count() -> None:
        together.wait()
        counted.append(question_updates.update_question(question.pk))

    finish(start(count, count, count))
    assert sum(counted) == len(items)
    invariants.check(question.pk)
    assert CountState.objects.get(question=question).ratings == len(items) * len(raters)


@postgresql_only
def test_workers_share_the_readings_of_raters(
    question: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside each other: neither waits for the other, and together they make all."""
    items, raters = ids
    put(question, *((item, rater, (item + rater) % 4) for item in items for rater in raters))
    counting.count_items(question.pk)
    monkeypatch.setattr(rater_readings, "MAX_RATERS", 1)
    monkeypatch.setattr(rater_readings, "RATERS_AT_ONCE", 1)
    gate, made = Gate(), []
    whole = rater_readings.refresh_unlocked_raters

    def noting(question_id: int, scale: Any) -> bool:
        found = whole(question_id, scale)
        if found and threading.current_thread() is not threading.main_thread():
            made.append(question_id)
            if len(made) == 1:
                gate.wait()  # with one rater in hand
        return found

    monkeypatch.setattr(rater_readings, "refresh_unlocked_raters", noting)
    worker = start(lambda: project_readings.refresh_results(question.pk))
    gate.wait_until_reached()
    free = list(RaterReading.objects.filter(question=question).values_list("rater_id", flat=True))
    while project_readings._refresh_raters_in_parallel(question.pk):
        pass
    done = RaterReading.objects.filter(question=question).count()
    assert done > len(free)
    gate.open()
    finish(worker)
    monkeypatch.undo()
    invariants.check(question.pk)


@postgresql_only
def test_a_recount_waits_for_a_worker_that_finishes_a_share(
    question: Any, ids: Any, small_shares: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker has marked ratings and wants the question's lock next; a recount wants both."""
    items, raters = ids
    put(question, *((item, rater, (item + rater) % 4) for item in items for rater in raters))
    backlog.open_backlog(question.pk)
    share = backlog.claim_range(question.pk)
    assert share is not None
    change = backlog.read_range(share)
    gate = Gate()
    mark = counting.mark_change_counted

    def marked(rows: Any) -> None:
        mark(rows)
        gate.wait()

    monkeypatch.setattr(counting, "mark_change_counted", marked)
    worker = start(lambda: backlog.save_range(share, change))
    gate.wait_until_reached()
    recount = start(lambda: question_updates.reset_counts(question))
    wait_until_blocked()
    gate.open()
    assert finish(worker) == [True]
    finish(recount)
    monkeypatch.undo()
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


def test_the_second_counter_waits_for_the_first(
    question: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both would read the same uncounted ratings and add them twice."""
    (item, *_), (one, two, *_) = ids
    put(question, (item, one, 1), (item, two, 1))
    CountState.objects.create(question=question, scale_version=question.scale_version)
    gate = Gate()
    inside = itertools.count()
    read = counting.read_uncounted_items

    def reading(*args: Any) -> Any:
        rows = read(*args)
        if next(inside) == 0:
            gate.wait()
        return rows

    monkeypatch.setattr(counting, "read_uncounted_items", reading)
    first = start(lambda: counting.count_items(question.pk))
    gate.wait_until_reached()
    second = start(lambda: counting.count_items(question.pk))
    time.sleep(0.3)  # enough for the second to read too, if nothing keeps it from that
    assert next(inside) == 1
    gate.open()
    finish(first + second)
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


@pytest.mark.parametrize("shares", [False, True])
def test_raters_and_counters_and_leads_at_once(
    question: Any, ids: Any, lead: User, request: pytest.FixtureRequest, shares: bool
) -> None:
    """Overlapping portions in opposite orders, counters and recounts meanwhile: no deadlock, exact
    at the end."""
    if shares:
        request.getfixturevalue("small_shares")
    items, raters = ids
    put(question, *((item, rater, 0) for item in items for rater in raters))
    ending = threading.Event()

    def rate(order: int) -> None:
        for turn in range(12):
            rows = [(item, rater, (item + turn + order) % 4) for item in items for rater in raters]
            put(question, *rows[::order])

    def count() -> None:
        while not ending.wait(0.1):
            question_updates.update_question(question.pk)

    def lead_it() -> None:
        project = Project.objects.get(pk=question.project_id)
        for zone in ("Pacific/Kiritimati", "America/Los_Angeles", "UTC"):
            change_project(project=project, by=lead, time_zone=zone)
            question_updates.reset_counts(question)

    counters = start(count, count)
    try:
        finish(start(lambda: rate(1), lambda: rate(-1), lead_it))
    finally:
        ending.set()
    finish(counters)
    question_updates.sweep_questions()
    invariants.check(question.pk)


@postgresql_only
def test_a_counter_waits_for_a_rater_without_holding_what_the_rater_needs_next(
    question: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the two wait for each other, and PostgreSQL throws one of them out: perhaps the
    rater."""
    (first, second, *_), (rater, *_) = ids
    put(question, (first, rater, 1), (second, rater, 1))
    read = counting.read_uncounted_items

    def backwards(*args: Any) -> Any:
        """PostgreSQL promises no order: this is the worst one."""
        rows, notes = read(*args)
        return np.sort(rows, order="item")[::-1], notes

    monkeypatch.setattr(counting, "read_uncounted_items", backwards)
    with transaction.atomic():
        put(question, (first, rater, 2))
        futures = start(lambda: counting.count_items(question.pk))
        wait_until_blocked()
        put(question, (second, rater, 2))
    finish(futures)
    question_updates.sweep_questions()
    invariants.check(question.pk)


@postgresql_only
def test_a_rater_waits_for_an_item_without_holding_another(
    project: Any, question: Any, ids: Any
) -> None:
    """The queue tries items in each rater's own order: two who waited with items in hand could wait
    in a circle."""
    (first, *others), (one, two, rater, _) = ids
    put(question, *((item, by, 1) for item in others for by in (one, two)))
    # As after the overlap was raised: more raters than the row says.
    Item.objects.filter(pk__in=others).update(places_taken=0)
    Project.objects.filter(pk=project.pk).update(overlap=1)
    with transaction.atomic():
        Item.objects.select_for_update(no_key=True).get(pk=first)
        futures = start(lambda: queue.get_next_item(Rater.objects.get(pk=rater)))
        wait_until_blocked()
        assert list(Item.objects.select_for_update(no_key=True, nowait=True).filter(pk__in=others))
    assert [item.pk for item in finish(futures)] == [first]


@postgresql_only
def test_writers_of_the_same_new_ratings_take_turns_whatever_their_order(
    question: Any, ids: Any
) -> None:
    (first, second, *_), (rater, *_) = ids
    with transaction.atomic():
        put(question, (first, rater, 1))
        futures = start(lambda: put(question, (second, rater, 2), (first, rater, 2)))
        wait_until_blocked()
        put(question, (second, rater, 1))
    finish(futures)
    assert set(Rating.objects.values_list("code", flat=True)) == {2}


@pytest.mark.parametrize("number", [4, 300])
def test_the_same_new_items_in_opposite_orders_are_all_stored(project: Any, number: int) -> None:
    """Files, uploads and requests at once, while what stands is rated: nobody waits for each other
    in a circle."""
    keys = [f"new {place}" for place in range(number)]
    together = threading.Barrier(4)

    def put_all(rows: list[str]) -> None:
        together.wait(PATIENCE)
        for text in "xyz":
            upsert_items(
                project=project, rows=[{"key": key, "body": {"text": text}} for key in rows]
            )

    def upload_all(rows: list[str]) -> None:
        together.wait(PATIENCE)
        files = [
            SimpleUploadedFile(f"{key}.png", b"\x89PNG\r\n\x1a\n" + b"picture" * 9)
            for key in rows[:4]
        ]
        media.add_media_items(project=project, files=files, by=None)

    finish(
        start(
            lambda: put_all(keys),
            lambda: put_all(keys[::-1]),
            lambda: put_all(keys[::2] + keys[1::2]),
            lambda: upload_all(keys),
        )
    )
    stored = Item.objects.filter(project=project, body__text="z").order_by("pk")
    assert set(stored.values_list("key", flat=True)) == set(keys)


def test_large_requests_at_once_are_all_stored_exactly(
    project: Project, question: Question, lead: User, api_for: Callable[..., APIClient]
) -> None:
    """Each has its own ratings; half of them share their items, whose places all of them take."""
    Item.objects.bulk_create(
        Item(project=project, key=f"i{number:03}", body={"text": "x"}) for number in range(600)
    )
    Rater.objects.bulk_create(Rater(project=project, key=key) for key in "abcd")
    Project.objects.filter(pk=project.pk).update(overlap=9)
    labels = [category.label for category in question.active_categories()]
    halves = [(range(first, first + 300), raters) for first in (0, 300) for raters in ("ab", "cd")]
    bodies = [
        [
            {"item": f"i{n:03}", "rater": rater, "label": labels[n % len(labels)]}
            for n in items
            for rater in raters
        ]
        for items, raters in halves
    ]
    bodies[1::2] = [body[::-1] for body in bodies[1::2]]
    together = threading.Barrier(len(bodies))

    def send(body: list[dict[str, str]]) -> Any:
        client = api_for(lead)
        together.wait(PATIENCE)
        return client.post(f"/api/v1/projects/{project.pk}/ratings/", body, format="json")

    answers = finish(start(*(lambda body=body: send(body) for body in bodies)))
    assert [(answer.status_code, answer.json()["created"]) for answer in answers] == [
        (200, 600)
    ] * 4
    sent = {(row["item"], row["rater"], row["label"]) for body in bodies for row in body}
    names = dict(question.categories.values_list("code", "label"))
    stored = [(item, rater, names[code]) for item, rater, code in Rating.objects.values_list(*SAID)]
    said = [
        (item, rater, names[code]) for item, rater, code in Revision.objects.values_list(*SAID_ONCE)
    ]
    assert len(stored) == len(said) == len(sent)
    assert set(stored) == set(said) == sent
    assert set(Item.objects.values_list("places_taken", flat=True)) == {4}
    question_updates.sweep_questions()
    invariants.check(question.pk)


@postgresql_only
def test_a_request_of_many_raters_waits_for_no_rating_that_it_does_not_name(
    question: Any, ids: Any
) -> None:
    (item, *_), (other, *_) = ids
    raters = [
        Rater.objects.create(project=question.project, key=f"more {number}").pk
        for number in range(8)
    ]
    put(question, *((item, rater, 1) for rater in (other, *raters)))
    with transaction.atomic():
        Rating.objects.select_for_update().get(rater=other)
        finish(start(lambda: put(question, *((item, rater, 2) for rater in raters))))
    assert Rating.objects.filter(code=2).count() == len(raters)


@postgresql_only
def test_batches_of_several_questions_whose_items_cross_do_not_wait_in_a_circle(
    question: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has written its ratings of the first question, on the item that the other's second
    question is about."""
    (first, second, *_), (one, two, *_) = ids
    other = Question.objects.create(project=question.project, key="tone", text="Tone?", position=1)
    Category.objects.create(question=other, code=0, label="kind", position=0)
    halfway = threading.Barrier(2)
    write = record_sql.write_ratings

    def pausing(question_id: int, *args: Any, **options: Any) -> None:
        write(question_id, *args, **options)
        if question_id == question.pk:
            halfway.wait(PATIENCE)

    def batch(rater: int, items: tuple[int, int]) -> None:
        with transaction.atomic():
            said = {
                asked: [Judgement(item, rater, 0)]
                for asked, item in zip((question, other), items, strict=True)
            }
            record_ratings(said, by=None, source="api")

    monkeypatch.setattr(record_sql, "write_ratings", pausing)
    finish(start(lambda: batch(one, (first, second)), lambda: batch(two, (second, first))))
    assert Rating.objects.count() == 4
    assert set(
        Item.objects.filter(pk__in=(first, second)).values_list("places_taken", flat=True)
    ) == {2}


@postgresql_only
def test_moving_the_days_waits_for_a_counter_in_the_common_order(
    question: Any, ids: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lead changes the time zone while a counter marks ratings: neither is thrown out."""
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
        futures = start(lambda: timezone_backfill.start_backfill(question.project_id))
        wait_until_blocked()
        Rating.objects.select_for_update().get(item=second)
    finish(futures)
    question_updates.sweep_questions()
    invariants.check(question.pk)


@postgresql_only
def test_a_recount_waits_for_raters_without_holding_what_they_need_next(
    question: Any, ids: Any
) -> None:
    (first, second, *_), (rater, *_) = ids
    for item in (second, first):  # on disk in the opposite order of the items
        put(question, (item, rater, 1))
        question_updates.update_question(question.pk)
    with transaction.atomic():
        put(question, (first, rater, 2))
        futures = start(lambda: question_updates.reset_counts(question))
        wait_until_blocked()
        put(question, (second, rater, 2))
    finish(futures)
    question_updates.sweep_questions()
    invariants.check(question.pk)


@postgresql_only
def test_a_counter_that_waited_uses_the_weights_of_now(
    question: Any, ids: Any, lead: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It began before the change of weights, and the readings were made anew before its turn
    came."""
    (item, other, *_), (one, two, *_) = ids
    put(
        question,
        *((item, rater, code) for rater, code in ((one, 1), (two, 2))),
        (other, one, 0),
        (other, two, 0),
    )
    identity = [[float(i == j) for j in range(4)] for i in range(4)]
    change_weights(question=question, weights="custom", matrix=identity, by=lead)
    question_updates.update_question(question.pk)
    before = PairTally.objects.get(question=question).kappa_custom
    put(question, (item, one, 3))
    gate = Gate()
    lock = counting.lock_count_state

    def late(question_id: int) -> CountState:
        if threading.current_thread() is not threading.main_thread():
            gate.wait()
        return lock(question_id)

    monkeypatch.setattr(counting, "lock_count_state", late)
    futures = start(lambda: counting.count_items(question.pk))
    gate.wait_until_reached()
    half = [[1.0 if i == j else 0.9 * (abs(i - j) == 1) for j in range(4)] for i in range(4)]
    change_weights(
        question=Question.objects.get(pk=question.pk), weights="custom", matrix=half, by=lead
    )
    project_readings.refresh_results(question.pk)
    assert PairTally.objects.get(question=question).kappa_custom != before
    gate.open()
    finish(futures)
    question_updates.sweep_questions()
    invariants.check(question.pk)


def test_a_rating_written_with_an_old_copy_of_the_project_is_on_the_day_of_the_zone_of_now(
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


def test_the_same_rating_from_many_at_once_is_one_rating_with_its_whole_history(
    question: Any, ids: Any
) -> None:
    (item, *_), (rater, *_) = ids
    together = threading.Barrier(8)

    def rate(code: int) -> None:
        together.wait()
        put(question, (item, rater, code))

    finish(start(*(lambda code=code: rate(code % 4) for code in range(8))))
    rating = Rating.objects.get()
    assert rating.revisions.count() >= 4
    assert rating.revisions.latest("id").code == rating.code
    question_updates.sweep_questions()
    invariants.check(question.pk)


@postgresql_only
def test_a_new_rating_that_is_sent_twice_at_once_is_new_once(question: Any, ids: Any) -> None:
    """As a client does that heard no answer: one line of history, and one answer says created."""
    (item, *_), (rater, *_) = ids
    said = {question: [Judgement(item, rater, 1)]}
    with transaction.atomic():
        first = record_ratings(said, by=None, source="api")
        futures = start(lambda: record_ratings(said, by=None, source="api"))
        wait_until_blocked()
    (second,) = finish(futures)
    assert (first.created, second.created, second.unchanged) == (1, 0, 1)
    assert Rating.objects.get().revisions.count() == 1
