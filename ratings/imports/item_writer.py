"""Write staged items, gold answers and skips (see `ratings.imports.batch_writer`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.utils import timezone

from core.db import bulk
from projects import locks
from projects.models import Item, Project, Question
from projects.services import gold
from projects.services.item_upsert import upsert_items
from ratings.imports import zip_archives
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.staging.database import Heartbeat, to_datetime
from ratings.imports.staging.queries import StagedContent, StagedRows, StagedSkip
from ratings.imports.zip_archives import MediaArchive
from ratings.models import Assignment, ImportRun, Rating


class ImportStopped(Exception):
    """Rows cannot be written because the project has changed since the check.

    ``kind`` is the reason (see `problems.describe_write_failure`), ``value`` the key or label
    concerned.
    """

    def __init__(self, kind: str, value: str) -> None:
        super().__init__(kind)
        self.kind = kind
        self.value = value


class ItemWriter:
    """Writes items with their content, attributes and gold answers."""

    def __init__(
        self,
        run: ImportRun,
        staged_rows: StagedRows,
        *,
        questions: dict[str, Question],
        codes: dict[str, dict[str, int]],
        archive: MediaArchive | None = None,
    ) -> None:
        """Create a writer; ``archive`` has the media files (None: there are none).

        ``codes``: question -> label -> code.
        """
        assert run.project is not None  # constraint import_writes_into_project
        self.project: Project = run.project
        self.by = run.by
        self.staged_rows = staged_rows
        self.questions = questions
        self.codes = codes
        self.create_missing = ImportMapping.from_run(run).create_missing
        self.archive = archive

    def store_files(self, batch: Sequence[StagedContent], heartbeat: Heartbeat) -> None:
        """Store the media files of the items on disk, before the transaction begins.

        So no lock is held while a large file is stored. A file whose items are never written does
        no harm. ``heartbeat`` is called after each item with content.
        """
        for content in batch if self.archive else ():
            if self.archive and content.body is not None:
                zip_archives.store_referenced_files(
                    self.project, iter([json.loads(content.body)]), self.archive
                )
                heartbeat()

    def write_items(self, batch: Sequence[StagedContent]) -> dict[str, int]:
        """Write a batch and return the numbers of items and gold answers by outcome."""
        # The stored item is needed if the file has no body, or no new items are allowed.
        unknown = [c.item for c in batch if c.body is None or not self.create_missing]
        existing_bodies = dict(
            Item.objects.filter(project=self.project, key__in=unknown).values_list("key", "body")
        )
        bodies: dict[str, dict[str, Any]] = {}
        for content in batch:
            if content.body is not None:
                bodies[content.item] = json.loads(content.body)
        zip_archives.replace_names_by_urls(self.project, bodies, self.archive)
        rows = []
        for content in batch:
            if not self.create_missing and content.item not in existing_bodies:
                continue
            if (
                content.item in existing_bodies
                and content.body is None
                and content.attributes is None
            ):
                continue
            row = {
                "key": content.item,
                "body": bodies.get(content.item, existing_bodies.get(content.item, {})),
            }
            if content.attributes is not None:
                row["attributes"] = json.loads(content.attributes)
            rows.append(row)
        counts = upsert_items(project=self.project, rows=rows, by=self.by, is_import=True)
        return {
            "items": counts["created"],
            "items_changed": counts["changed"],
            "items_unchanged": len(batch) - counts["created"] - counts["changed"],
            "gold": self._set_gold([content.item for content in batch]),
        }

    def _set_gold(self, keys: list[str]) -> int:
        """Set the gold answers of these items and return the number of changes."""
        gold_by_item = self.staged_rows.get_gold_answers(keys)
        if not gold_by_item:
            return 0
        ids = bulk.get_ids_by_key("projects_item", self.project.pk, list(gold_by_item))
        answers: dict[str, list[gold.NewGoldAnswer]] = {}
        for item, by_question in gold_by_item.items():
            for question, labels in by_question.items():
                codes = sorted(self._get_code(question, label) for label in labels)
                answers.setdefault(question, []).append(gold.NewGoldAnswer(ids[item], codes))
        changed = 0
        for key, new_answers in answers.items():
            states = gold.set_gold_answers(
                question=self.questions[key], answers=new_answers, by=self.by
            )
            changed += sum(state != "unchanged" for state in states.values())
        return changed

    def _get_code(self, question: str, label: str) -> int:
        try:
            return self.codes[question][label]
        except KeyError:
            raise ImportStopped("categories", label) from None

    def create_empty_items(self, keys: Sequence[str]) -> None:
        """Create items without a body, in this order, unless they exist.

        Another process may have created the same item meanwhile.
        """
        locks.lock_items(self.project.pk)
        now: Any = connection.ops.adapt_datetimefield_value(timezone.now())
        rows = [(self.project.pk, key, "{}", "{}", now) for key in keys]
        columns = ("project_id", "key", "body", "attributes", "created_at")
        bulk.upsert(
            "projects_item", columns, rows, key=("project_id", "key"), update={}, keep_order=True
        )


class SkipWriter:
    """Writes skips of items that their rater has neither rated nor been assigned."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def write_skips(
        self, batch: Sequence[StagedSkip], item_ids: dict[str, int], rater_ids: dict[str, int]
    ) -> int:
        """Write a batch and return the number of new skips; the ids are by the keys in the file."""
        skips_by_pair = {(item_ids[skip.item], rater_ids[skip.rater]): skip for skip in batch}
        same_items = {"item_id__in": {item for item, _rater in skips_by_pair}}
        existing_pairs = set(Rating.objects.filter(**same_items).values_list("item_id", "rater_id"))
        existing_pairs |= set(
            Assignment.objects.filter(**same_items).values_list("item_id", "rater_id")
        )
        assignments = []
        for (item, rater), skip in skips_by_pair.items():
            if (item, rater) in existing_pairs:
                continue
            skipped_at = to_datetime(skip.rated_at) or timezone.now()
            assignments.append(
                Assignment(
                    item_id=item,
                    rater_id=rater,
                    state=Assignment.State.SKIPPED,
                    leased_until=skipped_at,
                    closed_at=skipped_at,
                    skip_reason=skip.reason,
                )
            )
        Assignment.objects.bulk_create(assignments, ignore_conflicts=True)
        return len(assignments)
