"""Background part of an import: validate the file, and write its rows.

If a worker dies, the run's row says what is left, and the next worker continues.
"""

from __future__ import annotations

import contextlib
import datetime
import gc
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from core.jobs.lease import LeaseLost
from events.services import record_event
from ratings.files import shared_folders
from ratings.models import ImportRun
from ratings.services import record

from . import leases, services, uploads
from .batch_writer import write_staged_rows
from .item_writer import ImportStopped
from .mapping.import_mapping import ImportMapping
from .problems import UnreadableFileError
from .readers import SOURCES
from .staging.database import Heartbeat, StagingDatabase
from .staging.file_validation import FileReport, validate_and_stage_file
from .staging.queries import open_staged_rows
from .zip_archives import MediaArchive

logger = logging.getLogger(__name__)

State = ImportRun.State
MAX_ATTEMPTS = 5  # consecutive failures before a run is marked as failed
HEARTBEAT_SECONDS = 1.0
# A batch creates some ten thousand objects without cycles. Looking for cycles after every 700 took
# a fifth of the processor time.
OBJECTS_PER_COLLECTION = 100_000


def run_import(run_id: int) -> None:
    """Validate the file of a run or write its rows, as its state requires.

    Does nothing if another worker has claimed the run.
    """
    run = leases.claim_run(run_id)
    if run is None:
        return
    try:
        with _collect_garbage_less_often():
            if run.state == State.CHECKING:
                _validate_and_store_report(run)
            else:
                _write_rows(run)
    except LeaseLost:
        logger.info("import %s was claimed by another worker", run_id)
    except Exception:
        logger.exception("import %s failed; the sweep will retry it", run_id)
        _release_after_failure(run)


@contextlib.contextmanager
def _collect_garbage_less_often() -> Iterator[None]:
    thresholds = gc.get_threshold()
    gc.set_threshold(OBJECTS_PER_COLLECTION, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def _release_after_failure(run: ImportRun) -> None:
    """Release the run for the next attempt, or mark it as failed after the last one."""
    attempts = run.attempts + 1
    try:
        if attempts < MAX_ATTEMPTS:
            leases.release_run(run, attempts=attempts)
        else:
            _mark_failed(run, "error", "", attempts=attempts)
    except LeaseLost:
        logger.info("import %s was claimed by another worker", run.pk)


def _validate_and_store_report(run: ImportRun) -> None:
    """Validate the file, and store the report and the staging database together."""
    mapping = ImportMapping.from_run(run)
    reader = SOURCES[mapping.source].open_reader(uploads.ensure_local_file(run), mapping)
    heartbeat = _build_heartbeat(
        run, lambda: {"bytes_read": min(reader.bytes_read, run.bytes_total)}
    )
    question = services.get_single_question(run, mapping)
    scratch_path = uploads.get_absolute_path(f"{run.path}{uploads.STAGING_SUFFIX}-{run.lease}")
    staging = StagingDatabase(scratch_path, heartbeat)
    try:
        report = validate_and_stage_file(
            reader,
            mapping,
            project=run.project,
            question=question,
            staging=staging,
            heartbeat=heartbeat,
            by=run.by,
            archive=MediaArchive.for_manifest(uploads.get_absolute_path(run.path)),
        )
        staging.close()
        with transaction.atomic():
            _store_report(run, report)
            scratch_path.replace(uploads.get_absolute_path(f"{run.path}{uploads.STAGING_SUFFIX}"))
            if run.in_database:
                uploads.store_in_database(run, uploads.STAGING_SUFFIX)
    finally:
        staging.close()
        scratch_path.unlink(missing_ok=True)


def _store_report(run: ImportRun, report: FileReport) -> None:
    """Store the result of the validation in the run, and release the run."""
    previous = {name: run.summary[name] for name in ("encoding_problem",) if name in run.summary}
    results = {name: value for name, value in vars(report).items() if name != "problems"}
    leases.release_run(
        run,
        state=State.INVALID if report.problems else State.CHECKED,
        problems=[problem.to_json() for problem in report.problems.listed],
        summary={
            **previous,
            **results,
            "problem_counts": dict(report.problems.counts_by_kind.most_common()),
        },
        bytes_read=run.bytes_total,
        rows_total=report.n_steps,
        rows_done=0,
        attempts=0,
    )


def _write_rows(run: ImportRun) -> None:
    """Write the staged rows, and mark the run as done or as failed."""
    try:
        with open_staged_rows(
            uploads.ensure_local_file(run, uploads.STAGING_SUFFIX, refresh=True),
            _build_heartbeat(run, dict),
        ) as staged_rows:
            archive = MediaArchive.for_manifest(uploads.get_absolute_path(run.path))
            write_staged_rows(
                run, staged_rows, archive=archive, heartbeat=_build_heartbeat(run, dict)
            )
        with transaction.atomic():
            leases.release_run(run, state=State.DONE, rows_done=run.rows_total)
            _record_event(run)
        run.file_parts.all().delete()
        uploads.delete_upload(run.path)
        # Workers may have ignored the hints sent during the import.
        for question_id in services.get_answered_question_ids(run):
            record.RATINGS_CHANGED.notify_on_commit(question_id)
    except FileNotFoundError:
        _mark_failed(run, "file_missing", "")
    except ImportStopped as error:
        _mark_failed(run, error.kind, error.value)
    except UnreadableFileError:
        _mark_failed(run, "file_missing", "")


def _mark_failed(run: ImportRun, kind: str, value: str, **changes: Any) -> None:
    """Mark the run as failed, with the reason."""
    with transaction.atomic():
        summary = {**run.summary, "stop_reason": [kind, value]}
        leases.release_run(run, state=State.FAILED, summary=summary, **changes)
        _record_event(run)


def _record_event(run: ImportRun) -> None:
    """Record an event that the run is done or failed; none for a run without a project."""
    if run.project is None:
        return
    record_event(
        project_id=run.project.pk,
        kind="import.finished",
        subject=f"import/{run.pk}",
        data={
            "import": run.pk,
            "question": run.question.key if run.question else None,
            "state": run.state,
            "rows": run.rows_done,
            "outcome": run.summary.get("outcome", {}),
        },
        by=run.by,
    )


def _build_heartbeat(run: ImportRun, progress: Callable[[], dict[str, Any]]) -> Heartbeat:
    """Return a function that renews the run's lease and stores ``progress()``.

    It may be called often, and acts at most once in `HEARTBEAT_SECONDS`. Raises LeaseLost.
    """
    last_time = time.monotonic()

    def heartbeat() -> None:
        nonlocal last_time
        if time.monotonic() - last_time >= HEARTBEAT_SECONDS:
            leases.update_run(run, **progress())
            last_time = time.monotonic()

    return heartbeat


def resume_stalled_imports() -> int:
    """Run every import that needs work and has no worker, and clean up; return their number."""
    run_ids = list(
        ImportRun.objects.filter(leases.build_claimable_filter())
        .order_by("id")
        .values_list("pk", flat=True)
    )
    for run_id in run_ids:
        run_import(run_id)
    _discard_unfinished_runs_and_files()
    return len(run_ids)


def _discard_unfinished_runs_and_files() -> None:
    """Discard runs that were left unfinished for too long, and delete files without a run."""
    oldest = timezone.now() - datetime.timedelta(days=settings.KEEP_IMPORTS_DAYS)
    abandoned_runs = ImportRun.objects.filter(
        state__in=(State.MAPPING, State.INVALID, State.CHECKED),
        created_at__lt=oldest,
    )
    for run in abandoned_runs:
        services.discard_run(run=run)
    finished = Q(state=State.DONE) | Q(state=State.FAILED, created_at__lt=oldest)
    shared_folders.delete_abandoned_files(
        uploads.FOLDER, ImportRun.objects.exclude(finished).values_list("path", flat=True)
    )
