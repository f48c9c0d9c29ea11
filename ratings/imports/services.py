"""Actions on an import run: create, read again, check, write, discard."""

from __future__ import annotations

import logging
from collections.abc import Mapping as Map
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import IO, Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from core.jobs.dispatch import start_task
from core.jobs.lease import LeaseLost
from projects.models import Category, Project, Question
from projects.services.projects import continue_guideline_numbering, create_project
from projects.services.question_validation import NewCategory, NewQuestion
from projects.services.questions import add_question
from projects.services.rater_changes import MAX_KEY_LENGTH
from ratings.files import shared_folders, upload_limits
from ratings.label_normalization import parse_number
from ratings.models import ImportRun

from . import leases, uploads
from .mapping import key_matching
from .mapping.import_mapping import ImportMapping
from .readers import guess_mapping
from .values.label_notes import StoredQuestion

logger = logging.getLogger(__name__)

State = ImportRun.State
HOTKEYS = "123456789"


class NewQuestionScale(NamedTuple):
    """Scale, ordered labels and text of a question that the import creates.

    ``order_basis``: basis of a guessed order (see `label_order`), or empty.
    """

    scale: str
    categories: Sequence[str]
    text: str = ""
    order_basis: str = ""


def create_run(
    *, file: IO[bytes], name: str, project: Project | None, by: Any, source: str = ""
) -> ImportRun:
    """Store a file and create its run, with guesses for its columns.

    Raises UnreadableFileError, storing nothing, if the file cannot be read. ``project`` is None if
    the import creates it. ``source`` is a name of SOURCES; it is detected from the content if it is
    empty.
    """
    stored = uploads.store_upload(file)
    try:
        mapping = ImportMapping(source=source or stored.source, encoding=stored.encoding or "")
        mapping.default_rater = _build_rater_key(name)
        _guess_mapping(mapping, uploads.get_absolute_path(stored.path), project)
        key_matching.add_earlier_matches(mapping, project)
        encoding_error = stored.encoding_error
        return _save_run(
            project=project,
            by=by,
            file_name=upload_limits.clean_upload_name(name),
            path=stored.path,
            bytes_total=stored.size,
            mapping=mapping.to_json(),
            summary={"encoding_problem": encoding_error.problem.to_json()}
            if encoding_error
            else {},
        )
    except BaseException:
        uploads.delete_upload(stored.path)
        raise


@transaction.atomic
def _save_run(**columns: Any) -> ImportRun:
    """Create a run; store its file in the database if other hosts need it.

    In that case, also delete old files that belong to no run.
    """
    run = ImportRun.objects.create(
        **columns,
        folder=shared_folders.get_or_create_folder_token(shared_folders.IMPORTS),
        in_database=uploads.needs_database_copy(columns["path"]),
    )
    if run.in_database:
        uploads.store_in_database(run)
        shared_folders.delete_abandoned_files(
            uploads.FOLDER, ImportRun.objects.values_list("path", flat=True)
        )
    return run


def _guess_mapping(mapping: ImportMapping, path: Path, project: Project | None) -> None:
    """Add the guessed roles of the columns, and the project's zone for a table.

    ``project`` is None if the import creates it.
    """
    head = guess_mapping(mapping, path, labels=_get_project_labels(project))
    if head is not None and project is not None:
        mapping.zone = project.time_zone


def _build_rater_key(file_name: str) -> str:
    """Return the rater key for a file without raters: the file's name without extension.

    Tools name a person's file after the person.
    """
    stem = PurePath(upload_limits.clean_upload_name(file_name)).name.split(".")[0].strip()
    return stem[:MAX_KEY_LENGTH].strip() or "file"


def _get_project_labels(project: Project | None) -> set[str]:
    if project is None:
        return set()
    categories = Category.objects.filter(question__project=project, retired=False)
    return set(categories.values_list("label", flat=True))


def reread_file(
    *, run: ImportRun, encoding: str, delimiter: str, source: str = "", sheets: str = ""
) -> bool:
    """Read the file in another way and guess again; return False if the run is in a later state.

    An empty delimiter is guessed, an empty source stays as it is; ``sheets`` is a key of
    SHEET_CHOICES or empty. Raises UnreadableFileError, having changed nothing, if the file cannot
    be read like this.
    """
    mapping = ImportMapping.from_run(run)
    mapping.encoding, mapping.delimiter = encoding, delimiter
    mapping.sheets = sheets
    if source and source != mapping.source:
        mapping.source, mapping.delimiter = source, ""
    _guess_mapping(mapping, uploads.ensure_local_file(run), run.project)
    return _update_run_in_state(run, (State.MAPPING,), mapping=mapping.to_json())


def start_check(*, run: ImportRun, mapping: ImportMapping | None = None) -> bool:
    """Start the check of the file; return False if the run's state does not allow it.

    ``mapping`` replaces the stored mapping, unless it is None.
    """
    changes = {} if mapping is None else {"mapping": mapping.to_json()}
    restartable_states = (State.MAPPING, State.INVALID, State.CHECKED, State.FAILED)
    reset_fields = {
        "bytes_read": 0,
        "rows_done": 0,
        "rows_total": 0,
        "problems": [],
        "lease": "",
        "attempts": 0,
    }
    return _update_run_in_state(
        run, restartable_states, state=State.CHECKING, **reset_fields, **changes
    )


def reopen_columns(*, run: ImportRun) -> bool:
    """Return to the selection of columns, cancelling a check in progress.

    Returns False if the run's state does not allow it.
    """
    return _update_run_in_state(
        run,
        (State.CHECKING, State.INVALID, State.CHECKED),
        state=State.MAPPING,
        lease="",
        problems=[],
    )


@transaction.atomic
def start_writing(
    *, run: ImportRun, duplicate_policy: str, new_scales: Map[str, NewQuestionScale], by: Any
) -> Project:
    """Create the project and questions that are new, start the writing, and return the project.

    ``duplicate_policy`` is a key of DUPLICATE_POLICIES or "again"; ``new_scales`` maps the key of
    each new question to its scale. Raises InvalidProjectChange, InvalidQuestions or BadRequest for
    an invalid project, question or match, LeaseLost for a run in another state: nothing changes.
    """
    mapping = ImportMapping.from_run(run)
    mapping.duplicate_policy = duplicate_policy
    question = get_single_question(run, mapping)
    project = run.project
    keys = dict.fromkeys([*list_new_question_keys(run), *new_scales])
    questions = [_build_question(run, mapping, key, new_scales[key]) for key in keys]
    if project is None:
        project = create_project(
            by=by, name=mapping.project_name, time_zone=mapping.time_zone, questions=questions
        )
    else:
        for new_question in questions:
            add_question(project=project, question=new_question, by=by)
    key_matching.create_matched_raters(project, mapping.members, by=by)
    guidelines_version = run.summary.get("guidelines", 0)
    continue_guideline_numbering(project=project, number=guidelines_version, by=by)
    if question is None and len(run.summary.get("questions", {})) == 1:
        question = project.questions.filter(key__in=run.summary["questions"]).first()
    changes = {
        "state": State.WRITING,
        "project": project,
        "question": question,
        "mapping": mapping.to_json(),
        "lease": "",
        "attempts": 0,
        "rows_done": 0,
        "heartbeat_at": timezone.now(),
    }
    if not _update_run_in_state(run, (State.CHECKED,), **changes):
        raise LeaseLost
    return project


def list_new_question_keys(run: ImportRun) -> list[str]:
    """Return the keys of questions with labels that the project does not have yet."""
    return [
        key for key, details in list_questions(run) if not details["exists"] and details["labels"]
    ]


def list_questions(run: ImportRun) -> list[tuple[str, StoredQuestion]]:
    """Return (key, details from the check) of the file's questions, in the order of the file."""
    questions: dict[str, StoredQuestion] = run.summary.get("questions", {})
    return sorted(questions.items(), key=lambda question: question[1]["position"])


def get_single_question(run: ImportRun, mapping: ImportMapping) -> Question | None:
    """Return the existing question to which all rows belong.

    None if it does not exist yet or if there are several.
    """
    if run.question or run.project is None or mapping.use_file_questions or not mapping.question_id:
        return run.question
    return run.project.questions.filter(pk=mapping.question_id).first()


def get_answered_question_ids(run: ImportRun) -> list[int]:
    """Return the ids of the questions that the file answers."""
    assert run.project is not None  # constraint import_writes_into_project
    questions = run.project.questions.filter(key__in=run.summary.get("questions", {}))
    ids = set(questions.values_list("pk", flat=True))
    return sorted(ids | {run.question.pk} if run.question else ids)


def _build_question(
    run: ImportRun, mapping: ImportMapping, key: str, scale: NewQuestionScale
) -> NewQuestion:
    """Return the new question with its categories and hotkeys."""
    values = [parse_number(label) for label in scale.categories]
    is_numeric = None not in values
    categories = []
    for index, label in enumerate(scale.categories):
        hotkey = HOTKEYS[index : index + 1]
        value = values[index] if is_numeric else None
        categories.append(NewCategory(label, value=value, hotkey=hotkey))
    text = scale.text or get_question_text(run, mapping, key)
    return NewQuestion(key=key, text=text, scale=scale.scale, categories=categories)


def get_question_text(run: ImportRun, mapping: ImportMapping, key: str) -> str:
    """Return the text of a new question: from the file, from the lead, or its key."""
    file_text = run.summary["questions"].get(key, {}).get("text", "")
    lead_text = "" if mapping.use_file_questions else mapping.question_text
    return file_text or lead_text or key


def discard_run(*, run: ImportRun) -> bool:
    """Delete a run that has written nothing, and its file; return whether it was deleted."""
    n_deleted, _ = (
        ImportRun.objects.filter(pk=run.pk, rows_done=0)
        .exclude(state__in=(State.WRITING, State.DONE))
        .delete()
    )
    if n_deleted:
        uploads.delete_upload(run.path)
    return bool(n_deleted)


def _update_run_in_state(run: ImportRun, states: Sequence[str], **changes: Any) -> bool:
    """Update the run if its state is one of ``states``; return whether it was updated.

    In a working state, a worker is woken after the commit.
    """
    if not ImportRun.objects.filter(pk=run.pk, state__in=states).update(**changes):
        return False
    for name, value in changes.items():
        setattr(run, name, value)
    if run.state in leases.WORKING_STATES:
        transaction.on_commit(lambda: wake_worker(run.pk))
    return True


def wake_worker(run_id: int) -> None:
    """Start the task that runs the import; if the message is lost, a periodic task starts it."""
    start_task("ratings.tasks.run_import", run_id)
