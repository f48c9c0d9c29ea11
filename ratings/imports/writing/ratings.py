"""What is staged becomes items and ratings, a piece at a time: the rows of a piece, their history,
the items and raters they need, and how far the run has come are one transaction. Whatever dies, the
next worker goes on behind the last piece.

First the items that the file describes, then the judgements, then what raters skipped:
``rows_done`` counts through all three.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import attrgetter

from django.db import connection, transaction

from core.db import bulk
from projects.models import Project, Question, Rater
from projects.services.raters import pseudonyms
from ratings.imports import leases
from ratings.imports.archives import Media
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.staging.database import Beat
from ratings.imports.staging.queries import Said, Skipped, Staged
from ratings.imports.staging.timestamps import moment_of
from ratings.models import ImportRun, Rating, Revision
from ratings.services import permissions
from ratings.services.check_answers import record_repeats
from ratings.services.judgement import Judgement, UnknownCode
from ratings.services.record import record

from .items import Items, Skips, Stopped

# Rows written at a time. SQLite's other writers wait for one piece at most; PostgreSQL's wait for
# nothing but the same items, and each piece costs it some temporary tables.
PIECES = {"sqlite": 2000, "postgresql": 5000}
BREATH = 0.25  # of a piece's time, left to SQLite's other writers, who have no queue there

Told = dict[Question, list[Judgement]]
Group = list[Said]  # all that the file says about one item by one rater, in its order


def write(
    run: ImportRun,
    staged: Staged,
    *,
    archive: Media | None = None,
    beat: Beat = lambda: None,
) -> None:
    """Write everything that is left; raises Stopped, or Lost. ``archive`` has the pictures, sound
    and film that the items name."""
    size = PIECES[connection.vendor]
    items, judgements = staged.count("content"), staged.count("said")
    writer = Writer(run, staged, archive)
    if run.rows_done < items:
        for described in staged.described(run.rows_done, size):
            writer.items.keep_files(described, beat)
            _write_piece(run, partial(writer.items.write, described), done=described[-1].id)
    if run.rows_done < items + judgements:
        for piece in pieces(staged.after(run.rows_done - items), size=size):
            done = items + piece[-1][-1].id
            _write_piece(run, partial(writer.write, piece), done=done)
    for skips in staged.skips(run.rows_done - items - judgements, size):
        done = items + judgements + skips[-1].id
        _write_piece(run, partial(writer.write_skips, skips), done=done)


def _write_piece(run: ImportRun, work: Callable[[], dict[str, int]], *, done: int) -> None:
    started = time.monotonic()
    with transaction.atomic():
        # first: it locks the run, so that a second worker waits here and then finds it taken
        leases.keep(run)
        made = work()
        outcome = Counter(run.summary.get("outcome", {}))
        outcome.update(made)
        summary = {**run.summary, "outcome": dict(outcome)}
        leases.keep(run, rows_done=done, summary=summary, attempts=0)
    if connection.vendor == "sqlite":
        time.sleep(BREATH * (time.monotonic() - started))


def pieces(rows: Iterable[Said], *, size: int) -> Iterator[list[Group]]:
    """At least ``size`` rows each, grouped by question, item and rater; a group is never split."""
    piece: list[Group] = []
    count = 0
    for _pair, rows_of_pair in itertools.groupby(rows, key=attrgetter("question", "item", "rater")):
        group = list(rows_of_pair)
        piece.append(group)
        count += len(group)
        if count >= size:
            yield piece
            piece, count = [], 0
    if piece:
        yield piece


def _apart(group: Group, stands: str) -> tuple[Said, Said | None, Group]:
    """What stands of a group, what is a repeat of it, and what goes to the history."""
    if stands == "last":
        return group[-1], None, group[:-1]
    if stands == "first":
        return group[0], None, group[1:]
    return group[0], group[1] if len(group) > 1 else None, group[2:]


class Writer:
    """Writes the pieces of one run."""

    def __init__(self, run: ImportRun, staged: Staged, archive: Media | None = None) -> None:
        mapping = Mapping.of(run)
        assert run.project is not None  # the database's own rule: import_writes_into_project
        self.project = run.project
        self.by = run.by
        self.make_new = mapping.make_new
        self.newest_guidelines = self.project.guidelines_version
        self.stands = mapping.stands
        self.questions: dict[str, Question] = {}
        self.codes: dict[str, dict[str, int]] = {}
        for question in self.project.questions.all():
            self.questions[question.key] = question
            self.codes[question.key] = {
                category.label: category.code for category in question.active_categories()
            }
        self.told = staged.raters()
        self.raters: dict[str, int] = {}
        self.items = Items(run, staged, questions=self.questions, codes=self.codes, archive=archive)
        self.skips = Skips(self.project)

    def write(self, piece: list[Group]) -> dict[str, int]:
        """Write a piece; how many ratings, items and raters that made or changed."""
        items, new_items = self._items(dict.fromkeys(group[0].item for group in piece))
        new_raters = self._meet(dict.fromkeys(group[0].rater for group in piece))
        said, again = self._judgements(piece, items)
        try:
            outcome = record(said, by=self.by, source=Revision.Source.IMPORT)
            repeats = record_repeats(again, by=self.by, source=Revision.Source.IMPORT)
        except UnknownCode as error:
            raise Stopped("categories", str(error)) from error
        except permissions.Archived as error:
            raise Stopped("archived", self.project.name) from error
        # after the ratings: who changes items by the API locks them before the project, too
        if new_items:
            Project.objects.filter(pk=self.project.pk).catalogue_changed()
        return {
            "created": outcome.created,
            "changed": outcome.changed,
            "unchanged": outcome.unchanged,
            "items": new_items,
            "raters": new_raters,
            **({"repeats": repeats} if repeats else {}),
        }

    def write_skips(self, piece: list[Skipped]) -> dict[str, int]:
        items, new_items = self._items(dict.fromkeys(skip.item for skip in piece))
        new_raters = self._meet(dict.fromkeys(skip.rater for skip in piece))
        skipped = self.skips.write(piece, items, self.raters)
        if new_items:
            Project.objects.filter(pk=self.project.pk).catalogue_changed()
        return {"skipped": skipped, "items": new_items, "raters": new_raters}

    def _question(self, key: str) -> Question:
        try:
            return self.questions[key]
        except KeyError:
            raise Stopped("question", key) from None

    def _judgements(self, piece: list[Group], items: dict[str, int]) -> tuple[Told, Told]:
        """What is to stand, and what is to be kept as a repeat of what stands."""
        said: Told = {}
        repeats: Told = {}
        stood = self._stood(piece, items) if self.stands == "again" else set()
        for group in piece:
            question = self._question(group[0].question)
            if (question.pk, items[group[0].item], self.raters[group[0].rater]) in stood:
                repeats.setdefault(question, []).append(self._judgement(group[0], items))
                continue
            stands, again, others = _apart(group, self.stands)
            earlier = tuple((self._code(one), moment_of(one.rated_at)) for one in others)
            rating = self._judgement(stands, items)._replace(superseded=earlier)
            said.setdefault(question, []).append(rating)
            if again is not None:
                repeats.setdefault(question, []).append(self._judgement(again, items))
        return said, repeats

    def _stood(self, piece: list[Group], items: dict[str, int]) -> set[tuple[int, int, int]]:
        """Question, item and rater of ratings of the piece that stand already."""
        rows = Rating.objects.standing().filter(
            question__in={self._question(group[0].question).pk for group in piece},
            item__in={items[group[0].item] for group in piece},
            rater__in={self.raters[group[0].rater] for group in piece},
        )
        return set(rows.values_list("question_id", "item_id", "rater_id"))

    def _judgement(self, said: Said, items: dict[str, int]) -> Judgement:
        return Judgement(
            items[said.item],
            self.raters[said.rater],
            self._code(said),
            rated_at=moment_of(said.rated_at),
            comment=said.comment,
            seconds=said.seconds,
            guidelines=self._guidelines(said),
        )

    def _guidelines(self, said: Said) -> int | None:
        """A version that the project does not have is one that nobody knows."""
        if said.guidelines is None:
            return None
        return said.guidelines if said.guidelines <= self.newest_guidelines else 0

    def _code(self, said: Said) -> int:
        try:
            return self.codes[said.question][said.label]
        except KeyError:
            raise Stopped("categories", said.label) from None

    def _items(self, keys: Iterable[str]) -> tuple[dict[str, int], int]:
        wanted = list(keys)
        known = bulk.ids_by_key("projects_item", self.project.pk, wanted)
        missing = [key for key in wanted if key not in known]
        if missing:
            if not self.make_new:
                raise Stopped("items", missing[0])
            self.items.make(missing)
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
            new = []
            for key in missing:
                new.append(Rater(project=self.project, key=key, **self.told.get(key, {})))
            Rater.objects.bulk_create(new, ignore_conflicts=True)
            pseudonyms.settle(self.project.pk)
            self.raters |= self._known_raters(missing)
        return len(missing)

    def _known_raters(self, keys: list[str]) -> dict[str, int]:
        return pseudonyms.ids(self.project, keys)
