"""A backlog is counted in shares by any number of workers, exactly, whatever they do to each
other."""

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
from metrics.models import CountState, Reading, Share
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
def shares_of_two_items(small_shares: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "LEASE_DURATION", datetime.timedelta(minutes=1))
    monkeypatch.setattr(hints, "send_hint", lambda question_id: None)


@pytest.fixture
def ids(question: Any) -> Ids:
    """A backlog: nine items that three raters rated."""
    items = [
        Item.objects.create(project=question.project, key=str(number)).pk for number in range(9)
    ]
    raters = [
        Rater.objects.create(project=question.project, key=str(number)).pk for number in range(3)
    ]
    put(
        question,
        *(
            (item, rater, (i + r) % 3)
            for i, item in enumerate(items)
            for r, rater in enumerate(raters)
        ),
    )
    return items, raters


def put(question: Any, *rows: tuple[int, int, int]) -> None:
    record_ratings({question: [Judgement(*row) for row in rows]}, by=None, source="api")


def take(question: Any) -> Share:
    share = backlog.claim_range(question.pk)
    assert share is not None
    return share


def be_late() -> None:
    """The workers with a share have not been heard of for too long."""
    Share.objects.update(leased_until=timezone.now() - datetime.timedelta(seconds=1))


def test_it_is_counted_in_shares_and_then_closed(
    question: Any, ids: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    read = backlog.read_range

    def noted(share: Share) -> Any:
        taken.append((share.first, share.last))
        return read(share)

    monkeypatch.setattr(backlog, "read_range", noted)
    assert question_updates.update_question(question.pk) == 9
    items = ids[0]
    assert taken == [
        (items[1], items[2]),
        (items[3], items[4]),
        (items[5], items[6]),
        (items[7], items[8]),
    ]
    invariants.check(question.pk)
    assert not Share.objects.exists()
    state = CountState.objects.get()
    assert state.backlog_from is None
    assert state.backlog_done == state.backlog_total == 24


def test_a_worker_without_its_share_takes_the_next_one(question: Any, ids: Ids) -> None:
    backlog.open_backlog(question.pk)
    late = take(question)
    change = backlog.read_range(late)
    be_late()
    heir = take(question)
    done, following = backlog.save_and_claim_next(late, change)
    assert not done
    assert following is not None
    assert following.first > heir.last


def test_workers_count_side_by_side(question: Any, ids: Ids) -> None:
    backlog.open_backlog(question.pk)
    one, other = take(question), take(question)
    assert other.first > one.last
    change_of_one, change_of_other = backlog.read_range(one), backlog.read_range(other)
    assert backlog.save_range(other, change_of_other)
    assert backlog.save_range(one, change_of_one)
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


def test_a_worker_goes_on_with_the_next_share(question: Any, ids: Ids) -> None:
    """It takes it with the lock in hand; the last one closes the backlog."""
    backlog.open_backlog(question.pk)
    share = take(question)
    done, following = backlog.save_and_claim_next(share, backlog.read_range(share))
    assert done
    assert following is not None
    assert following.first > share.last
    assert list(Share.objects.all()) == [following]
    # the other worker has two items in hand
    assert backlog.count_ranges(question.pk, seconds=60) == 5
    assert backlog.save_and_claim_next(following, backlog.read_range(following)) == (True, None)
    assert CountState.objects.get().backlog_from is None
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


@pytest.mark.parametrize("late_first", [True, False])
def test_a_worker_that_was_taken_for_dead_adds_nothing(
    question: Any, ids: Ids, late_first: bool
) -> None:
    backlog.open_backlog(question.pk)
    late = take(question)
    of_late = backlog.read_range(late)
    be_late()
    heir = take(question)
    assert (heir.first, heir.last) == (late.first, late.last)
    of_heir = backlog.read_range(heir)
    turns = [(late, of_late, False), (heir, of_heir, True)]
    for share, change, counts in turns if late_first else reversed(turns):
        assert backlog.save_range(share, change) is counts
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


def test_a_share_that_nobody_finishes_is_counted_by_the_sweep_when_its_time_is_over(
    question: Any, ids: Ids
) -> None:
    backlog.open_backlog(question.pk)
    take(question)
    question_updates.sweep_questions()
    assert Rating.objects.uncounted().count() == 6
    assert question_updates.work_on_question(question.pk) == (
        0,
        question_updates.RemainingWork.OTHER_WORKERS,
    )
    be_late()
    question_updates.sweep_questions()
    invariants.check(question.pk)


def test_what_changes_while_a_share_is_counted_stays_uncounted(question: Any, ids: Ids) -> None:
    """Also where a rating that was not read as changed changes, and one that was is taken back (see
    count_some)."""
    items, raters = ids
    question_updates.update_question(question.pk)
    put(question, (items[0], raters[0], 3), (items[0], raters[1], 3), (items[4], raters[1], 3))
    backlog.open_backlog(question.pk)
    share = take(question)
    change = backlog.read_range(share)
    put(question, (items[0], raters[2], NO_CODE), (items[0], raters[0], 0))
    assert question_counting.count_items(question.pk) == question_counting.CountingProgress(
        0, has_more=True
    )
    assert backlog.save_range(share, change)
    assert Rating.objects.uncounted().filter(item=items[0]).count() >= 1
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


def test_a_recount_takes_the_shares_from_their_workers(question: Any, ids: Ids) -> None:
    question_updates.update_question(question.pk)
    put(question, *((item, ids[1][0], 3) for item in ids[0]))
    backlog.open_backlog(question.pk)
    share = take(question)
    change = backlog.read_range(share)
    question_updates.reset_counts(question)
    assert not backlog.save_range(share, change)
    backlog.open_backlog(question.pk)
    assert CountState.objects.get().backlog_total == 27  # each once, though many waited already
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


def test_a_category_that_is_added_meanwhile_widens_the_tally(question: Any, ids: Ids) -> None:
    question_updates.update_question(question.pk)
    put(question, *((item, ids[1][0], 3) for item in ids[0][:4]))
    backlog.open_backlog(question.pk)
    shares = [take(question), take(question)]
    changes = [backlog.read_range(share) for share in shares]
    Category.objects.create(question=question, code=4, label="fatal", position=4, value=4)
    Question.objects.filter(pk=question.pk).update(scale_version=2)
    put(question, (ids[0][8], ids[1][0], 4))
    assert backlog.save_range(shares[0], changes[0])
    project_readings.refresh_results(question.pk)
    assert backlog.save_range(shares[1], changes[1])
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


def test_a_share_whose_counting_fails_is_free_at_once(
    question: Any, ids: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    backlog.open_backlog(question.pk)

    def fail(*args: Any) -> None:
        raise DatabaseError("the connection is gone")

    monkeypatch.setattr(question_counting, "add_change", fail)
    with pytest.raises(DatabaseError):
        backlog.count_ranges(question.pk)
    leased_until = Share.objects.get().leased_until
    assert leased_until and leased_until <= timezone.now()
    assert Rating.objects.uncounted().count() == 27


def test_ratings_that_come_later_do_not_keep_it_open(question: Any, ids: Ids, rate: Any) -> None:
    backlog.open_backlog(question.pk)
    counted = 0
    while backlog.count_ranges(question.pk):
        counted += 1
        rate(question, f"new {counted}", "ann", "minor")
        assert counted < 9
    assert CountState.objects.get().backlog_from is None
    assert Rating.objects.uncounted().count() == counted
    question_updates.update_question(question.pk)
    invariants.check(question.pk)


def test_a_task_works_for_a_while_and_then_lets_other_questions_pass(
    question: Any, ids: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    monkeypatch.setattr(hints, "send_hint", sent.append)
    monkeypatch.setattr(question_updates, "TURN_SECONDS", 0)
    tasks.count_question(question.pk)
    assert Rating.objects.uncounted().count() == 18  # one item, then one share
    assert sent == [question.pk] * 2  # one for whoever may help, one for what is left
    for _time in range(4):
        tasks.count_question(question.pk)
    invariants.check(question.pk)
    assert len(sent) == 10  # the last one is for the readings, and none for more work


def test_a_sweep_gives_each_question_its_turn(
    question: Any, ids: Ids, make_project: Any, rate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = make_project().questions.get()
    rate(small, "item", "ann", "minor")
    worked: list[int] = []
    work_on = question_updates.work_on_question

    def noted(question_id: int, **kwargs: Any) -> Any:
        worked.append(question_id)
        return work_on(question_id, **kwargs)

    monkeypatch.setattr(question_updates, "work_on_question", noted)
    monkeypatch.setattr(question_updates, "TURN_SECONDS", 0)
    monkeypatch.setattr(
        question_updates.batch_jobs, "update_small_questions", lambda **_given: 0
    )  # to it both are small
    assert question_updates.sweep_questions() == 2
    assert worked[:3] == [question.pk, small.pk, question.pk]
    assert worked.count(small.pk) == 1
    for each in (question, small):
        invariants.check(each.pk)


def test_a_backlog_that_was_counted_but_not_closed_is_swept_for(question: Any, ids: Ids) -> None:
    question_updates.update_question(question.pk)
    backlog.open_backlog(question.pk)
    assert question_updates.list_pending_questions() == [question.pk]
    question_updates.sweep_questions()
    assert question_updates.list_pending_questions() == []


def test_readings_of_a_long_backlog_are_made_meanwhile(
    question: Any, ids: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    refreshed: list[int] = []
    refresh = results_refresh.refresh_results

    def noted(question_id: int) -> Any:
        refreshed.append(1)
        return refresh(question_id)

    monkeypatch.setattr(results_refresh, "refresh_results", noted)
    question_updates.work_on_question(question.pk, seconds=0)
    assert not refreshed
    CountState.objects.update(read_at=timezone.now() - 2 * question_updates.REFRESH_INTERVAL)
    question_updates.work_on_question(question.pk, seconds=0)
    assert refreshed
    assert (
        Reading.objects.get(question=question, span="all").coefficients["percent_agreement"][
            "n_items"
        ]
        == 5
    )
    question_updates.work_on_question(question.pk, seconds=0)
    assert len(refreshed) == 1


# --- what people see of it


def test_pages_and_monitors_say_how_far_it_is(
    question: Any, ids: Ids, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    backlog.open_backlog(question.pk)
    backlog.count_ranges(question.pk)
    version = CountState.objects.get().version
    for headers in ({}, {"X-Shown": f"{version}.0", "X-Places": "-"}):
        page = client.get(f"/projects/{question.project_id}/", headers=headers).content.decode()
        assert "Counting: 6 of 27 ratings" in " ".join(page.split()), headers
    assert client.get("/healthz").json()["backlog"] == {"done": 6, "total": 27}
    question_updates.update_question(question.pk)
    page = client.get(f"/projects/{question.project_id}/").content.decode()
    assert "Counting:" not in page
    assert client.get("/healthz").json()["backlog"] == {"done": 0, "total": 0}


def test_the_status_command_says_it_too(question: Any, ids: Ids) -> None:
    from agreement_site.management.commands.status import format_lines
    from agreement_site.system_status.report import collect_status

    backlog.open_backlog(question.pk)
    backlog.count_ranges(question.pk)
    found = json.loads(json.dumps(collect_status()))
    assert found["backlogs"] == {str(question.pk): {"done": 6, "total": 27}}
    assert f"Backlog of question {question.pk}: 6 of 27 ratings counted" in format_lines(found)
