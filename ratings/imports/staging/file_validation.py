"""Validate a whole file: report every problem with its line, and stage valid records.

The only database row written here is the run's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from projects.models import Item, Project, Question, Rater
from projects.services import pseudonyms
from projects.services.item_upsert import is_same_json
from ratings.imports import zip_archives
from ratings.imports.batch_writer import count_changed_ratings
from ratings.imports.mapping import key_matching
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.problems import ProblemList, UnreadableFileError, truncate_text
from ratings.imports.readers import TABLE_SOURCES, FileReader
from ratings.imports.records import StoredSkippedRecords
from ratings.imports.values.label_notes import StoredQuestion
from ratings.imports.zip_archives import MediaArchive
from ratings.label_normalization import get_normal_form

from .database import Heartbeat, StagingDatabase, format_timestamp
from .queries import ConflictingItem, StagedRows
from .row_validation import RecordValidator

RECORDS_PER_BATCH = 5000  # records between two heartbeats
ITEMS_PER_MEDIA_BATCH = 50  # items whose media files are read between two heartbeats
MAX_REPEATS = 1000  # lines that one rater may have for one item
PREVIEW_ROWS = 20
MAX_EXAMPLES = 20


@dataclass
class FileReport:
    """Result of the validation of a file.

    All fields but ``problems`` are stored in `ImportRun.summary`.

    ``rows`` counts ratings, ``contents`` items of which the file has more than the key, ``skips``
    items that a rater skipped. ``questions`` are by key. ``question_keys`` are (question key in the
    file, in the project). ``unmatched_raters`` are people whom the project does not have,
    ``suggested_members`` maps raters to user ids (see `key_matching`). ``similar_raters`` and
    ``similar_items`` are those whose keys differ only in capital letters, blanks, or as `1 / 1.0`.
    """

    problems: ProblemList
    rows: int = 0
    contents: int = 0
    gold_answers: int = 0
    skips: int = 0
    items: int = 0
    raters: int = 0
    new_items: int = 0
    new_raters: int = 0
    changed_items: int = 0
    changed_ratings: int = 0
    n_missing_media: int = 0
    guidelines: int = 0  # the highest version in the file
    n_duplicates: int = 0
    duplicate_examples: list[list[str]] = field(default_factory=list)
    n_without_time: int = 0
    repeats: int = 0
    n_other_questions: int = 0
    questions: dict[str, StoredQuestion] = field(default_factory=dict)
    question_keys: list[tuple[str, str]] = field(default_factory=list)
    unmatched_raters: list[str] = field(default_factory=list)
    suggested_members: dict[str, int] = field(default_factory=dict)
    similar_raters: list[str] = field(default_factory=list)
    similar_items: list[str] = field(default_factory=list)
    skipped_records: dict[str, StoredSkippedRecords] = field(default_factory=dict)
    preview: list[list[Any]] = field(default_factory=list)
    repeat_examples: list[list[Any]] = field(default_factory=list)

    @property
    def n_steps(self) -> int:
        """Return the number of steps of the writing."""
        return self.rows + self.contents + self.skips


def validate_and_stage_file(
    reader: FileReader,
    mapping: ImportMapping,
    *,
    project: Project | None,
    question: Question | None,
    staging: StagingDatabase,
    heartbeat: Heartbeat,
    by: Any = None,
    archive: MediaArchive | None = None,
) -> FileReport:
    """Read, validate and stage the whole file on behalf of ``by``; return the report.

    ``staging`` is finished if no record has a problem. Problems of repeats, keys, contents and
    media are found in its rows afterwards, so write them only if the report has no problems.
    ``project`` is None if the import creates it. ``question`` is the existing question that all
    ratings answer, or None. ``archive`` has the media files that the file refers to, if it came
    with one. Raises what ``heartbeat`` raises, or sqlite3.OperationalError where that ends a query.
    """
    selected_question = None
    if not mapping.use_file_questions:
        selected_question = question.key if question else mapping.question_key
    validator = RecordValidator(
        staging,
        questions=_get_project_questions(project, question),
        selected_question=selected_question,
        columns=reader.columns,
        # Only tables have columns that the lead selected.
        allow_free_text=mapping.use_file_questions and mapping.source not in TABLE_SOURCES,
        project_rater_keys=key_matching.resolve_matches(project, mapping.members, by=by).raters,
        project_question_keys=mapping.questions,
    )
    report = FileReport(validator.problems)
    for n_records, record in enumerate(reader.iter_records(), start=1):
        validator.validate_and_stage(record)
        if n_records % RECORDS_PER_BATCH == 0:
            _flush_batch(report, staging)
            heartbeat()
    _flush_batch(report, staging)
    validator.interpret_labels(mapping.label_options)
    _skip_free_text_questions(report, validator, staging)
    _merge_labels(report, validator, staging)
    is_usable = bool(report.rows or report.contents or report.gold_answers or report.skips)
    _add_final_problems(validator, reader, is_usable=is_usable)
    report.question_keys = list(validator.resolved_question_keys.items())
    report.n_other_questions = validator.n_other_questions
    report.skipped_records = validator.skipped_records.to_json()
    _add_questions(report, validator)
    if not validator.problems:
        staged_rows = _finish_staging(staging, validator)
        create_missing, columns = mapping.create_missing, reader.columns
        _add_statistics(
            report, staged_rows, project=project, create_missing=create_missing, columns=columns
        )
        _count_changed_items(report, staged_rows, project, archive=archive, heartbeat=heartbeat)
        if project is not None and report.new_items < report.items:
            report.changed_ratings = count_changed_ratings(staged_rows, project, heartbeat)
        _add_new_raters_and_suggestions(report, staged_rows, project, by)
    return report


def _finish_staging(staging: StagingDatabase, validator: RecordValidator) -> StagedRows:
    """Finish the staging database with the questions and labels of the file; return its rows."""
    questions = list(validator.labels_by_question.values())
    staging.finish(
        [(labels.staged_id, labels.key) for labels in questions],
        [
            (label_id, labels.staged_id, label)
            for labels in questions
            for label, label_id in labels.get_label_ids().items()
        ],
    )
    return StagedRows(staging.db)


def _add_new_raters_and_suggestions(
    report: FileReport, staged_rows: StagedRows, project: Project | None, by: Any
) -> None:
    """Add raters of the file that the project does not have, and suggested members, to the report.

    Also add groups of rater keys, and of item keys, that are written alike.
    """
    person_names = staged_rows.get_person_names(key_matching.MAX_CHECKED_RATERS)
    report.suggested_members = key_matching.suggest_matches(project, person_names.items(), by=by)
    similar: dict[str, list[str]] = {}
    for key in person_names:
        form = get_normal_form("".join(key.casefold().split()))
        similar.setdefault(form, []).append(key)
    groups = [" / ".join(keys) for keys in similar.values() if len(keys) > 1]
    report.similar_items = staged_rows.list_similar_items(MAX_EXAMPLES)
    report.similar_raters = groups[: key_matching.MAX_LISTED_RATERS]
    known_keys = set()
    if project is not None:
        known_keys = set(Rater.objects.filter(project=project).values_list("key", flat=True))
        known_keys |= set(pseudonyms.get_pseudonyms(project))
    new_keys = [key for key in person_names if key not in known_keys]
    report.unmatched_raters = new_keys[: key_matching.MAX_LISTED_RATERS]


def _get_project_questions(
    project: Project | None, question: Question | None
) -> dict[str, Question]:
    """Return the questions that ratings may answer, by key: ``question`` and the project's."""
    questions = {question.key: question} if question else {}
    if project is not None:
        for project_question in project.questions.all():
            questions.setdefault(project_question.key, project_question)
    return questions


def _flush_batch(report: FileReport, staging: StagingDatabase) -> None:
    """Add the batch to the report and write it; only discard it once there are problems."""
    report.rows += len(staging.ratings)
    report.contents += len(staging.contents)
    report.gold_answers += len(staging.gold_answers)
    report.skips += len(staging.skips)
    staging.flush(save=not report.problems)


def _skip_free_text_questions(
    report: FileReport, validator: RecordValidator, staging: StagingDatabase
) -> None:
    """Skip all rows of questions whose answers turned out to be free texts."""
    for key, labels in list(validator.labels_by_question.items()):
        if labels.is_free_text:
            n_deleted = staging.delete_question(labels.staged_id)
            report.rows -= n_deleted
            lines = [line for places in labels.places.values() for line, _column in places]
            validator.skipped_records.add_lines(lines, "free_text", count=n_deleted)
            del validator.labels_by_question[key]


def _merge_labels(report: FileReport, validator: RecordValidator, staging: StagingDatabase) -> None:
    """Replace label ids in the staged rows by those of the interpreted labels.

    Subtracts the rows whose label means "no answer" from the report. Staged rows change only if
    the file has no problems.
    """
    merged: dict[int, int | None] = {}
    for labels in validator.labels_by_question.values():
        label_ids = labels.get_label_ids()
        for text, label in labels.interpretation.labels.items():
            label_id = None if label is None else label_ids[label]
            if label_id != labels.ids[text]:
                merged[labels.ids[text]] = label_id
        report.rows -= sum(labels.counts[text] for text in labels.list_missing_codes())
    if not validator.problems:
        staging.merge_labels(merged)


def _add_final_problems(validator: RecordValidator, reader: FileReader, *, is_usable: bool) -> None:
    """Add problems that show only at the end; ``is_usable``: something can be imported."""
    labels = {
        label
        for question_labels in validator.labels_by_question.values()
        for label in question_labels.ids
    }
    problem = reader.find_final_problem(
        labels, is_usable=is_usable or bool(validator.skipped_records.counts)
    )
    had_problems = bool(validator.problems)
    if problem and problem.kind != "only_names":
        validator.validate_and_stage(problem)
    if had_problems or is_usable or validator.problems:
        return
    if validator.n_other_questions:
        other_keys = validator.format_other_questions()
        validator.problems.add(
            "question_missing", None, question=validator.selected_question, found=other_keys
        )
    elif problem:
        validator.validate_and_stage(problem)
    else:
        validator.problems.add(
            "nothing_usable", None, skipped_records=validator.skipped_records.to_json()
        )


def _add_questions(report: FileReport, validator: RecordValidator) -> None:
    """Add the questions of the file to the report."""
    for position, (key, labels) in enumerate(validator.labels_by_question.items()):
        report.questions[key] = {
            # PostgreSQL does not preserve the order of keys in a JSON object.
            "position": position,
            "exists": not labels.is_new,
            "text": truncate_text(labels.text),
            "labels": labels.count_labels(),
            "notes": [note.to_json() for note in labels.interpretation.notes],
        }


def _add_statistics(
    report: FileReport,
    staged_rows: StagedRows,
    *,
    project: Project | None,
    create_missing: bool,
    columns: Mapping[str, str],
) -> None:
    """Add counts, examples and a preview to the report, and problems of repeats and keys."""
    for rating in staged_rows.list_excess_repeats(MAX_REPEATS, limit=MAX_EXAMPLES):
        report.problems.add(
            "repeats_many", rating.line, item=rating.item, rater=rating.rater, limit=MAX_REPEATS
        )
    for item in staged_rows.iter_conflicting_items():
        _add_conflict_problem(report.problems, item, columns)
    report.items, report.new_items = _count_and_validate_keys(
        report.problems, staged_rows, project, Item, create_missing=create_missing
    )
    report.raters, report.new_raters = _count_and_validate_keys(
        report.problems, staged_rows, project, Rater, create_missing=create_missing
    )
    report.contents = staged_rows.count("content")
    report.gold_answers = staged_rows.count("gold")
    report.guidelines = staged_rows.get_newest_guidelines()
    report.n_duplicates = staged_rows.count_items_with_repeated_content()
    report.duplicate_examples = staged_rows.list_duplicates(MAX_EXAMPLES)
    report.n_without_time = staged_rows.count("without_time")
    report.repeats = staged_rows.count_repeats()
    for rating in staged_rows.list_first_ratings(PREVIEW_ROWS):
        rated_at, comment = format_timestamp(rating.rated_at), truncate_text(rating.comment or "")
        cells = [rating.line, rating.item, rating.rater, rating.label]
        report.preview.append([*cells, rated_at, comment, rating.question])
    for first, second in staged_rows.list_repeats(MAX_EXAMPLES):
        report.repeat_examples.append(
            [first.item, first.rater, first.line, first.label, second.line, second.label]
        )


def _add_conflict_problem(
    problems: ProblemList, item: ConflictingItem, columns: Mapping[str, str]
) -> None:
    """Add the problem of an item with two contents, naming the first column that differs."""
    is_attribute = item.bodies[0] == item.bodies[1]
    first, second = item.attributes if is_attribute else item.bodies
    field_name = next(name for name in [*first, *second] if first.get(name) != second.get(name))
    first_text, second_text = (str(content.get(field_name, "")) for content in (first, second))
    field_name = columns.get(field_name, field_name)  # a column `post` may be the text
    has_key = "item" in columns or not item.bodies[0]
    problems.add(
        "conflicting_item",
        item.lines[1],
        field_name,
        # The key of an item without one is a digest, which the user has never seen.
        value=item.key if has_key else str(next(iter(item.bodies[0].values()))),
        field=field_name,
        found=second_text,
        wanted=first_text,
        other=item.lines[0],
        step=("leave_out" if has_key else "choose_item") if columns else "",
    )


def _count_changed_items(
    report: FileReport,
    staged_rows: StagedRows,
    project: Project | None,
    *,
    archive: MediaArchive | None,
    heartbeat: Heartbeat,
) -> None:
    """Add the numbers of items with changed content and with missing media files to the report.

    If an archive came with the file, each missing media file is a problem.
    """
    size = ITEMS_PER_MEDIA_BATCH if archive else RECORDS_PER_BATCH
    for batch in staged_rows.iter_content(0, size, only_media=project is None):
        heartbeat()
        bodies = {
            content.item: json.loads(content.body) for content in batch if content.body is not None
        }
        try:
            missing = zip_archives.replace_names_by_urls(project, bodies, archive)
        except UnreadableFileError as error:
            report.problems.add_fatal(error.problem)
            return
        if archive:
            lines = {content.item: content.line for content in batch}
            for key, name in missing.items():
                report.problems.add("media_missing", lines[key], value=name)
        else:
            report.n_missing_media += len(missing)
        if project is None:
            continue
        existing_items = Item.objects.filter(project=project, key__in=bodies)
        for key, body in existing_items.values_list("key", "body"):
            report.changed_items += not is_same_json(body, bodies[key])


def _count_and_validate_keys(
    problems: ProblemList,
    staged_rows: StagedRows,
    project: Project | None,
    model: type[Item] | type[Rater],
    *,
    create_missing: bool,
) -> tuple[int, int]:
    """Return (number of keys in the file, number of keys the project does not have).

    Each unknown key is a problem unless new items and raters may be created.
    """
    name = model.__name__.lower()
    total = n_new = 0
    for batch in staged_rows.iter_keys(name):
        keys = [key for key, _ in batch]
        known_keys: set[str] = set()
        if project is not None:
            rows = model._default_manager.filter(project=project, key__in=keys)
            known_keys = set(rows.values_list("key", flat=True))
        total += len(keys)
        for key, line in batch:
            if key not in known_keys:
                n_new += 1
                if not create_missing:
                    problems.add(f"{name}_unknown", line, value=key)
    return total, n_new
