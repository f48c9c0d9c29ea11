"""Write final labels to Label Studio, as predictions or as ground truth annotations.

Each task gets at most one prediction or annotation from here. Its ID is stored, and later labels
change it. If a worker is killed between the request that creates it and the storing of the ID, the
next one finds it by its model version or by the IDs of its parts. What was written is never read
back as a rating (ratings.label_studio.remote_tasks).
"""

from __future__ import annotations

import datetime
import hashlib
import json
import logging
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from core.jobs.lease import get_leased_rows, update_leased_row
from projects.models import Question
from quality.models import ItemLabel
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.readers.tools.base import Fields
from ratings.label_normalization import parse_number
from ratings.label_studio import remote_tasks
from ratings.label_studio.client import PAGE_SIZE, Client, LabelStudioError
from ratings.label_studio.recording import get_single_question
from ratings.models import ImportRun, LabelStudioConnection, LabelStudioObject

logger = logging.getLogger(__name__)

Kind = LabelStudioObject.Kind
WriteBack = LabelStudioConnection.WriteBack

# Labels are stored this long after the time that they carry, at most.
OVERLAP = datetime.timedelta(minutes=5)


@dataclass(frozen=True)
class Control:
    """A control of a Label Studio labeling form, by which a question is answered."""

    name: str
    to_name: str
    kind: str
    labels: frozenset[str]

    def build_part(self, label: str) -> Fields | None:
        """Return this control's part of a result, or None if the label is no value of the control.

        Only controls of choices, pairs, ratings and numbers have values.
        """
        value: Fields | None = None
        number = parse_number(label)
        if self.kind == "choices" and label in self.labels:
            value = {"choices": [label]}
        elif self.kind == "pairwise":
            value = {"selected": label}
        elif self.kind in ("rating", "number") and number is not None:
            value = {self.kind: int(number) if float(number).is_integer() else float(number)}
        if value is None:
            return None
        return {
            "id": f"{remote_tasks.WRITTEN_PREFIX}{self.name}",
            "from_name": self.name,
            "to_name": self.to_name,
            "type": self.kind,
            "value": value,
        }


def write_labels(connection: LabelStudioConnection, client: Client, deadline: float) -> bool:
    """Write the labels that changed; return whether all were tried before the deadline.

    ``deadline``: a value of time.monotonic(). The next run continues after the last task, even if
    Label Studio rejected its labels.
    """
    if connection.write_back == WriteBack.OFF:
        return True
    leased = get_leased_rows(connection)
    started = connection.write_started_at or timezone.now()
    tasks = LabelStudioObject.objects.filter(
        Exists(_get_changed_labels(connection).filter(item=OuterRef("item"))),
        connection=connection,
        kind=Kind.TASK,
        task__gt=connection.written_task,
    ).order_by("task")
    if tasks.exists():
        writer = _Writer(connection, client)
        last_task = connection.written_task
        while batch := list(tasks.filter(task__gt=last_task)[:PAGE_SIZE]):
            for task, parts, score in writer.list_outdated(batch):
                writer.write(task, parts, score)
                if time.monotonic() > deadline:
                    columns = {"written_task": task.task, "write_started_at": started}
                    update_leased_row(connection, leased, **columns)
                    return False
            last_task = batch[-1].task
    columns = {"written_task": 0, "write_started_at": None, "written_since": started - OVERLAP}
    update_leased_row(connection, leased, **columns)
    return True


def _get_changed_labels(connection: LabelStudioConnection) -> Any:
    labels = ItemLabel.objects.filter(question__project=connection.project)
    if connection.written_since is not None:
        labels = labels.filter(computed_at__gte=connection.written_since)
    return labels


class _Writer:
    """Writer of final labels to the tasks of one connection, as predictions or annotations."""

    def __init__(self, connection: LabelStudioConnection, client: Client) -> None:
        self.connection = connection
        self.client = client
        self.is_prediction = connection.write_back == WriteBack.PREDICTIONS
        self.kind = Kind.WRITTEN_PREDICTION if self.is_prediction else Kind.WRITTEN_ANNOTATION
        self.written: dict[int, LabelStudioObject] = {}  # by task
        self.remote_ids: dict[int, int] = {}  # of objects that are there already, by task
        questions = {question.key: question for question in connection.project.questions.all()}
        self.controls = self._get_controls_by_question(questions)
        self.label_of = {
            (question.pk, category.code): category.label
            for question in questions.values()
            for category in question.categories.all()
        }

    def _get_controls_by_question(self, questions: Mapping[str, Question]) -> dict[int, Control]:
        """Return {question id: the control that answers the question}."""
        mapping = ImportMapping.from_run(ImportRun(mapping=self.connection.mapping))
        single = get_single_question(mapping, questions)
        single_key = single.key if single else None
        controls = {}
        project = self.client.get_project(self.connection.remote_project)
        for name, fields in project.controls.items():
            key = remote_tasks.resolve_question(
                build_question_key(name), mapping, questions, single_key
            )
            to_name = fields.get("to_name")
            to_name = to_name[0] if isinstance(to_name, list) and to_name else to_name
            if key is not None and isinstance(to_name, str):
                labels = fields.get("labels")
                controls[questions[key].pk] = Control(
                    name,
                    to_name,
                    str(fields.get("type")).lower(),
                    frozenset(labels if isinstance(labels, list) else ()),
                )
        return controls

    def list_outdated(
        self, tasks: Sequence[LabelStudioObject]
    ) -> list[tuple[LabelStudioObject, list[Fields], float | None]]:
        """Return (task, parts of the result, score) of the tasks whose labels must be written.

        ``score``: the lowest confidence of the task's labels; None where none has a
        confidence.
        """
        parts: dict[int, list[Fields]] = defaultdict(list)
        scores: dict[int, list[float]] = defaultdict(list)
        labels = ItemLabel.objects.filter(
            item__in=[task.item_id for task in tasks],
            question__in=list(self.controls),
            code__isnull=False,
        )
        for label in labels.order_by("question"):
            text = self.label_of[label.question_id, label.code or 0]
            if part := self.controls[label.question_id].build_part(text):
                parts[label.item_id].append(part)
                if label.confidence is not None:
                    scores[label.item_id].append(label.confidence)
        written = LabelStudioObject.objects.filter(
            connection=self.connection, kind=self.kind, task__in=[task.task for task in tasks]
        )
        self.written = {row.task: row for row in written}
        outdated = []
        for task in tasks:
            row = self.written.get(task.task)
            own_parts = parts[task.item_id or 0]
            if (own_parts or row) and (row is None or row.digest != _compute_digest(own_parts)):
                score = min(scores[task.item_id or 0], default=None)
                outdated.append((task, own_parts, score))
        self._collect_unstored_objects(
            [task.task for task, *_ in outdated if task.task not in self.written]
        )
        return outdated

    def _collect_unstored_objects(self, tasks: Sequence[int]) -> None:
        """Set ``remote_ids`` to the written objects of these tasks that Label Studio has.

        It then includes objects whose ID could not be stored after they were created.
        """
        self.remote_ids = {}
        if not tasks:
            return
        page = self.client.list_tasks(self.connection.remote_project, only=tasks)
        for task in page.tasks:
            if self.is_prediction:
                own = filter(remote_tasks.is_written_prediction, task["predictions"])
            else:
                own = filter(remote_tasks.is_written_annotation, task["annotations"])
            for row in own:
                self.remote_ids[task["id"]] = row["id"]

    def write(self, task: LabelStudioObject, parts: list[Fields], score: float | None) -> None:
        """Write the labels of one task, and store the ID of its prediction or annotation.

        ``parts`` and ``score``: as ``list_outdated`` returns them; a score of None is sent as such.
        Nothing is stored if Label Studio answers with an error status; other errors raise
        LabelStudioError.
        """
        content: Fields = {"result": parts}
        if self.is_prediction:
            content |= {"model_version": remote_tasks.WRITTEN_VERSION, "score": score}
        else:
            content |= {"ground_truth": bool(parts)}
        row = self.written.get(task.task)
        remote_id = row.remote_id if row else self.remote_ids.get(task.task)
        try:
            remote_id = self._send(task.task, remote_id, content)
        except LabelStudioError as error:
            if error.kind != "status":
                raise
            # Only this task is skipped: it may have been deleted in Label Studio, or its form
            # changed.
            logger.warning("labels of task %s were not accepted: %s", task.task, error)
            return
        counts = self.connection.counts
        with transaction.atomic():
            update_leased_row(
                self.connection,
                get_leased_rows(self.connection),
                counts={**counts, "written": counts.get("written", 0) + 1},
            )
            LabelStudioObject.objects.update_or_create(
                connection=self.connection,
                kind=self.kind,
                task=task.task,
                defaults={
                    "remote_id": remote_id,
                    "item_id": task.item_id,
                    "digest": _compute_digest(parts),
                },
            )

    def _send(self, task: int, remote_id: int | None, content: Fields) -> int:
        """Update the object with this remote ID, else create one; return its ID.

        One is created if the ID is None or Label Studio does not have the object any more.
        """
        kind = "prediction" if self.is_prediction else "annotation"
        if remote_id is not None and self.client.update_object(kind, remote_id, content):
            return remote_id
        if self.is_prediction:
            return self.client.create_prediction(task, content)
        return self.client.create_annotation(task, content)


def _compute_digest(parts: Sequence[Fields]) -> str:
    text = json.dumps(parts, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
