"""Staged items and skips, written (see `writing`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.utils import timezone

from core.db import bulk
from projects import locks
from projects.models import Item, Project, Question
from projects.services.items import gold
from projects.services.items.upsert import put_items
from ratings.imports import media_references
from ratings.imports.archives import Media
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.staging.database import Beat
from ratings.imports.staging.queries import Described, Skipped, Staged
from ratings.imports.staging.timestamps import moment_of
from ratings.models import Assignment, ImportRun, Rating


class Stopped(Exception):
    """The project changed since the check, so that rows cannot be written: ``kind`` names how,
    ``value`` what."""

    def __init__(self, kind: str, value: str) -> None:
        super().__init__(kind)
        self.kind = kind
        self.value = value


class Items:
    """Writes what the file says of items."""

    def __init__(
        self,
        run: ImportRun,
        staged: Staged,
        *,
        questions: dict[str, Question],
        codes: dict[str, dict[str, int]],
        archive: Media | None = None,
    ) -> None:
        """``codes``: question -> label -> its code."""
        assert run.project is not None  # the database's own rule: import_writes_into_project
        self.project: Project = run.project
        self.by = run.by
        self.staged = staged
        self.questions = questions
        self.codes = codes
        self.make_new = Mapping.of(run).make_new
        self.archive = archive

    def keep_files(self, piece: Sequence[Described], beat: Beat) -> None:
        """Put what the items name on the disk, before the database is asked: nobody waits for a
        large file, and one whose items are never written does no harm."""
        for one in piece if self.archive else ():
            if self.archive and one.body is not None:
                media_references.keep(self.project, iter([json.loads(one.body)]), self.archive)
                beat()

    def write(self, piece: Sequence[Described]) -> dict[str, int]:
        """Write a piece; how many items that made or changed."""
        standing = dict(
            Item.objects.filter(
                project=self.project, key__in=[one.item for one in piece]
            ).values_list("key", "body")
        )
        bodies: dict[str, dict[str, Any]] = {}
        for one in piece:
            if one.body is not None:
                bodies[one.item] = json.loads(one.body)
        media_references.resolve(self.project, bodies, self.archive)
        rows = []
        for one in piece:
            if one.item not in standing and not self.make_new:
                continue
            if one.item in standing and one.body is None and one.attributes is None:
                continue
            row = {"key": one.item, "body": bodies.get(one.item, standing.get(one.item, {}))}
            if one.attributes is not None:
                row["attributes"] = json.loads(one.attributes)
            rows.append(row)
        counts = put_items(project=self.project, rows=rows, by=self.by)
        return {
            "items": counts["created"],
            "items_changed": counts["changed"],
            "items_unchanged": len(piece) - counts["created"] - counts["changed"],
            "gold": self._set_gold([one.item for one in piece]),
        }

    def _set_gold(self, keys: list[str]) -> int:
        """Set the gold answers of these items; how many were new or other ones."""
        found = self.staged.gold(keys)
        if not found:
            return 0
        ids = bulk.ids_by_key("projects_item", self.project.pk, list(found))
        answers: dict[str, list[gold.New]] = {}
        for item, by_question in found.items():
            for question, labels in by_question.items():
                codes = sorted(self._code(question, label) for label in labels)
                answers.setdefault(question, []).append(gold.New(ids[item], codes))
        changed = 0
        for key, new in answers.items():
            states = gold.set_many(question=self.questions[key], answers=new, by=self.by)
            changed += sum(state != "unchanged" for state in states.values())
        return changed

    def _code(self, question: str, label: str) -> int:
        try:
            return self.codes[question][label]
        except KeyError:
            raise Stopped("categories", label) from None

    def make(self, keys: Sequence[str]) -> None:
        """New items without a body, in this order. Somebody else may have made the same one
        meanwhile: then there is one."""
        bulk.several(locks.write_items(self.project.pk))
        now: Any = connection.ops.adapt_datetimefield_value(timezone.now())
        rows = [(self.project.pk, key, "{}", "{}", now) for key in keys]
        columns = ("project_id", "key", "body", "attributes", "created_at")
        bulk.upsert(
            "projects_item", columns, rows, key=("project_id", "key"), update={}, as_given=True
        )


class Skips:
    """Writes that raters skipped items: as the desk does, unless they have rated them."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def write(self, piece: Sequence[Skipped], items: dict[str, int], raters: dict[str, int]) -> int:
        """How many skips were new."""
        wanted = {(items[skip.item], raters[skip.rater]): skip for skip in piece}
        among = {"item_id__in": {item for item, _rater in wanted}}
        said = set(Rating.objects.filter(**among).values_list("item_id", "rater_id"))
        said |= set(Assignment.objects.filter(**among).values_list("item_id", "rater_id"))
        new = []
        for (item, rater), skip in wanted.items():
            if (item, rater) in said:
                continue
            at = moment_of(skip.rated_at) or timezone.now()
            new.append(
                Assignment(
                    item_id=item,
                    rater_id=rater,
                    state=Assignment.State.SKIPPED,
                    leased_until=at,
                    closed_at=at,
                    skip_reason=skip.reason,
                )
            )
        Assignment.objects.bulk_create(new, ignore_conflicts=True)
        return len(new)
