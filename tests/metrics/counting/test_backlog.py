"""A backlog is counted in ranges by any number of workers, exactly, whatever they do to each other."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from django.db import DatabaseError
from django.utils import timezone

from metrics import tasks
from metrics.counting import backlog, question_counting
from metrics.jobs import hints, question_updates
from metrics.models import BacklogRange, CountState, Result
from metrics.results import refresh as project_readings
from metrics.results import refresh as results_refresh
from projects.models import Category, Item, Question, Rater
from ratings.models import NO_CODE, Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.metrics import invariants

pytestmark = pytest.mark.django_db

Ids = tuple[list[int], list[int]]


@pytest.fixture(autouse=True)
def shares_of_two_items(small_batches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "LEASE_DURATION", datetime.timedelta(minutes=1))
    monkeypatch.setattr(hints, "send_hint", lambda question_id: None)


@pytest.fixture
def backlog_ids(question: Any) -> Ids:
    """Create a backlog of nine items that three raters rated; return the ids of items and raters."""
    items = [
        Item.objects.create(project=question.project, key=str(number)).pk for number in range(9)
    ]
    raters = [
        Rater.objects.create(project=question.project, key=str(number)).pk for number in range(3)
    ]
    record_codes(
        question,
        *(
            (item, rater, (i + r) % 3)
            for i, item in enumerate(items)
            for r, rater in enumerate(raters)
        ),
    )
    return items, raters


def record_codes(question: Any, *rows: tuple[int, int, int]) -> None:
    record_ratings({question: [Judgement(*row) for row in rows]}, by=None, source="api")


def claim_range(question: Any) -> BacklogRange:
    share = backlog.claim_range(question.pk)
    assert share is not None
    return share


def expire_leases() -> None:
    """Let the leases of all claimed ranges expire."""
    BacklogRange.objects.update(leased_until=timezone.now() - datetime.timedelta(seconds=1))


def test_backlog_is_counted_in_ranges_and_closed(
    question: Any, backlog_ids: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranges = []
    original = backlog.tally_range

    def read_and_record(share: BacklogRange) -> Any:
        ranges.append((share.first_item_id, share.last_item_id))
        return original(share)

    monkeypatch.setattr(backlog, "tally_range", read_and_record)
    assert question_updates.update_question(question.pk) == 9
    items = backlog_ids[0]
    assert ranges == [
        (items[1], items[2]),
        (items[3], items[4]),
        (items[5], items[6]),
        (items[7], items[8]),
    ]
    invariants.check(question.pk)
    assert not BacklogRange.objects.exists()
    state = CountState.objects.get()
    assert state.backlog_from is None
    assert state.backlog_done == state.backlog_total == 24


def test_worker_that_lost_its_range_claims_the_next(question: Any, backlog_ids: Ids) -> None:
    backlog.start_backlog(question.pk)
    expired_range = claim_range(question)
    change = backlog.tally_range(expired_range)
    expire_leases()
    new_range = claim_range(question)
    is_saved, next_range = backlog.save_and_claim_next(expired_range, change)
    assert not is_saved
    assert next_range is not None
    assert next_range.first_item_id > new_range.last_item_id


def test_workers_count_concurrently(question: Any, backlog_ids: Ids) -> None:
    backlog.start_backlog(question.pk)
    first_range, second_range = claim_range(question), claim_range(question)
    assert second_range.first_item_id > first_range.last_item_id
    first_change, second_change = (
        backlog.tally_range(first_range),
        backlog.tally_range(second_range),
    )
    assert backlog.add_counts_of_range(second_range, second_change)
    assert backlog.add_counts_of_range(first_range, first_change)
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


def test_worker_continues_with_the_next_range(question: Any, backlog_ids: Ids) -> None:
    """The worker claims it while it holds the lock; the last worker closes the backlog."""
    backlog.start_backlog(question.pk)
    share = claim_range(question)
    is_saved, next_range = backlog.save_and_claim_next(share, backlog.tally_range(share))
    assert is_saved
    assert next_range is not None
    assert next_range.first_item_id > share.last_item_id
    assert list(BacklogRange.objects.all()) == [next_range]
    # the other worker holds two items
    assert backlog.count_ranges(question.pk, seconds=60) == 5
    assert backlog.save_and_claim_next(next_range, backlog.tally_range(next_range)) == (True, None)
    assert CountState.objects.get().backlog_from is None
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


@pytest.mark.parametrize("late_first", [True, False])
def test_worker_with_expired_lease_adds_nothing(
    question: Any, backlog_ids: Ids, late_first: bool
) -> None:
    backlog.start_backlog(question.pk)
    expired_range = claim_range(question)
    expired_change = backlog.tally_range(expired_range)
    expire_leases()
    new_range = claim_range(question)
    assert (new_range.first_item_id, new_range.last_item_id) == (
        expired_range.first_item_id,
        expired_range.last_item_id,
    )
    new_change = backlog.tally_range(new_range)
    turns = [(expired_range, expired_change, False), (new_range, new_change, True)]
    for share, change, is_saved in turns if late_first else reversed(turns):
        assert backlog.add_counts_of_range(share, change) is is_saved
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


def test_sweep_counts_range_after_its_lease_expired(question: Any, backlog_ids: Ids) -> None:
    backlog.start_backlog(question.pk)
    claim_range(question)
    question_updates.sweep_questions()
    assert Rating.objects.uncounted().count() == 6
    assert question_updates.update_question_for_seconds(question.pk) == (
        0,
        question_updates.RemainingWork.OTHER_WORKERS,
    )
    expire_leases()
    question_updates.sweep_questions()
    invariants.check(question.pk)


def test_rating_changed_while_range_is_counted_stays_uncounted(
    question: Any, backlog_ids: Ids
) -> None:
    """This holds when a rating that was not read as changed changes, and when a read one is withdrawn.

    See count_some.
    """
    items, raters = backlog_ids
    question_updates.update_question(question.pk)
    record_codes(
        question, (items[0], raters[0], 3), (items[0], raters[1], 3), (items[4], raters[1], 3)
    )
    backlog.start_backlog(question.pk)
    share = claim_range(question)
    change = backlog.tally_range(share)
    record_codes(question, (items[0], raters[2], NO_CODE), (items[0], raters[0], 0))
    assert question_counting.count_items(question.pk) == question_counting.CountingProgress(
        0, has_more=True
    )
    assert backlog.add_counts_of_range(share, change)
    assert Rating.objects.uncounted().filter(item=items[0]).count() >= 1
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


def test_recount_revokes_ranges_of_workers(question: Any, backlog_ids: Ids) -> None:
    question_updates.update_question(question.pk)
    record_codes(question, *((item, backlog_ids[1][0], 3) for item in backlog_ids[0]))
    backlog.start_backlog(question.pk)
    share = claim_range(question)
    change = backlog.tally_range(share)
    question_updates.delete_counts_and_results(question)
    assert not backlog.add_counts_of_range(share, change)
    backlog.start_backlog(question.pk)
    assert (
        CountState.objects.get().backlog_total == 27
    )  # each rating once, though many were uncounted already
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


def test_category_added_meanwhile_widens_tally(question: Any, backlog_ids: Ids) -> None:
    question_updates.update_question(question.pk)
    record_codes(question, *((item, backlog_ids[1][0], 3) for item in backlog_ids[0][:4]))
    backlog.start_backlog(question.pk)
    shares = [claim_range(question), claim_range(question)]
    changes = [backlog.tally_range(share) for share in shares]
    Category.objects.create(question=question, code=4, label="fatal", position=4, value=4)
    Question.objects.filter(pk=question.pk).update(scale_version=2)
    record_codes(question, (backlog_ids[0][8], backlog_ids[1][0], 4))
    assert backlog.add_counts_of_range(shares[0], changes[0])
    project_readings.refresh_results(question.pk)
    assert backlog.add_counts_of_range(shares[1], changes[1])
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


def test_range_is_released_when_counting_fails(
    question: Any, backlog_ids: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    backlog.start_backlog(question.pk)

    def fail(*args: Any) -> None:
        raise DatabaseError("the connection is gone")

    monkeypatch.setattr(question_counting, "add_change", fail)
    with pytest.raises(DatabaseError):
        backlog.count_ranges(question.pk)
    leased_until = BacklogRange.objects.get().leased_until
    assert leased_until and leased_until <= timezone.now()
    assert Rating.objects.uncounted().count() == 27


def test_later_ratings_do_not_keep_backlog_open(question: Any, backlog_ids: Ids, rate: Any) -> None:
    backlog.start_backlog(question.pk)
    counted = 0
    while backlog.count_ranges(question.pk):
        counted += 1
        rate(question, f"new {counted}", "ann", "minor")
        assert counted < 9
    assert CountState.objects.get().backlog_from is None
    assert Rating.objects.uncounted().count() == counted
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


def test_task_yields_to_other_questions_after_a_while(
    question: Any, backlog_ids: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    monkeypatch.setattr(hints, "send_hint", sent.append)
    monkeypatch.setattr(question_updates, "TURN_SECONDS", 0)
    tasks.count_question(question.pk)
    assert Rating.objects.uncounted().count() == 18  # one item, then one share
    assert sent == [question.pk] * 2  # one for workers that can help, one for the remaining ratings
    for _attempt in range(4):
        tasks.count_question(question.pk)
    invariants.check(question.pk)
    assert len(sent) == 10  # the last one is for the results, none for more counting


def test_sweep_gives_each_question_a_turn(
    question: Any, backlog_ids: Ids, make_project: Any, rate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_question = make_project().questions.get()
    rate(small_question, "item", "ann", "minor")
    question_ids: list[int] = []
    original = question_updates.update_question_for_seconds

    def work_and_record(question_id: int, **kwargs: Any) -> Any:
        question_ids.append(question_id)
        return original(question_id, **kwargs)

    monkeypatch.setattr(question_updates, "update_question_for_seconds", work_and_record)
    monkeypatch.setattr(question_updates, "TURN_SECONDS", 0)
    monkeypatch.setattr(
        question_updates, "update_small_questions", lambda **_options: 0
    )  # both questions are small enough for the batch
    assert question_updates.sweep_questions() == 2
    assert question_ids[:3] == [question.pk, small_question.pk, question.pk]
    assert question_ids.count(small_question.pk) == 1
    for current_question in (question, small_question):
        invariants.check(current_question.pk)


def test_sweep_closes_a_counted_backlog(question: Any, backlog_ids: Ids) -> None:
    question_updates.update_question(question.pk)
    backlog.start_backlog(question.pk)
    assert question_updates.list_pending_questions() == [question.pk]
    question_updates.sweep_questions()
    assert question_updates.list_pending_questions() == []


def test_results_of_long_backlog_are_computed_meanwhile(
    question: Any, backlog_ids: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    refreshes: list[int] = []
    original = results_refresh.refresh_results

    def refresh_and_record(question_id: int) -> Any:
        refreshes.append(1)
        return original(question_id)

    monkeypatch.setattr(results_refresh, "refresh_results", refresh_and_record)
    question_updates.update_question_for_seconds(question.pk, seconds=0)
    assert not refreshes
    CountState.objects.update(refreshed_at=timezone.now() - 2 * question_updates.REFRESH_INTERVAL)
    question_updates.update_question_for_seconds(question.pk, seconds=0)
    assert refreshes
    assert (
        Result.objects.get(question=question, period_unit="all").coefficients["percent_agreement"][
            "n_items"
        ]
        == 5
    )
    question_updates.update_question_for_seconds(question.pk, seconds=0)
    assert len(refreshes) == 1


# --- progress on pages and in monitoring


def test_pages_and_health_check_show_backlog_progress(
    question: Any, backlog_ids: Ids, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    backlog.start_backlog(question.pk)
    backlog.count_ranges(question.pk)
    version = CountState.objects.get().version
    for headers in ({}, {"X-Shown-Version": f"{version}.0", "X-Fragments": "-"}):
        page = client.get(f"/projects/{question.project_id}/", headers=headers).content.decode()
        assert "Counting: 6 of 27 ratings" in " ".join(page.split()), headers
    assert client.get("/healthz").json()["backlog"] == {"done": 6, "total": 27}
    question_updates.update_question(question.pk)
    page = client.get(f"/projects/{question.project_id}/").content.decode()
    assert "Counting:" not in page
    assert client.get("/healthz").json()["backlog"] == {"done": 0, "total": 0}


def test_status_command_shows_backlog_progress(question: Any, backlog_ids: Ids) -> None:
    from agreement_site.management.commands.status import format_status_lines
    from agreement_site.system_status import collect_status

    backlog.start_backlog(question.pk)
    backlog.count_ranges(question.pk)
    status = collect_status()
    assert json.loads(json.dumps(status.to_json()))["backlogs"] == {
        str(question.pk): {"done": 6, "total": 27}
    }
    assert f"Backlog of question {question.pk}: 6 of 27 ratings counted" in format_status_lines(
        status
    )
