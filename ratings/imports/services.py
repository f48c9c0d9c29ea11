"""The steps of an import that its lead takes in the wizard; work.py has the worker's."""

from __future__ import annotations

import logging
from collections.abc import Mapping as Map
from collections.abc import Sequence
from pathlib import PurePath
from typing import IO, Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from core.jobs.dispatch import start_task
from core.jobs.lease import Lost
from projects.models import Category, Project, Question
from projects.services.projects import create_project, go_on_from_guidelines
from projects.services.question_validation import NewCategory, NewQuestion
from projects.services.questions import add_question
from projects.services.raters import fields
from ratings.files import upload_names
from ratings.models import ImportRun

from . import leases
from . import uploads as imports_uploads
from .mapping import matching
from .mapping.import_mapping import Mapping
from .mapping.label_order import number
from .readers import SOURCES

logger = logging.getLogger(__name__)

State = ImportRun.State
HOTKEYS = "123456789"


class NewScale(NamedTuple):
    """What a question that the file brings is to be: ``categories`` are labels in their order."""

    scale: str
    categories: Sequence[str]
    text: str = ""


def upload(
    *, file: IO[bytes], name: str, project: Project | None, by: Any, source: str = ""
) -> ImportRun:
    """A new run with a stored file and guesses for its columns; Unreadable when it cannot be read,
    and nothing is kept. ``source`` is one of SOURCES; guessed from the content when left out."""
    stored = imports_uploads.store(file)
    try:
        mapping = Mapping(source=source or stored.source, encoding=stored.encoding or "")
        mapping.one_rater = _rater_named(name)
        _guess(mapping, stored.path, project)
        matching.remember(mapping, project)
        trouble = stored.trouble
        return ImportRun.objects.create(
            project=project,
            by=by,
            file_name=upload_names.shown_name(name),
            path=stored.path,
            bytes_total=stored.size,
            mapping=mapping.as_json(),
            summary={"not_utf8": trouble.problem.as_json()} if trouble else {},
        )
    except BaseException:
        imports_uploads.remove(stored.path)
        raise


def _guess(mapping: Mapping, path: str, project: Project | None) -> None:
    """Look at the file, and put into the mapping what its columns probably mean."""
    source = SOURCES[mapping.source]
    seen = source.look(imports_uploads.absolute(path), mapping)
    if seen is None:
        mapping.every_question = True
        return
    guess = source.guess(seen, labels=_known_labels(project))
    mapping.every_question = False
    mapping.delimiter = seen.delimiter
    mapping.layout = guess.layout
    mapping.columns = guess.columns
    mapping.leave_out = guess.leave_out
    mapping.parts = guess.parts
    mapping.attributes = guess.attributes


def _rater_named(file_name: str) -> str:
    """Who gave the answers of a file that names nobody: tools name a person's file like them."""
    stem = PurePath(upload_names.shown_name(file_name)).name.split(".")[0].strip()
    return stem[: fields.LONGEST_KEY].strip() or "file"


def _known_labels(project: Project | None) -> set[str]:
    if project is None:
        return set()
    known = Category.objects.filter(question__project=project, retired=False)
    return set(known.values_list("label", flat=True))


def read_anew(*, run: ImportRun, encoding: str, delimiter: str, source: str = "") -> bool:
    """Take another encoding, delimiter or source, with new guesses; False when the run has gone on
    meanwhile.

    Raises Unreadable when the file cannot be read so, and then has changed nothing.
    """
    mapping = Mapping.of(run)
    mapping.encoding, mapping.delimiter = encoding, delimiter
    if source and source != mapping.source:
        mapping.source, mapping.delimiter = source, ""
    _guess(mapping, run.path, run.project)
    return _go_on(run, (State.MAPPING,), mapping=mapping.as_json())


def choose_columns(*, run: ImportRun, mapping: Mapping) -> bool:
    """Check the file with these columns; False when the run has gone on meanwhile."""
    return _restart_check(run, mapping=mapping.as_json())


def match(*, run: ImportRun, mapping: Mapping) -> bool:
    """Check the file with these matches of raters and questions; False when the run has gone on
    meanwhile."""
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
def start(*, run: ImportRun, stands: str, new: Map[str, NewScale], by: Any) -> Project:
    """Make what is new and begin to write. Raises Lost when the run has gone on meanwhile.

    ``new`` has the scale of each new question by its key (see `new_questions`):
    project_rules.Refused or question_rules.InvalidQuestions when it may not be like this. Either
    way nothing was changed then.
    """
    mapping = Mapping.of(run)
    mapping.stands = stands
    question = question_of(run, mapping)
    project = run.project
    wanted = dict.fromkeys([*new_questions(run), *new])
    questions = [_new_question(run, mapping, key, new[key]) for key in wanted]
    if project is None:
        project = create_project(
            by=by, name=mapping.project_name, time_zone=mapping.time_zone, questions=questions
        )
    else:
        for one in questions:
            add_question(project=project, question=one, by=by)
    matching.tie(project, mapping.members, by=by)
    number = run.summary.get("guidelines", 0)
    go_on_from_guidelines(project=project, number=number, by=by)
    if question is None and len(run.summary.get("questions", {})) == 1:
        question = project.questions.filter(key__in=run.summary["questions"]).first()
    changes = {
        "state": State.WRITING,
        "project": project,
        "question": question,
        "mapping": mapping.as_json(),
        "lease": "",
        "attempts": 0,
        "rows_done": 0,
        "heartbeat_at": timezone.now(),
    }
    if not _go_on(run, (State.CHECKED,), **changes):
        raise Lost
    return project


def new_questions(run: ImportRun) -> list[str]:
    """The keys of the questions that are to be made for the file: those with labels that the
    project does not have."""
    return [key for key, told in answered(run) if not told["known"] and told["labels"]]


def answered(run: ImportRun) -> list[tuple[str, dict[str, Any]]]:
    """(key, what the check told of it) of the file's questions, in the order of the file."""
    found = run.summary.get("questions", {})
    return sorted(found.items(), key=lambda one: one[1]["place"])


def question_of(run: ImportRun, mapping: Mapping) -> Question | None:
    """The one question that the rows belong to; None where it is still to be made, or there are
    several."""
    if run.question or run.project is None or mapping.every_question or not mapping.question_id:
        return run.question
    return run.project.questions.filter(pk=mapping.question_id).first()


def question_ids(run: ImportRun) -> list[int]:
    """The questions that the file answers."""
    assert run.project is not None  # the database's own rule: import_writes_into_project
    answered = run.project.questions.filter(key__in=run.summary.get("questions", {}))
    ids = set(answered.values_list("pk", flat=True))
    return sorted(ids | {run.question.pk} if run.question else ids)


def _new_question(run: ImportRun, mapping: Mapping, key: str, new: NewScale) -> NewQuestion:
    values = [number(label) for label in new.categories]
    numeric = None not in values
    categories = []
    for place, label in enumerate(new.categories):
        hotkey = HOTKEYS[place : place + 1]
        value = values[place] if numeric else None
        categories.append(NewCategory(label, value=value, hotkey=hotkey))
    text = new.text or text_of(run, mapping, key)
    return NewQuestion(key=key, text=text, scale=new.scale, categories=categories)


def text_of(run: ImportRun, mapping: Mapping, key: str) -> str:
    """The words of a question that the file brings: its own, those of the lead, or its key."""
    told = run.summary["questions"].get(key, {}).get("text", "")
    of_lead = "" if mapping.every_question else mapping.question_text
    return told or of_lead or key


def discard(*, run: ImportRun) -> bool:
    """Forget a run that has written nothing, with its file."""
    gone, _ = (
        ImportRun.objects.filter(pk=run.pk, rows_done=0)
        .exclude(state__in=(State.WRITING, State.DONE))
        .delete()
    )
    if gone:
        imports_uploads.remove(run.path)
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
