"""Record changes in tasks of Label Studio, by the same steps as an import."""

from __future__ import annotations

import contextlib
import datetime
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone

from core.db import bulk
from core.jobs.lease import get_leased_rows, update_leased_row
from projects.models import Question
from projects.services import pseudonyms
from ratings.imports.batch_writer import RatingGroup, RatingWriter, iter_batches
from ratings.imports.item_writer import ImportStopped
from ratings.imports.mapping import key_matching
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tools.base import Fields
from ratings.imports.records import Record
from ratings.imports.staging.database import StagingDatabase
from ratings.imports.staging.file_validation import validate_and_stage_file
from ratings.imports.staging.queries import StagedRows
from ratings.label_studio.client import LabelStudioError
from ratings.models import NO_CODE, ImportRun, LabelStudioConnection, LabelStudioObject, Revision
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

from . import remote_tasks
from .remote_tasks import RecordsReader, RemoteAnswers, RemoteTask

Kind = LabelStudioObject.Kind
ObjectKey = tuple[str, int]  # kind and ID in Label Studio
ItemAndRater = tuple[int, int]  # ids in Concord

# Comment of a rating that is withdrawn because its annotation is gone or answers less.
REASON_DELETED = "deleted in Label Studio"
BATCH_SIZE = 500
LEASE_SECONDS = 45  # longer than one request takes


def record_tasks(
    connection: LabelStudioConnection,
    tasks: Sequence[Fields],
    *,
    deleted: Sequence[LabelStudioObject] = (),
    get_users: Callable[[], Mapping[int, Fields]] = dict,
    **columns: Any,
) -> None:
    """Record the tasks, withdraw the ratings of deleted answers, and set columns of the connection.

    ``tasks`` have all their annotations and predictions; ``deleted`` are objects that Label Studio
    no longer has; ``get_users`` returns ID -> user. Raises LabelStudioError if a task cannot be
    recorded, ProjectArchived or LeaseLost; then nothing has changed.
    """
    recorder = _Recorder(connection, tasks, deleted, get_users)
    with recorder.stage() as staged_rows, transaction.atomic():
        update_leased_row(
            connection,
            get_leased_rows(connection),
            leased_until=timezone.now() + datetime.timedelta(seconds=LEASE_SECONDS),
            **columns,
        )
        counts = recorder.write(staged_rows)
        if counts:
            totals = {
                name: connection.counts.get(name, 0) + counts.get(name, 0)
                for name in (*connection.counts, *counts)
            }
            update_leased_row(connection, get_leased_rows(connection), counts=totals)


def get_single_question(
    mapping: ImportMapping, questions: Mapping[str, Question]
) -> Question | None:
    """Return the one question to which all answers belong, or None if answers name theirs.

    Raises LabelStudioError if the project no longer has the question.
    """
    if mapping.use_file_questions:
        return None
    for question in questions.values():
        if question.pk == mapping.question_id:
            return question
    raise LabelStudioError("stopped", reason="question", value=mapping.question_key or "?")


class _Recorder:
    """Finds the changes in some tasks, and records them."""

    def __init__(
        self,
        connection: LabelStudioConnection,
        tasks: Sequence[Fields],
        deleted: Sequence[LabelStudioObject],
        get_users: Callable[[], Mapping[int, Fields]],
    ) -> None:
        self.connection = connection
        self.project = connection.project
        self.by = connection.created_by
        self.deleted = deleted
        self.run = ImportRun(project=self.project, by=self.by, mapping=connection.mapping)
        self.mapping = ImportMapping.from_run(self.run)
        self.questions = {question.key: question for question in self.project.questions.all()}
        self.question = get_single_question(self.mapping, self.questions)
        rows = LabelStudioObject.objects.filter(
            connection=connection, task__in=[task["id"] for task in tasks]
        ).select_related("rater")
        self.stored: dict[ObjectKey, LabelStudioObject] = {
            (row.kind, row.remote_id): row for row in rows
        }
        self.users: dict[int, Fields] = {}
        self.new_users: set[int] = set()
        self.ignored_users: set[int] = set()
        self._load_users(tasks, get_users)
        self.tasks = [self._parse_remote_task(task) for task in tasks if not self._is_ignored(task)]
        self.changed_pairs = self._find_changed_pairs()

    def _resolve_question(self, key: str) -> str | None:
        """Return the project's key of a question of Label Studio, or None if it has none."""
        single_key = self.question.key if self.question is not None else None
        return remote_tasks.resolve_question(key, self.mapping, self.questions, single_key)

    def _is_ignored(self, task: Fields) -> bool:
        """Return whether the task's item was permanently deleted in Concord."""
        stored = self.stored.get((Kind.TASK, task["id"]))
        return stored is not None and stored.item_id is None

    # --- raters

    def _load_users(
        self, tasks: Sequence[Fields], get_users: Callable[[], Mapping[int, Fields]]
    ) -> None:
        """Load the rater key of each annotator: as recorded before, else the e-mail address."""
        ids = {
            user
            for task in tasks
            for row in task["annotations"]
            if (user := remote_tasks.get_user(row))
        }
        stored = LabelStudioObject.objects.filter(
            connection=self.connection, kind=Kind.USER, remote_id__in=ids
        ).select_related("rater")
        for row in stored:
            if row.rater is None:
                self.ignored_users.add(row.remote_id)  # deleted for good in Concord
            else:
                self.users[row.remote_id] = {"id": row.remote_id, "email": row.rater.key}
        self.new_users = ids - self.users.keys() - self.ignored_users
        if not self.new_users:
            return
        details = get_users()
        matches = key_matching.resolve_matches(
            self.project, self.mapping.members, by=self.by
        ).raters
        for user in self.new_users:
            fields = details.get(user, {})
            key = str(fields.get("email") or fields.get("username") or user).strip()
            self.users[user] = {**fields, "id": user, "email": matches.get(key, key)}

    def _parse_remote_task(self, task: Fields) -> RemoteTask:
        task = remote_tasks.remove_written(task)
        annotations = []
        for row in task["annotations"]:
            stored = self.stored.get((Kind.ANNOTATION, row["id"]))
            is_own = (Kind.WRITTEN_ANNOTATION, row["id"]) in self.stored
            if is_own or remote_tasks.get_user(row) in self.ignored_users:
                continue
            rater = stored.rater if stored is not None else None
            if rater is not None:  # also if Label Studio deleted its annotator
                user = {"id": remote_tasks.get_user(row), "email": rater.key}
                annotations.append({**row, "completed_by": user})
            else:
                annotations.append(row)
        expanded = remote_tasks.expand_raters({**task, "annotations": annotations}, self.users)
        return remote_tasks.parse_task(expanded, self.mapping, self._resolve_question)

    # --- what has changed

    def _find_changed_pairs(self) -> set[tuple[int, str]]:
        """Return {(task ID, rater key)} with an annotation that is new, changed or deleted."""
        pairs = {(row.task, row.rater.key) for row in self.deleted if row.rater is not None}
        for task in self.tasks:
            for answers in task.answers:
                stored = self.stored.get((answers.kind, answers.id))
                if stored is not None and stored.digest == answers.digest:
                    continue
                pairs.add((task.id, answers.rater))
                if stored is not None and stored.rater is not None:
                    pairs.add((task.id, stored.rater.key))
        return pairs

    def _is_new_content(self, task: RemoteTask) -> bool:
        stored = self.stored.get((Kind.TASK, task.id))
        return stored is None or stored.digest != task.digest

    def _iter_changed_answers(self) -> Iterator[tuple[RemoteTask, RemoteAnswers]]:
        for task in self.tasks:
            for answers in task.answers:
                if (task.id, answers.rater) in self.changed_pairs:
                    yield task, answers

    def _build_records(self) -> list[Record]:
        records: list[Record] = []
        for task in self.tasks:
            if self._is_new_content(task):
                records += task.records
        for _task, answers in self._iter_changed_answers():
            records += answers.records
        return records

    @contextlib.contextmanager
    def stage(self) -> Iterator[StagedRows | None]:
        """Validate the records; yield the staged rows, or None if there are none.

        Raises LabelStudioError for the first problem.
        """
        records = self._build_records()
        if not records:
            yield None
            return
        with tempfile.TemporaryDirectory() as folder:
            staging = StagingDatabase(Path(folder) / "rows", lambda: None)
            with contextlib.closing(staging):
                report = validate_and_stage_file(
                    RecordsReader(records),
                    self.mapping,
                    project=self.project,
                    question=self.question,
                    staging=staging,
                    heartbeat=lambda: None,
                    by=self.by,
                )
                if report.problems:
                    raise LabelStudioError("problem", problem=report.problems.listed[0].to_json())
                yield StagedRows(staging.db)

    # --- writing

    def write(self, staged_rows: StagedRows | None) -> dict[str, int]:
        """Write the changes in the caller's transaction; return outcome -> number of ratings.

        ``staged_rows`` is None if no item or answer has changed. Raises LabelStudioError
        if the project no longer has what the rows need.
        """
        counts: dict[str, int] = defaultdict(int)
        ratings: list[RatingGroup] = []
        if staged_rows is not None:
            try:
                ratings = self._write_staged_rows(staged_rows, counts)
            except ImportStopped as error:
                raise LabelStudioError("stopped", reason=error.kind, value=error.value) from None
        item_ids = bulk.get_ids_by_key(
            "projects_item", self.project.pk, [task.item for task in self.tasks]
        )
        keys = {answers.rater for _task, answers in self._iter_changed_answers()}
        keys |= {str(self.users[user]["email"]) for user in self.new_users}
        rater_ids = pseudonyms.get_rater_ids(self.project, keys)
        answered: dict[ItemAndRater, set[int]] = defaultdict(set)
        for group in ratings:
            pair = (item_ids[group[0].item], rater_ids[group[0].rater])
            answered[pair].add(self.questions[group[0].question].pk)
        counts["withdrawn"] += self._withdraw_ratings(answered)
        self._save_objects(item_ids, rater_ids)
        return {name: count for name, count in counts.items() if count}

    def _write_staged_rows(
        self, staged_rows: StagedRows, counts: dict[str, int]
    ) -> list[RatingGroup]:
        """Write items, ratings and skips, adding to ``counts``; return the groups of ratings."""
        writer = RatingWriter(self.run, staged_rows)
        for contents in staged_rows.iter_content(0, BATCH_SIZE):
            writer.item_writer.write_items(contents)
        known_pairs = {
            (task.item, answers.rater)
            for task, answers in self._iter_changed_answers()
            if (answers.kind, answers.id) in self.stored
        }
        groups: list[RatingGroup] = []
        for batch in iter_batches(staged_rows.iter_ratings(0), size=BATCH_SIZE):
            # The earlier answers of a known annotation are in the history already.
            current = [
                self._select_current(group)
                if (group[0].item, group[0].rater) in known_pairs
                else group
                for group in batch
            ]
            outcome = writer.write_ratings(current)
            counts["created"] += outcome["created"]
            counts["changed"] += outcome["changed"]
            groups += batch
        for skips in staged_rows.iter_skips(0, BATCH_SIZE):
            writer.write_skips(skips)
        return groups

    def _select_current(self, group: RatingGroup) -> RatingGroup:
        return group[-1:] if self.mapping.duplicate_policy == "last" else group[:1]

    def _withdraw_ratings(self, answered: Mapping[ItemAndRater, set[int]]) -> int:
        """Withdraw ratings of changed pairs without an annotation; return their number.

        ``answered`` maps (item, rater) to the questions that an annotation still answers.
        """
        questions = {question.pk: question for question in self.questions.values()}
        judgements: dict[Question, list[Judgement]] = defaultdict(list)
        previous: dict[ItemAndRater, set[int]] = defaultdict(set)
        for row in (*self.stored.values(), *self.deleted):
            if (
                row.item_id is not None
                and row.rater is not None
                and (row.task, row.rater.key) in self.changed_pairs
            ):
                previous[row.item_id, row.rater.pk] |= set(row.questions)
        for (item, rater), question_ids in previous.items():
            for question in question_ids - answered.get((item, rater), set()):
                if question in questions:
                    judgements[questions[question]].append(
                        Judgement(item, rater, NO_CODE, comment=REASON_DELETED)
                    )
        if not judgements:
            return 0
        return record_ratings(judgements, by=self.by, source=Revision.Source.IMPORT).withdrawn

    def _save_objects(self, item_ids: Mapping[str, int], rater_ids: Mapping[str, int]) -> None:
        """Store the remote IDs of tasks, answers and users, with their items and raters."""

        def build_row(kind: str, remote_id: int, **columns: Any) -> LabelStudioObject:
            return LabelStudioObject(
                connection=self.connection, kind=kind, remote_id=remote_id, **columns
            )

        rows = [
            build_row(
                Kind.TASK, task.id, task=task.id, item_id=item_ids[task.item], digest=task.digest
            )
            for task in self.tasks
            if self._is_new_content(task)
        ]
        for task, answers in self._iter_changed_answers():
            rows.append(
                build_row(
                    answers.kind,
                    answers.id,
                    task=task.id,
                    item_id=item_ids[task.item],
                    rater_id=rater_ids.get(answers.rater),
                    questions=[self.questions[key].pk for key in answers.questions],
                    digest=answers.digest,
                )
            )
        for user in self.new_users:
            rater = rater_ids.get(str(self.users[user]["email"]))
            if rater is not None:
                rows.append(build_row(Kind.USER, user, rater_id=rater))
        LabelStudioObject.objects.bulk_create(
            rows,
            batch_size=BATCH_SIZE,
            update_conflicts=True,
            unique_fields=["connection", "kind", "remote_id"],
            update_fields=["task", "item", "rater", "questions", "digest"],
        )
        LabelStudioObject.objects.filter(pk__in=[row.pk for row in self.deleted]).delete()
