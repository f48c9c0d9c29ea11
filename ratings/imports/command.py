"""Import of a file without the wizard: options that are not set are guessed."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Mapping as Map
from pathlib import Path
from typing import IO, Any

from django.utils import translation
from django.utils.text import slugify

from core.api.errors import BadRequest
from projects.models import Project
from projects.services import question_validation
from projects.services.project_validation import InvalidProjectChange
from projects.services.question_validation import InvalidQuestions
from ratings.label_normalization import get_normal_form
from ratings.models import ImportRun

from . import jobs, leases, services, uploads
from .command_options import FileResult, ImportOptions, add_check_results
from .interpretation import FileInterpretation, InterpretedQuestion, format_command_doubt
from .mapping import key_matching
from .mapping.column_options import InvalidImportOptions, apply_options
from .mapping.import_mapping import ImportMapping
from .mapping.layout_guess import TableHead
from .problems import (
    UnreadableFileError,
    build_error_group,
    describe_write_failure,
    group_problems,
)
from .readers import SOURCES
from .services import NewQuestionScale
from .values.label_interpretation import quote_labels
from .values.label_notes import (
    MISSING,
    NO_ORDER,
    OPEN_SCALE,
    LabelNote,
    format_command_note,
)
from .values.label_order import ALPHABET, OPTION, guess_order

__all__ = ["FileResult", "ImportOptions", "import_file"]

POLL_SECONDS = 0.2  # seconds between two queries of a run that another worker has
FALLBACK_LABELS = ("other", "none of these")
SINGLE_LABEL_NOTE = (
    "question '{key}' has one label in this file, '{label}', and a question needs two categories: "
    "'{other}' was added; --order names all of them, and Set-up changes them later"
)


def import_file(
    file: IO[bytes],
    path: Path,
    *,
    project: Project | None,
    by: Any,
    options: ImportOptions,
    show_understood: Callable[[FileInterpretation], None] = lambda understood: None,
) -> FileResult:
    """Validate a file, and write it unless it has problems or this is a dry run.

    ``project`` is None if the import creates the project. ``path`` is the name of the file in
    messages. ``show_understood`` is called with the interpretation before any rating is stored.
    """
    result = FileResult(path)
    with translation.override("en"):
        try:
            run = services.create_run(
                file=file, name=path.name, project=project, by=by, source=options.source
            )
        except UnreadableFileError as error:
            result.add_problem_group(build_error_group(error))
            return result
        try:
            _run_wizard_steps(run, result, options, by=by, show_understood=show_understood)
        finally:
            # This does nothing for a finished run; an invalid one is not needed any more.
            services.discard_run(run=run)
    return result


def _run_wizard_steps(
    run: ImportRun,
    result: FileResult,
    options: ImportOptions,
    *,
    by: Any,
    show_understood: Callable[[FileInterpretation], None],
) -> None:
    """Run the steps of the wizard, adding problems to the result.

    ``show_understood`` is called with what was understood of the file, once this is known.
    """
    if not _apply_options_and_check(run, result, options):
        if result.understood:
            show_understood(result.understood)
        return
    assert result.understood is not None
    new_scales = _build_new_scales(run, result, options)
    result.understood.questions = _interpret_questions(run, new_scales)
    show_understood(result.understood)
    if result.problems:
        return
    try:
        if not options.dry_run:
            result.project = services.start_writing(
                run=run,
                duplicate_policy=options.duplicate_policy or "last",
                new_scales=new_scales,
                by=by,
            )
            _check_or_write_file(run)
    except (InvalidProjectChange, BadRequest) as error:
        result.add_problem(_join_messages(error.fields))
        return
    except InvalidQuestions as error:
        result.add_problem(_join_messages(error.problems))
        return
    result.stored = options.dry_run or run.state == ImportRun.State.DONE
    if run.state == ImportRun.State.FAILED:
        result.add_problem(describe_write_failure(*run.summary["stop_reason"]))


def _apply_options_and_check(run: ImportRun, result: FileResult, options: ImportOptions) -> bool:
    """Apply the options and check the file; return False after adding problems to the result."""
    try:
        mapping, head = _build_mapping(run, options)
    except UnreadableFileError as error:
        result.add_problem_group(build_error_group(error))
        return False
    except InvalidImportOptions as error:
        result.add_problem(str(error), kind="options")
        return False
    result.source = mapping.source
    result.understood = FileInterpretation.from_mapping(mapping, head)
    if head is not None and mapping.doubt:
        result.add_problem(format_command_doubt(mapping, head), kind=mapping.doubt)
        return False
    services.start_check(run=run, mapping=mapping)
    _check_or_write_file(run)
    _recheck_with_suggested_members(run, options)
    add_check_results(run, result, options)
    return run.state == ImportRun.State.CHECKED and not result.problems


def _interpret_questions(
    run: ImportRun, new_scales: Map[str, NewQuestionScale]
) -> dict[str, InterpretedQuestion]:
    """Return question key -> its labels with numbers of ratings, and missing-value texts.

    A new question also has the scale and the order of its labels.
    """
    questions: dict[str, InterpretedQuestion] = {}
    for key, details in services.list_questions(run):
        missing = [
            code
            for note in details["notes"]
            if note["kind"] == MISSING
            for code in note["values"]["codes"]
        ]
        questions[key] = InterpretedQuestion(details["labels"], missing=missing)
        if key in new_scales:
            questions[key].scale = new_scales[key].scale
            questions[key].order = list(new_scales[key].categories)
            questions[key].order_basis = new_scales[key].order_basis
    return questions


def _recheck_with_suggested_members(run: ImportRun, options: ImportOptions) -> None:
    """Match raters with suggested members if the options allow it, and check the file again."""
    mapping = ImportMapping.from_run(run)
    suggested_members = run.summary.get("suggested_members", {}) if options.match_raters else {}
    new_members = {
        key: user_id for key, user_id in suggested_members.items() if key not in mapping.members
    }
    if new_members and run.state == ImportRun.State.CHECKED:
        mapping.members |= new_members
        services.start_check(run=run, mapping=mapping)
        _check_or_write_file(run)


def _check_or_write_file(run: ImportRun) -> None:
    """Check or write the file in this process, or wait for the worker that has claimed the run."""
    while run.state in leases.WORKING_STATES:
        jobs.run_import(run.pk)
        run.refresh_from_db()
        if run.state in leases.WORKING_STATES:
            time.sleep(POLL_SECONDS)


# --- mapping


def _build_mapping(
    run: ImportRun, options: ImportOptions
) -> tuple[ImportMapping, TableHead | None]:
    """Return the run's mapping with the options applied, and the head of a table or None.

    Raises InvalidImportOptions or UnreadableFileError.
    """
    if options.encoding or options.sheets:
        services.reread_file(
            run=run,
            encoding=options.encoding or run.mapping["encoding"],
            delimiter="",
            sheets=options.sheets,
        )
    mapping = ImportMapping.from_run(run)
    _apply_value_options(mapping, options)
    _apply_member_and_question_options(run, mapping, options)
    source = SOURCES[mapping.source]
    if source.has_encoding and not mapping.encoding:
        (group,) = group_problems([run.summary["encoding_problem"]], {})
        raise InvalidImportOptions(group.format())
    head = source.read_head(uploads.get_absolute_path(run.path), mapping)
    if head is None:
        if options.columns:
            raise InvalidImportOptions(f"a file of {source.name} has no columns to map")
        return mapping, None
    apply_options(
        mapping,
        head,
        columns=options.columns,
        layout=options.layout,
        rater=options.rater,
        duplicates=options.duplicate_policy,
    )
    _select_question(run, mapping, head, options)
    return mapping, head


def _apply_value_options(mapping: ImportMapping, options: ImportOptions) -> None:
    """Apply the options for project name, times, default rater and labels to the mapping."""
    mapping.project_name = options.project_name
    mapping.zone = options.zone or mapping.zone
    mapping.date_order = options.date_order or mapping.date_order
    mapping.default_rater = options.rater or mapping.default_rater
    mapping.missing = list(options.labels.missing)
    # A label that the order names is no code for a missing value.
    mapping.not_missing = [*options.labels.not_missing, *options.order]
    mapping.similar_labels = options.labels.similar


def _apply_member_and_question_options(
    run: ImportRun, mapping: ImportMapping, options: ImportOptions
) -> None:
    """Apply the options for members and question keys to the mapping.

    Raises InvalidImportOptions for an unknown user and for an invalid question key.
    """
    user_ids = {
        user.username: user.pk for user in key_matching.get_matchable_users(run.project, run.by)
    }
    for key, username in options.members:
        if username not in user_ids:
            raise InvalidImportOptions(
                f"'{username}' is no member; one of {', '.join(user_ids) or 'nobody'}"
            )
        mapping.members[key] = user_ids[username]
    for key, project_key in options.questions:
        if not question_validation.KEY_PATTERN.fullmatch(project_key):
            raise InvalidImportOptions(f"'{project_key}' cannot be the key of a question")
        mapping.questions[key] = project_key


def _select_question(
    run: ImportRun, mapping: ImportMapping, head: TableHead, options: ImportOptions
) -> None:
    """Set in ``mapping`` the question that the labels of a table answer.

    It is that of the option, that named like the column, or the only question of the project. No
    question is set where the file names the questions and the option is empty. Raises
    InvalidImportOptions for an invalid key, and if the project has several questions and none was
    named.
    """
    is_named = mapping.layout == "long" and "question" in mapping.columns
    if (is_named or mapping.has_column_questions) and not options.question:
        mapping.use_file_questions = True
        return
    mapping.use_file_questions = False
    label_at = mapping.columns.get("label") if mapping.layout == "long" else None
    name = head.names[label_at] if label_at is not None else ""
    key = options.question or slugify(name) or "label"
    if not question_validation.KEY_PATTERN.fullmatch(key):
        raise InvalidImportOptions(f"'{key}' cannot be the key of a question")
    mapping.question_key, mapping.question_text = key, name or key
    if run.project is None:
        return
    question_ids = {question.key: question.pk for question in run.project.questions.all()}
    mapping.question_id = question_ids.get(key)
    if mapping.question_id is None and not options.question and len(question_ids) == 1:
        mapping.question_id = next(iter(question_ids.values()))
    elif mapping.question_id is None and not options.question and question_ids:
        raise InvalidImportOptions(
            f"name the question that is answered by --question: {', '.join(question_ids)}"
        )


# --- new questions


def _build_new_scales(
    run: ImportRun, result: FileResult, options: ImportOptions
) -> dict[str, NewQuestionScale]:
    """Return the scales of the questions to create; add a problem for each unusable option.

    A scale is empty if only the user can know it.
    """
    new_scales: dict[str, NewQuestionScale] = {}
    keys = services.list_new_question_keys(run)
    for key in {key for key in options.scales if key} - set(keys):
        message = f"--scale: the file has no new question '{key}'; it has {', '.join(keys)}"
        result.add_problem(message, kind="scale")
    for key in keys:
        labels = list(run.summary["questions"][key]["labels"])
        try:
            scale = _choose_scale(key, labels, options, is_only=len(keys) == 1)
        except InvalidImportOptions as error:
            result.add_problem(f"question '{key}': {error}", kind="scale")
            scale = NewQuestionScale("", labels)
        order = list(scale.categories)
        new_scales[key] = scale
        if len(labels) == 1 and len(order) == 2:
            result.notes.append(SINGLE_LABEL_NOTE.format(key=key, label=labels[0], other=order[1]))
        result.labels[key] |= {
            "scale": scale.scale, "order": order, "order_basis": scale.order_basis,
        }  # fmt: skip
    if not result.problems:
        _add_problem_on_missing_scales(new_scales, result)
    return new_scales


def _choose_scale(
    key: str, labels: list[str], options: ImportOptions, *, is_only: bool
) -> NewQuestionScale:
    """Return the scale of a new question, from the options or else guessed from its labels.

    Raises InvalidImportOptions if an order is needed and unknown, or if it lacks labels of the only
    question (``is_only``).
    """
    scale = options.scales.get(key, options.scales.get("", ""))
    guess = guess_order(labels)
    spellings = {get_normal_form(label): label for label in labels}
    named_order = [spellings.get(get_normal_form(label), label) for label in options.order]
    missing = [label for label in labels if label not in named_order]
    if options.order and not missing:
        return NewQuestionScale(scale or "ordinal", named_order, order_basis=OPTION)
    if options.order and is_only:
        raise InvalidImportOptions(f"--order does not name the labels {', '.join(missing)}")
    if scale == "ordinal" and guess.basis == ALPHABET and len(labels) > 2:
        note = LabelNote(NO_ORDER, {"labels": quote_labels(guess.labels)})
        raise InvalidImportOptions(format_command_note(note.to_json()))
    categories = list(guess.labels)
    if len(categories) == 1:
        # A question needs two categories: add one, so that no rating is lost.
        categories.append(FALLBACK_LABELS[categories[0] == FALLBACK_LABELS[0]])
    guessed_scale = "" if guess.is_scale_open else guess.scale
    return NewQuestionScale(scale or guessed_scale, categories, order_basis=guess.basis)


def _add_problem_on_missing_scales(
    new_scales: Map[str, NewQuestionScale], result: FileResult
) -> None:
    """Add a problem if questions have no scale."""
    keys = [key for key, scale in new_scales.items() if not scale.scale]
    if not keys:
        return
    each = ",".join(f"{key}=ordinal" for key in keys)
    values = {"each": f", or one for each question: --scale {each}" if len(new_scales) > 1 else ""}
    message = format_command_note(LabelNote(OPEN_SCALE, values).to_json())
    result.add_problem(f"question {', '.join(keys)}: {message}", kind="scale", count=len(keys))


def _join_messages(messages: Any) -> str:
    """Return all messages of a nested dictionary as one text."""
    if isinstance(messages, dict):
        return " ".join(_join_messages(inner) for inner in messages.values())
    return str(messages)
