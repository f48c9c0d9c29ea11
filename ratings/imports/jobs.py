"""What a worker does for an import: it checks the file, and writes its rows.

Whatever dies, the run's row says what is left; the next worker takes it up.
"""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from core.jobs.lease import Lost
from ratings import changes
from ratings.models import ImportRun

from . import leases, services, uploads
from .archives import Media
from .mapping.import_mapping import Mapping
from .problems import Unreadable
from .readers import SOURCES
from .staging.database import Beat, Staging
from .staging.queries import opened
from .validation.file_validation import Report, check
from .writing.items import Stopped
from .writing.ratings import write

logger = logging.getLogger(__name__)

State = ImportRun.State
MAX_ATTEMPTS = 5  # failures in a row until a run is given up
SECONDS_BETWEEN_BEATS = 1.0  # signs of life


def run_import(run_id: int) -> None:
    """Do what the run waits for: check its file, or write its rows. Does nothing when another
    worker has it."""
    run = leases.take(run_id)
    if run is None:
        return
    try:
        if run.state == State.CHECKING:
            _check(run)
        else:
            _write(run)
    except Lost:
        logger.info("import %s is in other hands now", run_id)
    except Exception:
        logger.exception("import %s failed; the sweep tries again", run_id)
        _set_back(run)


def _set_back(run: ImportRun) -> None:
    """After a failure: free for the next try, or given up."""
    attempts = run.attempts + 1
    try:
        if attempts < MAX_ATTEMPTS:
            leases.give_back(run, attempts=attempts)
        else:
            leases.give_back(
                run,
                attempts=attempts,
                state=State.FAILED,
                summary={**run.summary, "stopped": ["error", ""]},
            )
    except Lost:
        logger.info("import %s is in other hands now", run.pk)


def _check(run: ImportRun) -> None:
    mapping = Mapping.of(run)
    reader = SOURCES[mapping.source].reader(uploads.absolute(run.path), mapping)
    beat = _heart(run, lambda: {"bytes_read": min(reader.bytes_read, run.bytes_total)})
    question = services.question_of(run, mapping)
    scratch = uploads.absolute(f"{run.path}{uploads.SCRATCH}-{run.lease}")
    rows = Staging(scratch, beat)
    try:
        report = check(
            reader,
            mapping,
            project=run.project,
            question=question,
            staging=rows,
            beat=beat,
            by=run.by,
            archive=Media.beside(uploads.absolute(run.path)),
        )
        rows.close()
        with transaction.atomic():
            _store_report(run, report)
            scratch.replace(uploads.absolute(f"{run.path}{uploads.SCRATCH}"))
    finally:
        rows.close()
        scratch.unlink(missing_ok=True)


def _store_report(run: ImportRun, report: Report) -> None:
    kept = {name: run.summary[name] for name in ("not_utf8",) if name in run.summary}
    numbers = {name: value for name, value in vars(report).items() if name != "found"}
    leases.give_back(
        run,
        state=State.REFUSED if report.found else State.CHECKED,
        problems=[problem.as_json() for problem in report.found.listed],
        summary={**kept, **numbers, "kinds": dict(report.found.kinds.most_common())},
        bytes_read=run.bytes_total,
        rows_total=report.work,
        rows_done=0,
        attempts=0,
    )


def _write(run: ImportRun) -> None:
    try:
        with opened(uploads.absolute(f"{run.path}{uploads.SCRATCH}"), _heart(run, dict)) as staged:
            archive = Media.beside(uploads.absolute(run.path))
            write(run, staged, archive=archive, beat=_heart(run, dict))
        leases.give_back(run, state=State.DONE, rows_done=run.rows_total)
        uploads.remove(run.path)
        # the hints on the way may have found the import still under way
        for question_id in services.question_ids(run):
            changes.announce(question_id)
    except FileNotFoundError:
        _stop(run, "lost", "")
    except Stopped as stopped:
        _stop(run, stopped.kind, stopped.value)
    except Unreadable:
        _stop(run, "lost", "")


def _stop(run: ImportRun, kind: str, value: str) -> None:
    leases.give_back(run, state=State.FAILED, summary={**run.summary, "stopped": [kind, value]})


def _heart(run: ImportRun, progress: Callable[[], dict[str, Any]]) -> Beat:
    """A function to be called often: once in a while it tells that the worker lives, and how far it
    has come."""
    last = time.monotonic()

    def beat() -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_BEATS:
            leases.keep(run, **progress())
            last = time.monotonic()

    return beat


def resume_stalled() -> int:
    """Take up every run that waits for a worker or has lost its own, and tidy up; how many runs
    there were."""
    waiting = list(
        ImportRun.objects.filter(leases.free()).order_by("id").values_list("pk", flat=True)
    )
    for run_id in waiting:
        run_import(run_id)
    _tidy()
    return len(waiting)


def _tidy() -> None:
    long_ago = timezone.now() - datetime.timedelta(days=settings.KEEP_IMPORTS_DAYS)
    forgotten = ImportRun.objects.filter(
        state__in=(State.MAPPING, State.REFUSED, State.CHECKED),
        created_at__lt=long_ago,
    )
    for run in forgotten:
        services.discard(run=run)
    over = Q(state=State.DONE) | Q(state=State.FAILED, created_at__lt=long_ago)
    uploads.remove_abandoned(set(ImportRun.objects.exclude(over).values_list("path", flat=True)))
