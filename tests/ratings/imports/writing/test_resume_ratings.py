"""Imports whose worker dies, hangs or is doubled: no row is lost and none is written twice."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone

import metrics.tasks
from core.jobs import dispatch
from core.jobs.lease import LeaseLost
from metrics.jobs import question_updates
from projects.models import Item, Project
from ratings import tasks
from ratings.imports import jobs, leases, services, uploads
from ratings.imports.writing import ratings
from ratings.models import ImportRun, Rating, Revision
from ratings.services.record import record_ratings
from tests.ratings.imports.wizard_client import Wizard, said, stored, words, world

# Every third row repeats the one before; the first stands in the history.
ROWS = [
    (f"i{number // 3}", f"r{number % 3 // 2}", "minor" if number % 2 else "major")
    for number in range(60)
]
CONTENT = ("item,rater,label\n" + "".join(",".join(row) + "\n" for row in ROWS)).encode()
WANTED = {(item, rater): label for item, rater, label in ROWS}


class Died(BaseException):
    """What no `except Exception` catches, like the end of the process."""


@pytest.fixture
def wizard(project: Project, lead: Any, client_for: Any, monkeypatch: Any) -> Wizard:
    """At the step where a worker is to write, in pieces of a few rows."""
    monkeypatch.setattr(ratings, "BATCH_SIZES", {"sqlite": 7, "postgresql": 7})
    wizard = Wizard(client_for(lead), project)
    wizard.check(CONTENT)
    wizard.start()
    return wizard


def die_in_piece(monkeypatch: Any, number: int, error: BaseException) -> None:
    """The given piece's ratings are written, and then the error comes."""
    calls = iter(range(1, 1000))

    def dying(*judgements: Any, **arguments: Any) -> Any:
        outcome = record_ratings(*judgements, **arguments)
        if next(calls) == number:
            raise error
        return outcome

    monkeypatch.setattr(ratings, "record_ratings", dying)


def complete(question: Any) -> bool:
    return (
        said(question) == WANTED
        and Revision.objects.count() == len(ROWS)
        and Revision.objects.filter(superseded=False).count() == len(WANTED)
    )


@pytest.mark.parametrize("piece", [1, 3, 7])
def test_killed_worker_is_followed_by_another(
    wizard: Wizard, question: Any, monkeypatch: Any, piece: int
) -> None:
    with monkeypatch.context() as patch:
        die_in_piece(patch, piece, Died())
        with pytest.raises(Died):
            wizard.work()
    run = wizard.run
    assert run.state == "writing"
    assert Revision.objects.count() == run.rows_done < len(ROWS)

    # The dead worker's lease is respected for a while, ...
    assert tasks.resume_stalled() == 0
    assert wizard.work().rows_done == run.rows_done
    # ... and then it is taken.
    ImportRun.objects.update(
        heartbeat_at=timezone.now() - leases.HEARTBEAT_TIMEOUT - datetime.timedelta(seconds=1)
    )
    assert tasks.resume_stalled() == 1
    assert wizard.run.state == "done"
    assert complete(question)
    assert wizard.run.summary["outcome"]["created"] == len(WANTED)
    assert wizard.run.summary["outcome"]["items"] == 20


def test_failure_is_tried_again_at_once(wizard: Wizard, question: Any, monkeypatch: Any) -> None:
    with monkeypatch.context() as patch:
        die_in_piece(patch, 4, RuntimeError("the database went away"))
        run = wizard.work()
    assert (run.state, run.lease, run.attempts) == ("writing", "", 1)
    assert tasks.resume_stalled() == 1
    assert wizard.run.state == "done"
    assert wizard.run.attempts == 0
    assert complete(question)


def test_failing_again_and_again_gives_up_and_says_so(
    wizard: Wizard, question: Any, monkeypatch: Any
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ratings, "record_ratings", lambda *judgements, **arguments: 1 / 0)
        for _attempt in range(jobs.MAX_ATTEMPTS + 2):
            tasks.resume_stalled()
    assert wizard.run.state == "failed"
    assert not Item.objects.exists()
    page = words(wizard.page())
    assert "failed several times" in page and "0 of 60 rows" in page

    wizard.client.post(wizard.address, {"do": "again"})
    wizard.work()
    wizard.start()
    wizard.work()
    assert complete(question)


def test_second_worker_finds_nothing_to_do(wizard: Wizard) -> None:
    run = leases.claim_run(wizard.run.pk)
    assert run is not None
    assert leases.claim_run(run.pk) is None
    before = world()
    tasks.run_import(run.pk)
    assert world() == before


def test_worker_that_lost_its_lease_writes_nothing(
    wizard: Wizard, question: Any, rate: Any
) -> None:
    slow = leases.claim_run(wizard.run.pk)
    assert slow is not None
    ImportRun.objects.update(
        heartbeat_at=timezone.now() - leases.HEARTBEAT_TIMEOUT - datetime.timedelta(seconds=1)
    )
    path = uploads.get_absolute_path(f"{slow.path}{uploads.STAGING_SUFFIX}")
    content = path.read_bytes()
    wizard.work()
    assert complete(question)
    # said after the import: the slow worker must not take it back
    rate(question, "i0", "r0", "critical")
    before = world()

    path.write_bytes(content)
    with pytest.raises(LeaseLost):
        jobs._write_rows(slow)
    path.unlink()
    assert world() == before
    assert wizard.run.state == "done"


def test_doubled_message_changes_nothing(wizard: Wizard, question: Any) -> None:
    wizard.work()
    before = world()
    wizard.work()
    tasks.run_import(wizard.run.pk + 1)  # a run that is gone
    assert world() == before
    assert complete(question)


def test_killed_check_is_done_anew(
    project: Project, lead: Any, client_for: Any, monkeypatch: Any
) -> None:
    wizard = Wizard(client_for(lead), project)
    wizard.upload(CONTENT)
    wizard.choose()

    def die(*arguments: Any, **options: Any) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "validate_file", die)
        with pytest.raises(Died):
            wizard.work()
    assert wizard.run.state == "checking"
    ImportRun.objects.update(
        heartbeat_at=timezone.now() - leases.HEARTBEAT_TIMEOUT - datetime.timedelta(seconds=1)
    )
    tasks.resume_stalled()
    assert wizard.run.state == "checked"
    name = uploads.get_absolute_path(wizard.run.path).name
    assert {other for other in stored() if other.startswith(name)} == {
        name,
        f"{name}{uploads.STAGING_SUFFIX}",
    }


def test_check_that_the_lead_took_back_ends_unheard(wizard: Wizard, monkeypatch: Any) -> None:
    wizard.upload(CONTENT)
    wizard.choose()
    real = jobs.validate_file

    def take_back(*arguments: Any, **options: Any) -> Any:
        wizard.client.post(wizard.address, {"do": "reopen"})
        return real(*arguments, **options)

    monkeypatch.setattr(jobs, "validate_file", take_back)
    assert wizard.work().state == "mapping"
    assert wizard.run.lease == ""


def test_category_that_went_meanwhile_stops_the_import(wizard: Wizard, question: Any) -> None:
    question.categories.filter(label="major").update(retired=True)
    run = wizard.work()

    assert run.state == "failed"
    assert not Rating.objects.exists()
    assert "categories were changed since the check" in words(wizard.page())
    # The next check names the rows.
    wizard.client.post(wizard.address, {"do": "again"})
    assert wizard.work().state == "refused"
    assert "'major' is no label of this question" in words(wizard.page())


def test_lost_scratch_file_is_told(wizard: Wizard, question: Any) -> None:
    uploads.get_absolute_path(f"{wizard.run.path}{uploads.STAGING_SUFFIX}").unlink()
    assert wizard.work().state == "failed"
    assert "not there any more" in words(wizard.page())
    wizard.client.post(wizard.address, {"do": "again"})
    wizard.work()
    wizard.start()
    wizard.work()
    assert complete(question)


def test_counting_waits_for_the_import(wizard: Wizard, question: Any, monkeypatch: Any) -> None:
    with monkeypatch.context() as patch:
        die_in_piece(patch, 3, Died())
        with pytest.raises(Died):
            wizard.work()
    assert Rating.objects.uncounted().exists()
    assert question_updates.list_pending_questions() == []
    metrics.tasks.count_question(question.pk)
    assert Rating.objects.uncounted().exists()

    # Not for ever: when nobody imports any more, what is there is counted.
    ImportRun.objects.update(
        heartbeat_at=timezone.now() - leases.HEARTBEAT_TIMEOUT - datetime.timedelta(seconds=1)
    )
    assert question_updates.list_pending_questions() == [question.pk]
    metrics.tasks.count_question(question.pk)
    assert not Rating.objects.uncounted().exists()


def test_end_of_the_import_asks_for_the_counting(
    wizard: Wizard, question: Any, monkeypatch: Any
) -> None:
    states = []
    monkeypatch.setattr(
        jobs.changes,
        "announce",
        lambda question_id: states.append((question_id, wizard.run.state)),
    )
    wizard.work()
    assert states[-1] == (question.pk, "done")
    assert question_updates.list_pending_questions() == [question.pk]


def test_hint_that_cannot_be_sent_is_not_felt(
    wizard: Wizard, settings: Any, monkeypatch: Any
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    def refuse(*arguments: Any, **options: Any) -> None:
        raise ConnectionError

    monkeypatch.setattr(dispatch, "_paused_until", 0.0)
    monkeypatch.setattr(dispatch.current_app, "send_task", refuse)
    services.wake_worker(wizard.run.pk)
    assert tasks.resume_stalled() == 1
    assert wizard.run.state == "done"


def test_hint_names_the_task_and_the_run(wizard: Wizard, settings: Any, monkeypatch: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    sent = []

    def send(name: str, arguments: list[Any], **options: Any) -> None:
        sent.append((name, arguments))

    monkeypatch.setattr(dispatch, "_paused_until", 0.0)
    monkeypatch.setattr(dispatch.current_app, "send_task", send)
    services.wake_worker(wizard.run.pk)
    assert sent == [(tasks.run_import.name, [wizard.run.pk])]
