"""Imports whose worker dies, hangs or runs twice: no row is lost and none is written twice."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from celery import current_app
from django.utils import timezone

import metrics.tasks
from core.jobs import dispatch
from core.jobs.lease import LeaseLost
from metrics.jobs import question_updates
from projects.models import Item, Project
from ratings import tasks
from ratings.imports import batch_writer, jobs, leases, services, uploads
from ratings.models import ImportRun, Rating, Revision
from ratings.services.record import record_ratings
from tests.ratings.imports.wizard_client import (
    WizardClient,
    get_labels,
    get_page_text,
    list_stored_files,
    snapshot_import_tables,
)

# Every third row repeats the one before; the first of the two goes to the history.
ROWS = [
    (f"i{number // 3}", f"r{number % 3 // 2}", "minor" if number % 2 else "major")
    for number in range(60)
]
CONTENT = ("item,rater,label\n" + "".join(",".join(row) + "\n" for row in ROWS)).encode()
EXPECTED_LABELS = {(item, rater): label for item, rater, label in ROWS}


class SimulatedCrash(BaseException):
    """Not caught by `except Exception`, like the end of the process."""


@pytest.fixture
def wizard(project: Project, lead: Any, client_for: Any, monkeypatch: Any) -> WizardClient:
    """Return a wizard at the step where a worker is to write, in batches of a few rows."""
    monkeypatch.setattr(batch_writer, "BATCH_SIZES", {"sqlite": 7, "postgresql": 7})
    wizard = WizardClient(client_for(lead), project)
    wizard.upload_and_validate(CONTENT)
    wizard.start_import()
    return wizard


def crash_in_batch(monkeypatch: Any, number: int, error: BaseException) -> None:
    """Raise the error after the ratings of this batch have been written."""
    calls = iter(range(1, 1000))

    def record_and_crash(*judgements: Any, **arguments: Any) -> Any:
        outcome = record_ratings(*judgements, **arguments)
        if next(calls) == number:
            raise error
        return outcome

    monkeypatch.setattr(batch_writer, "record_ratings", record_and_crash)


def is_complete(question: Any) -> bool:
    return (
        get_labels(question) == EXPECTED_LABELS
        and Revision.objects.count() == len(ROWS)
        and Revision.objects.filter(superseded=False).count() == len(EXPECTED_LABELS)
    )


@pytest.mark.parametrize("batch", [1, 3, 7])
def test_another_worker_resumes_after_a_kill(
    wizard: WizardClient, question: Any, monkeypatch: Any, batch: int
) -> None:
    with monkeypatch.context() as patch:
        crash_in_batch(patch, batch, SimulatedCrash())
        with pytest.raises(SimulatedCrash):
            wizard.run_worker()
    run = wizard.run
    assert run.state == "writing"
    assert Revision.objects.count() == run.rows_done < len(ROWS)

    # The dead worker's lease is respected for a while, ...
    assert tasks.resume_stalled() == 0
    assert wizard.run_worker().rows_done == run.rows_done
    # ... and then another worker takes the run.
    ImportRun.objects.update(
        heartbeat_at=timezone.now() - leases.HEARTBEAT_TIMEOUT - datetime.timedelta(seconds=1)
    )
    assert tasks.resume_stalled() == 1
    assert wizard.run.state == "done"
    assert is_complete(question)
    assert wizard.run.summary["outcome"]["created"] == len(EXPECTED_LABELS)
    assert wizard.run.summary["outcome"]["items"] == 20


def test_failure_is_retried_immediately(
    wizard: WizardClient, question: Any, monkeypatch: Any
) -> None:
    with monkeypatch.context() as patch:
        crash_in_batch(patch, 4, RuntimeError("the database went away"))
        run = wizard.run_worker()
    assert (run.state, run.lease, run.attempts) == ("writing", "", 1)
    assert tasks.resume_stalled() == 1
    assert wizard.run.state == "done"
    assert wizard.run.attempts == 0
    assert is_complete(question)


def test_repeated_failure_gives_up_and_is_reported(
    wizard: WizardClient, question: Any, monkeypatch: Any
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(batch_writer, "record_ratings", lambda *judgements, **arguments: 1 / 0)
        for _attempt in range(jobs.MAX_ATTEMPTS + 2):
            tasks.resume_stalled()
    assert wizard.run.state == "failed"
    assert not Item.objects.exists()
    page = get_page_text(wizard.get_page())
    assert "The import failed" in page and "0 of 60 rows" in page

    wizard.client.post(wizard.run_url, {"action": "recheck"})
    wizard.run_worker()
    wizard.start_import()
    wizard.run_worker()
    assert is_complete(question)


def test_second_worker_has_nothing_to_do(wizard: WizardClient) -> None:
    run = leases.claim_run(wizard.run.pk)
    assert run is not None
    assert leases.claim_run(run.pk) is None
    before = snapshot_import_tables()
    tasks.run_import(run.pk)
    assert snapshot_import_tables() == before


def test_worker_without_lease_writes_nothing(
    wizard: WizardClient, question: Any, rate: Any
) -> None:
    slow_run = leases.claim_run(wizard.run.pk)
    assert slow_run is not None
    ImportRun.objects.update(
        heartbeat_at=timezone.now() - leases.HEARTBEAT_TIMEOUT - datetime.timedelta(seconds=1)
    )
    path = uploads.get_absolute_path(f"{slow_run.path}{uploads.STAGING_SUFFIX}")
    content = path.read_bytes()
    wizard.run_worker()
    assert is_complete(question)
    # Rated after the import: the slow worker must not overwrite it.
    rate(question, "i0", "r0", "critical")
    before = snapshot_import_tables()

    path.write_bytes(content)
    with pytest.raises(LeaseLost):
        jobs._write_rows(slow_run)
    path.unlink()
    assert snapshot_import_tables() == before
    assert wizard.run.state == "done"


def test_repeated_message_changes_nothing(wizard: WizardClient, question: Any) -> None:
    wizard.run_worker()
    before = snapshot_import_tables()
    wizard.run_worker()
    tasks.run_import(wizard.run.pk + 1)  # a run that does not exist
    assert snapshot_import_tables() == before
    assert is_complete(question)


def test_killed_validation_is_repeated(
    project: Project, lead: Any, client_for: Any, monkeypatch: Any
) -> None:
    wizard = WizardClient(client_for(lead), project)
    wizard.upload(CONTENT)
    wizard.choose_columns()

    def crash(*arguments: Any, **options: Any) -> None:
        raise SimulatedCrash

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "validate_and_stage_file", crash)
        with pytest.raises(SimulatedCrash):
            wizard.run_worker()
    assert wizard.run.state == "checking"
    ImportRun.objects.update(
        heartbeat_at=timezone.now() - leases.HEARTBEAT_TIMEOUT - datetime.timedelta(seconds=1)
    )
    tasks.resume_stalled()
    assert wizard.run.state == "checked"
    name = uploads.get_absolute_path(wizard.run.path).name
    assert {file_name for file_name in list_stored_files() if file_name.startswith(name)} == {
        name,
        f"{name}{uploads.STAGING_SUFFIX}",
    }


def test_validation_that_the_lead_cancelled_is_discarded(
    wizard: WizardClient, monkeypatch: Any
) -> None:
    wizard.upload(CONTENT)
    wizard.choose_columns()
    original = jobs.validate_and_stage_file

    def cancel_and_validate(*arguments: Any, **options: Any) -> Any:
        wizard.client.post(wizard.run_url, {"action": "reopen"})
        return original(*arguments, **options)

    monkeypatch.setattr(jobs, "validate_and_stage_file", cancel_and_validate)
    assert wizard.run_worker().state == "mapping"
    assert wizard.run.lease == ""


def test_category_retired_meanwhile_stops_the_import(wizard: WizardClient, question: Any) -> None:
    question.categories.filter(label="major").update(retired=True)
    run = wizard.run_worker()

    assert run.state == "failed"
    assert not Rating.objects.exists()
    assert "has changed. Check the file again." in get_page_text(wizard.get_page())
    # The next validation reports the rows.
    wizard.client.post(wizard.run_url, {"action": "recheck"})
    assert wizard.run_worker().state == "invalid"
    assert "'major' isn't a label" in get_page_text(wizard.get_page())


def test_missing_staging_file_is_reported(wizard: WizardClient, question: Any) -> None:
    uploads.get_absolute_path(f"{wizard.run.path}{uploads.STAGING_SUFFIX}").unlink()
    assert wizard.run_worker().state == "failed"
    assert "The uploaded file is gone" in get_page_text(wizard.get_page())
    wizard.client.post(wizard.run_url, {"action": "recheck"})
    wizard.run_worker()
    wizard.start_import()
    wizard.run_worker()
    assert is_complete(question)


def test_counting_waits_for_the_import(
    wizard: WizardClient, question: Any, monkeypatch: Any
) -> None:
    with monkeypatch.context() as patch:
        crash_in_batch(patch, 3, SimulatedCrash())
        with pytest.raises(SimulatedCrash):
            wizard.run_worker()
    assert Rating.objects.uncounted().exists()
    assert question_updates.list_pending_questions() == []
    metrics.tasks.count_question(question.pk)
    assert Rating.objects.uncounted().exists()

    # Once no worker imports any more, the existing ratings are counted.
    ImportRun.objects.update(
        heartbeat_at=timezone.now() - leases.HEARTBEAT_TIMEOUT - datetime.timedelta(seconds=1)
    )
    assert question_updates.list_pending_questions() == [question.pk]
    metrics.tasks.count_question(question.pk)
    assert not Rating.objects.uncounted().exists()


def test_end_of_the_import_requests_counting(
    wizard: WizardClient, question: Any, monkeypatch: Any
) -> None:
    states = []
    monkeypatch.setattr(
        jobs.record.RATINGS_CHANGED,
        "notify_on_commit",
        lambda question_id: states.append((question_id, wizard.run.state)),
    )
    wizard.run_worker()
    assert states[-1] == (question.pk, "done")
    assert question_updates.list_pending_questions() == [question.pk]


def test_unsent_message_does_not_stop_the_import(
    wizard: WizardClient, settings: Any, monkeypatch: Any
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    def raise_connection_error(*arguments: Any, **options: Any) -> None:
        raise ConnectionError

    monkeypatch.setattr(dispatch, "_paused_until", 0.0)
    monkeypatch.setattr(current_app, "send_task", raise_connection_error)
    services.wake_worker(wizard.run.pk)
    assert tasks.resume_stalled() == 1
    assert wizard.run.state == "done"


def test_message_names_the_task_and_the_run(
    wizard: WizardClient, settings: Any, monkeypatch: Any
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    messages = []

    def append_message(name: str, arguments: list[Any], **options: Any) -> None:
        messages.append((name, arguments))

    monkeypatch.setattr(dispatch, "_paused_until", 0.0)
    monkeypatch.setattr(current_app, "send_task", append_message)
    services.wake_worker(wizard.run.pk)
    assert messages == [(tasks.run_import.name, [wizard.run.pk])]
