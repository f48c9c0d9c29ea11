"""Staged rows become ratings, a piece at a time: the rows of a piece, their history, the items and
raters they need, and how far the run has come are one transaction. Whatever dies, the next worker
goes on behind the last piece."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from groundwork.database import bulk
from projects.models import Project, Rater
from ratings.models import ImportRun, Revision
from ratings.recording.judgement import Judgement, UnknownCode
from ratings.recording.record import record

from . import leases
from .judging import moment_of
from .mapping import Mapping
from .staging import Said, Staged

# Rows written at a time. SQLite's other writers wait for one piece at most; PostgreSQL's wait for
# nothing but the same items, and each piece costs it some temporary tables.
PIECES = {"sqlite": 2000, "postgresql": 5000}
BREATH = 0.25  # of a piece's time, left to SQLite's other writers, who have no queue there

Group = list[Said]  # all that the file says about one item by one rater, in its order


class Stopped(Exception):
    """The project changed since the check, so that rows cannot be written: ``kind`` names how,
    ``value`` what."""

    def __init__(self, kind: str, value: str) -> None:
        super().__init__(kind)
        self.kind = kind
        self.value = value


def write(run: ImportRun, staged: Staged) -> None:
    """Write everything that is left; raises Stopped, or Lost."""
    writer = Writer(run)
    for piece in pieces(staged.after(run.rows_done), size=PIECES[connection.vendor]):
        started = time.monotonic()
        with transaction.atomic():
            # first: it locks the run, so that a second worker waits here and then finds it taken
            leases.keep(run)
            made = writer.write(piece)
            outcome = Counter(run.summary.get("outcome", {}))
            outcome.update(made)
            summary = {**run.summary, "outcome": dict(outcome)}
            leases.keep(run, rows_done=piece[-1][-1].id, summary=summary, attempts=0)
        if connection.vendor == "sqlite":
            time.sleep(BREATH * (time.monotonic() - started))


def pieces(rows: Iterable[Said], *, size: int) -> Iterator[list[Group]]:
    """At least ``size`` rows each, grouped by item and rater; a group is never split."""
    piece: list[Group] = []
    count = 0
    for _pair, rows_of_pair in itertools.groupby(rows, key=attrgetter("item", "rater")):
        group = list(rows_of_pair)
        piece.append(group)
        count += len(group)
        if count >= size:
            yield piece
            piece, count = [], 0
    if piece:
        yield piece


class Writer:
    """Writes the pieces of one run."""

    def __init__(self, run: ImportRun) -> None:
        mapping = Mapping.of(run)
        assert run.question is not None  # the database's own rule: import_writes_into_question
        self.question = run.question
        self.project = run.question.project
        self.by = run.by
        self.make_new = mapping.make_new
        self.first_stands = mapping.stands == "first"
        self.codes = {
            category.label: category.code for category in self.question.active_categories()
        }
        self.raters: dict[str, int] = {}

    def write(self, piece: list[Group]) -> dict[str, int]:
        """Write a piece; how many ratings, items and raters that made or changed."""
        items, new_items = self._items(dict.fromkeys(group[0].item for group in piece))
        new_raters = self._meet(dict.fromkeys(group[0].rater for group in piece))
        ratings = [self._rating(group, items) for group in piece]
        try:
            outcome = record({self.question: ratings}, by=self.by, source=Revision.Source.IMPORT)
        except UnknownCode as error:
            raise Stopped("categories", str(error)) from error
        # after the ratings: who changes items by the API locks them before the project, too
        if new_items:
            Project.objects.filter(pk=self.project.pk).catalogue_changed()
        return {
            "created": outcome.created,
            "changed": outcome.changed,
            "unchanged": outcome.unchanged,
            "items": new_items,
            "raters": new_raters,
        }

    def _rating(self, group: Group, items: dict[str, int]) -> Judgement:
        stands, *others = group if self.first_stands else (group[-1], *group[:-1])
        return Judgement(
            items[stands.item],
            self.raters[stands.rater],
            self._code(stands.label),
            rated_at=moment_of(stands.rated_at),
            comment=stands.comment,
            superseded=tuple((self._code(said.label), moment_of(said.rated_at)) for said in others),
        )

    def _code(self, label: str) -> int:
        try:
            return self.codes[label]
        except KeyError:
            raise Stopped("categories", label) from None

    def _items(self, keys: Iterable[str]) -> tuple[dict[str, int], int]:
        wanted = list(keys)
        known = bulk.ids_by_key("projects_item", self.project.pk, wanted)
        missing = [key for key in wanted if key not in known]
        if missing:
            if not self.make_new:
                raise Stopped("items", missing[0])
            _make_items(self.project, missing)
            known = bulk.ids_by_key("projects_item", self.project.pk, wanted)
        return known, len(missing)

    def _meet(self, keys: Iterable[str]) -> int:
        """Learn the ids of the raters, making those that are new; how many were made."""
        unmet = [key for key in keys if key not in self.raters]
        self.raters |= self._known_raters(unmet)
        missing = [key for key in unmet if key not in self.raters]
        if missing:
            if not self.make_new:
                raise Stopped("raters", missing[0])
            Rater.objects.bulk_create(
                [Rater(project=self.project, key=key) for key in missing], ignore_conflicts=True
            )
            self.raters |= self._known_raters(missing)
        return len(missing)

    def _known_raters(self, keys: list[str]) -> dict[str, int]:
        return dict(
            Rater.objects.filter(project=self.project, key__in=keys).values_list("key", "id")
        )


def _make_items(project: Project, keys: list[str]) -> None:
    """New items without a body. Somebody else may make the same one at the same time: then there is
    one."""
    now: Any = connection.ops.adapt_datetimefield_value(timezone.now())
    rows = [(project.pk, key, "{}", "{}", now) for key in keys]
    columns = ("project_id", "key", "body", "attributes", "created_at")
    bulk.upsert("projects_item", columns, rows, key=("project_id", "key"), update={})
