"""The steps of an import that its lead takes in the wizard; work.py has the worker's."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import IO, Any

from django.db import transaction
from django.utils import timezone

from groundwork.work.lease import Lost
from groundwork.work.starting import start_task
from projects.models import Category, Project, Question
from projects.setup.projects import create_project
from projects.setup.question_rules import NewCategory, NewQuestion
from projects.setup.questions import add_question
from ratings.files import uploads
from ratings.models import ImportRun

from . import files, leases
from .label_order import number
from .mapping import Mapping
from .sources import SOURCES

logger = logging.getLogger(__name__)

State = ImportRun.State
HOTKEYS = "123456789"


def upload(*, file: IO[bytes], name: str, project: Project | None, by: Any) -> ImportRun:
    """A new run with a stored file and guesses for its columns; Unreadable when it is no CSV, and
    nothing is kept."""
    stored = files.store(file)
    try:
        mapping = Mapping(source=stored.source, encoding=stored.encoding or "")
        _guess(mapping, stored.path, project)
        trouble = stored.trouble
        return ImportRun.objects.create(
            project=project,
            by=by,
            file_name=uploads.shown_name(name),
            path=stored.path,
            bytes_total=stored.size,
            mapping=mapping.as_json(),
            summary={"not_utf8": trouble.problem.as_json()} if trouble else {},
        )
    except BaseException:
        files.remove(stored.path)
        raise


def _guess(mapping: Mapping, path: str, project: Project | None) -> None:
    """Look at the file, and put into the mapping what its columns probably mean."""
    source = SOURCES[mapping.source]
    seen = source.look(files.absolute(path), mapping)
    guess = source.guess(seen, labels=_known_labels(project))
    mapping.delimiter = seen.delimiter
    mapping.layout = guess.layout
    mapping.columns = guess.columns
    mapping.leave_out = guess.leave_out


def _known_labels(project: Project | None) -> set[str]:
    if project is None:
        return set()
    known = Category.objects.filter(question__project=project, retired=False)
    return set(known.values_list("label", flat=True))


def read_anew(*, run: ImportRun, encoding: str, delimiter: str) -> bool:
    """Take another encoding or delimiter, with new guesses; False when the run has gone on
    meanwhile.

    Raises Unreadable when the file cannot be read so, and then has changed nothing.
    """
    mapping = Mapping.of(run)
    mapping.encoding, mapping.delimiter = encoding, delimiter
    _guess(mapping, run.path, run.project)
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
    """Make what is new and begin to write. Raises Lost when the run has gone on meanwhile.

    ``scale`` and ``categories`` (labels in order) are for a new question: project_rules.Refused or
    question_rules.InvalidQuestions when it may not be like this. Either way nothing was changed
    then.
    """
    mapping = Mapping.of(run)
    mapping.stands = stands
    question = question_of(run, mapping)
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
        raise Lost
    return question


def question_of(run: ImportRun, mapping: Mapping) -> Question | None:
    """The question that the rows belong to; None where it is still to be made."""
    if run.question or run.project is None or mapping.question_id is None:
        return run.question
    return run.project.questions.filter(pk=mapping.question_id).first()


def _new_question(run: ImportRun, mapping: Mapping, *, by: Any) -> Question:
    values = [number(label) for label in mapping.categories]
    numeric = None not in values
    categories = []
    for place, label in enumerate(mapping.categories):
        hotkey = HOTKEYS[place : place + 1]
        value = values[place] if numeric else None
        categories.append(NewCategory(label, value=value, hotkey=hotkey))
    new = NewQuestion(
        key=mapping.question_key,
        text=mapping.question_text,
        scale=mapping.scale,
        categories=categories,
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
    start_task("ratings.tasks.run_import", run_id)
