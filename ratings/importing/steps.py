"""The steps of an import: those that the lead takes in the wizard, and those that a worker
takes."""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Callable, Sequence
from typing import IO, Any

from celery import current_app
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from projects.models import Category, Project, Question
from projects.setup.actions import add_question, create_project
from projects.setup.question_rules import NewCategory, NewQuestion
from ratings import changes
from ratings.files import uploads
from ratings.models import ImportRun

from . import files, leases, staging
from .checking import Report, check, reader_of
from .guessing import guess_columns, look, number
from .mapping import Mapping
from .writing import Stopped, write

logger = logging.getLogger(__name__)

State = ImportRun.State
MAX_ATTEMPTS = 5  # failures in a row until a run is given up
KEPT = datetime.timedelta(days=7)  # how long a file waits for its lead's next step
BEAT = 1.0  # seconds between two signs of life
HOTKEYS = "123456789"


# --- the lead's steps ------------------------------------------------------------------------------


def upload(*, file: IO[bytes], name: str, project: Project | None, by: Any) -> ImportRun:
    """A new run with a stored file and guesses for its columns; Unreadable when it is no CSV, and
    nothing is kept."""
    stored = files.store(file)
    try:
        # Windows-1252 only to show the columns: the lead must choose before anything is read in
        # earnest.
        seen = look(files.absolute(stored.path), encoding=stored.encoding or "windows-1252")
        guess = guess_columns(seen, labels=_known_labels(project))
        mapping = Mapping(
            encoding=stored.encoding or "",
            delimiter=seen.delimiter,
            layout=guess.layout,
            columns=guess.columns,
            leave_out=guess.leave_out,
        )
        return ImportRun.objects.create(
            project=project,
            by=by,
            file_name=uploads.shown_name(name),
            path=stored.path,
            bytes_total=stored.size,
            mapping=mapping.as_json(),
            summary={"not_utf8": stored.trouble.problem.as_json()} if stored.trouble else {},
        )
    except BaseException:
        files.remove(stored.path)
        raise


def _known_labels(project: Project | None) -> set[str]:
    if project is None:
        return set()
    return set(
        Category.objects.filter(question__project=project, retired=False).values_list(
            "label", flat=True
        )
    )


def read_anew(*, run: ImportRun, encoding: str, delimiter: str) -> bool:
    """Take another encoding or delimiter, with new guesses; False when the run has gone on
    meanwhile.

    Raises Unreadable when the file cannot be read so, and then has changed nothing.
    """
    mapping = Mapping.of(run)
    guess = guess_columns(
        look(files.absolute(run.path), encoding=encoding, delimiter=delimiter),
        labels=_known_labels(run.project),
    )
    mapping.encoding, mapping.delimiter = encoding, delimiter
    mapping.layout, mapping.columns, mapping.leave_out = (
        guess.layout,
        guess.columns,
        guess.leave_out,
    )
    return _go_on(run, (State.MAPPING,), mapping=mapping.as_json())


def choose_columns(*, run: ImportRun, mapping: Mapping) -> bool:
    """Check the file with these columns; False when the run has gone on meanwhile."""
    return _restart_check(run, mapping=mapping.as_json())


def check_again(*, run: ImportRun) -> bool:
    return _restart_check(run)


def _restart_check(run: ImportRun, **changes: Any) -> bool:
    restartable = (State.MAPPING, State.REFUSED, State.CHECKED, State.FAILED)
    fresh = {
        "bytes_read": 0,
        "rows_done": 0,
        "rows_total": 0,
        "problems": [],
        "lease": "",
        "attempts": 0,
    }
    return _go_on(run, restartable, state=State.CHECKING, **fresh, **changes)


def reopen_columns(*, run: ImportRun) -> bool:
    """Back to the choice of columns; a check under way is dropped."""
    return _go_on(
        run,
        (State.CHECKING, State.REFUSED, State.CHECKED),
        state=State.MAPPING,
        lease="",
        problems=[],
    )


@transaction.atomic
def start(
    *, run: ImportRun, stands: str, scale: str, categories: Sequence[str], by: Any
) -> Question:
    """Make what is new and begin to write. Raises leases.Lost when the run has gone on meanwhile.

    ``scale`` and ``categories`` (labels in order) are for a new question: project_rules.Refused or
    question_rules.InvalidQuestions when it may not be like this. Either way nothing was changed
    then.
    """
    mapping = Mapping.of(run)
    mapping.stands = stands
    question = _question_of(run, mapping)
    if question is None:
        mapping.scale, mapping.categories = scale, list(categories)
        question = _new_question(run, mapping, by=by)
    changes = {
        "state": State.WRITING,
        "project": question.project,
        "question": question,
        "mapping": mapping.as_json(),
        "lease": "",
        "attempts": 0,
        "rows_done": 0,
        "heartbeat_at": timezone.now(),
    }
    if not _go_on(run, (State.CHECKED,), **changes):
        raise leases.Lost
    return question


def _question_of(run: ImportRun, mapping: Mapping) -> Question | None:
    """The question that the rows belong to; None where it is still to be made."""
    if run.question or run.project is None or mapping.question_id is None:
        return run.question
    return run.project.questions.filter(pk=mapping.question_id).first()


def _new_question(run: ImportRun, mapping: Mapping, *, by: Any) -> Question:
    values = [number(label) for label in mapping.categories]
    numeric = None not in values
    new = NewQuestion(
        key=mapping.question_key,
        text=mapping.question_text,
        scale=mapping.scale,
        categories=[
            NewCategory(label, value=value if numeric else None, hotkey=HOTKEYS[place : place + 1])
            for place, (label, value) in enumerate(zip(mapping.categories, values, strict=True))
        ],
    )
    if run.project is None:
        return create_project(by=by, name=mapping.project_name, questions=[new]).questions.get()
    return add_question(project=run.project, question=new, by=by)


def discard(*, run: ImportRun) -> bool:
    """Forget a run that has written nothing, with its file."""
    gone, _ = (
        ImportRun.objects.filter(pk=run.pk, rows_done=0)
        .exclude(state__in=(State.WRITING, State.DONE))
        .delete()
    )
    if gone:
        files.remove(run.path)
    return bool(gone)


def _go_on(run: ImportRun, states: Sequence[str], **changes: Any) -> bool:
    """Move the run on if it is still where the lead saw it, and wake a worker where it now needs
    one."""
    if not ImportRun.objects.filter(pk=run.pk, state__in=states).update(**changes):
        return False
    for name, value in changes.items():
        setattr(run, name, value)
    if run.state in leases.WORKING:
        transaction.on_commit(lambda: wake(run.pk))
    return True


def wake(run_id: int) -> None:
    """A hint to the workers; the sweep finds the run without it."""
    if not settings.REDIS_URL:
        return
    try:
        current_app.send_task("ratings.tasks.run_import", [run_id], ignore_result=True, retry=False)
    except Exception as error:  # any: redis, kombu and socket errors have no common base
        logger.warning(
            "no hint for import %s (%s); the sweep will find it", run_id, type(error).__name__
        )


# --- the worker's steps ----------------------------------------------------------------------------


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
    except leases.Lost:
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
    except leases.Lost:
        logger.info("import %s is in other hands now", run.pk)


def _check(run: ImportRun) -> None:
    mapping = Mapping.of(run)
    reader = reader_of(run.path, mapping)
    beat = _heart(run, lambda: {"bytes_read": min(reader.bytes_read, run.bytes_total)})
    question = _question_of(run, mapping)
    scratch = files.absolute(f"{run.path}{files.SCRATCH}-{run.lease}")
    rows = staging.Staging(scratch, beat)
    try:
        report = check(
            reader, mapping, project=run.project, question=question, staging=rows, beat=beat
        )
        rows.close()
        with transaction.atomic():
            _store_report(run, report)
            scratch.replace(files.absolute(f"{run.path}{files.SCRATCH}"))
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
        rows_total=report.rows,
        rows_done=0,
        attempts=0,
    )


def _write(run: ImportRun) -> None:
    try:
        with staging.opened(
            files.absolute(f"{run.path}{files.SCRATCH}"), _heart(run, dict)
        ) as staged:
            write(run, staged)
        leases.give_back(run, state=State.DONE, rows_done=run.rows_total)
        files.remove(run.path)
        assert run.question is not None  # the database's own rule: import_writes_into_question
        # the hints on the way may have found the import still under way
        changes.announce(run.question.pk)
    except FileNotFoundError:
        _stop(run, "lost", "")
    except Stopped as stopped:
        _stop(run, stopped.kind, stopped.value)


def _stop(run: ImportRun, kind: str, value: str) -> None:
    leases.give_back(run, state=State.FAILED, summary={**run.summary, "stopped": [kind, value]})


def _heart(run: ImportRun, progress: Callable[[], dict[str, Any]]) -> staging.Beat:
    """A function to be called often: once in a while it tells that the worker lives, and how far it
    has come."""
    last = time.monotonic()

    def beat() -> None:
        nonlocal last
        if time.monotonic() - last >= BEAT:
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
    forgotten = ImportRun.objects.filter(
        state__in=(State.MAPPING, State.REFUSED, State.CHECKED),
        created_at__lt=timezone.now() - KEPT,
    )
    for run in forgotten:
        discard(run=run)
    over = Q(state=State.DONE) | Q(state=State.FAILED, created_at__lt=timezone.now() - KEPT)
    files.remove_abandoned(set(ImportRun.objects.exclude(over).values_list("path", flat=True)))
