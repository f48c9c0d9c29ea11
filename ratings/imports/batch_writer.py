"""Write staged rows as items and ratings, in batches, and count the ratings that they change.

The rows of a batch, their history, the items and raters they need, and the progress of the run are
one transaction. If a worker dies, the next one continues after the last batch. Items with content
are written first, then ratings, then skips: ``rows_done`` counts through all three.
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
from projects.models import Category, Project, Question, Rater
from projects.services import pseudonyms
from ratings.imports import leases
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.staging.database import Heartbeat, to_datetime
from ratings.imports.staging.queries import StagedRating, StagedRows, StagedSkip
from ratings.imports.zip_archives import MediaArchive
from ratings.models import ImportRun, Rating, Revision
from ratings.services import permissions
from ratings.services.judgement import Judgement, UnknownCode
from ratings.services.own_answers import record_repeats
from ratings.services.record import record_ratings

from .item_writer import ImportStopped, ItemWriter, SkipWriter

# Rows per batch. SQLite's other writers wait for one batch at most; PostgreSQL's wait only for the
# same items, and each batch costs it some temporary tables.
BATCH_SIZES = {"sqlite": 2000, "postgresql": 5000}
VALIDATION_BATCH_SIZE = 5000  # ratings that are compared before the next heartbeat
# Pause between two batches as a share of the time of the first. SQLite does not queue writers, so
# the others need a chance. Reading the next batch is part of the pause.
PAUSE_RATIO = 0.25

JudgementsByQuestion = dict[Question, list[Judgement]]
RatingGroup = list[StagedRating]  # all rows of the file by one rater about one item, in file order


def write_staged_rows(
    run: ImportRun,
    staged_rows: StagedRows,
    *,
    archive: MediaArchive | None = None,
    heartbeat: Heartbeat = lambda: None,
) -> None:
    """Write all staged rows that are not yet written.

    Raises ImportStopped, LeaseLost, or UnreadableFileError for a damaged archive; the batches
    before stay written.

    ``archive`` has the media files that the items refer to, None if the file came without one;
    ``heartbeat`` is called between files.
    """
    size = BATCH_SIZES[connection.vendor]
    write_batch = _BatchWriter(run).write
    n_contents, n_ratings = staged_rows.count("content"), staged_rows.count("rating")
    writer = RatingWriter(run, staged_rows, archive)
    if run.rows_done < n_contents:
        for contents in staged_rows.iter_content(run.rows_done, size):
            writer.item_writer.store_files(contents, heartbeat)
            write_batch(partial(writer.item_writer.write_items, contents), n_done=contents[-1].id)
    if run.rows_done < n_contents + n_ratings:
        for batch in iter_batches(staged_rows.iter_ratings(run.rows_done - n_contents), size=size):
            n_done = n_contents + batch[-1][-1].id
            write_batch(partial(writer.write_ratings, batch), n_done=n_done)
    for skips in staged_rows.iter_skips(run.rows_done - n_contents - n_ratings, size):
        n_done = n_contents + n_ratings + skips[-1].id
        write_batch(partial(writer.write_skips, skips), n_done=n_done)


class _BatchWriter:
    """Writes batches of rows, each in one transaction with the progress of the run."""

    def __init__(self, run: ImportRun) -> None:
        self.run = run
        self.pause_ends = 0.0  # monotonic time until which other writers have a chance

    def write(self, write_rows: Callable[[], dict[str, int]], *, n_done: int) -> None:
        """Write one batch, and store the progress of the run with it. Raises LeaseLost.

        ``write_rows`` writes the rows and returns outcome -> number; ``n_done`` is the number of
        the run's rows that are written then. On SQLite, wait first to let other writers have their
        turn.
        """
        if connection.vendor == "sqlite":
            time.sleep(max(0.0, self.pause_ends - time.monotonic()))
        started = time.monotonic()
        with transaction.atomic():
            # First, because it locks the run: a second worker waits here and then has lost the
            # lease.
            leases.update_run(self.run)
            counts = write_rows()
            outcome = Counter(self.run.summary.get("outcome", {}))
            outcome.update(counts)
            summary = {**self.run.summary, "outcome": dict(outcome)}
            leases.update_run(self.run, rows_done=n_done, summary=summary, attempts=0)
        now = time.monotonic()
        self.pause_ends = now + PAUSE_RATIO * (now - started)


def count_changed_ratings(staged_rows: StagedRows, project: Project, heartbeat: Heartbeat) -> int:
    """Return the number of the project's current ratings to which the file gives another label.

    The last rating of a question, item and rater in the file counts. ``heartbeat`` is called once a
    batch.
    """
    categories = Category.objects.filter(question__project=project)
    labels = {
        (question, code): label
        for question, code, label in categories.values_list("question__key", "code", "label")
    }
    n_changed, rows = 0, staged_rows.iter_ratings(0)
    while batch := list(itertools.islice(rows, VALIDATION_BATCH_SIZE)):
        heartbeat()
        new_labels = {(row.question, row.item, row.rater): row.label for row in batch}
        existing = Rating.objects.current().filter(
            question__project=project,
            item__key__in={row.item for row in batch},
            rater__key__in={row.rater for row in batch},
        )
        for question, item, rater, code in existing.values_list(
            "question__key", "item__key", "rater__key", "code"
        ):
            new_label = new_labels.get((question, item, rater))
            n_changed += new_label not in (None, labels.get((question, code)))
    return n_changed


def iter_batches(rows: Iterable[StagedRating], *, size: int) -> Iterator[list[RatingGroup]]:
    """Yield batches of at least ``size`` rows as groups of the same question, item and rater.

    A group is never split; the last batch may be smaller.
    """
    batch: list[RatingGroup] = []
    count = 0
    for _pair, group_rows in itertools.groupby(rows, key=attrgetter("question", "item", "rater")):
        group = list(group_rows)
        batch.append(group)
        count += len(group)
        if count >= size:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch


def _split_group(
    group: RatingGroup, policy: str
) -> tuple[StagedRating, StagedRating | None, RatingGroup]:
    """Return a group's current rating, its repeat or None, and the other rows, in this order.

    The other rows go into the history as superseded. ``policy`` is "last", "first", or any other,
    which makes the first row current and the second a repeat.
    """
    if policy == "last":
        return group[-1], None, group[:-1]
    if policy == "first":
        return group[0], None, group[1:]
    return group[0], group[1] if len(group) > 1 else None, group[2:]


class RatingWriter:
    """Writes the ratings and skips of one run."""

    def __init__(
        self, run: ImportRun, staged_rows: StagedRows, archive: MediaArchive | None = None
    ) -> None:
        mapping = ImportMapping.from_run(run)
        assert run.project is not None  # constraint import_writes_into_project
        self.project = run.project
        self.by = run.by
        self.create_missing = mapping.create_missing
        self.newest_guidelines = self.project.guidelines_version
        self.duplicate_policy = mapping.duplicate_policy
        self.questions: dict[str, Question] = {}
        self.codes: dict[str, dict[str, int]] = {}
        for question in self.project.questions.all():
            self.questions[question.key] = question
            self.codes[question.key] = {
                category.label: category.code for category in question.active_categories()
            }
        self.rater_details = staged_rows.get_rater_details()
        self.rater_ids: dict[str, int] = {}
        self.item_writer = ItemWriter(
            run, staged_rows, questions=self.questions, codes=self.codes, archive=archive
        )
        self.skip_writer = SkipWriter(self.project)

    def write_ratings(self, batch: list[RatingGroup]) -> dict[str, int]:
        """Write a batch; return the numbers of ratings by outcome, and of new items and raters.

        Raises ImportStopped if a category, question, item or rater that it needs is missing, or if
        the project is archived.
        """
        item_ids, new_items = self._get_or_create_items(
            dict.fromkeys(group[0].item for group in batch)
        )
        new_raters = self._load_or_create_raters(dict.fromkeys(group[0].rater for group in batch))
        judgements, repeat_judgements = self._build_judgements(batch, item_ids)
        try:
            outcome = record_ratings(judgements, by=self.by, source=Revision.Source.IMPORT)
            n_repeats = record_repeats(repeat_judgements, by=self.by, source=Revision.Source.IMPORT)
        except UnknownCode as error:
            raise ImportStopped("categories", str(error)) from error
        except permissions.ProjectArchived as error:
            raise ImportStopped("archived", self.project.name) from error
        # After the ratings: the API locks items before the project, too, so there is no deadlock.
        if new_items:
            Project.objects.filter(pk=self.project.pk).increment_items_and_raters_version()
        return {
            "created": outcome.created,
            "changed": outcome.changed,
            "unchanged": outcome.unchanged,
            "items": new_items,
            "raters": new_raters,
            **({"repeats": n_repeats} if n_repeats else {}),
        }

    def write_skips(self, batch: list[StagedSkip]) -> dict[str, int]:
        """Write a batch of skips and return the numbers of new skips, items and raters."""
        item_ids, new_items = self._get_or_create_items(dict.fromkeys(skip.item for skip in batch))
        new_raters = self._load_or_create_raters(dict.fromkeys(skip.rater for skip in batch))
        n_skipped = self.skip_writer.write_skips(batch, item_ids, self.rater_ids)
        if new_items:
            Project.objects.filter(pk=self.project.pk).increment_items_and_raters_version()
        return {"skipped": n_skipped, "items": new_items, "raters": new_raters}

    def _get_question(self, key: str) -> Question:
        try:
            return self.questions[key]
        except KeyError:
            raise ImportStopped("question", key) from None

    def _build_judgements(
        self, batch: list[RatingGroup], item_ids: dict[str, int]
    ) -> tuple[JudgementsByQuestion, JudgementsByQuestion]:
        """Return the judgements to record as ratings, and those to record as repeats."""
        judgements: dict[str, list[Judgement]] = {}
        repeats: dict[str, list[Judgement]] = {}
        existing = (
            self._find_existing_ratings(batch, item_ids)
            if self.duplicate_policy == "again"
            else set()
        )
        for group in batch:
            question = group[0].question
            if group[0].id in existing:
                repeats.setdefault(question, []).append(self._build_judgement(group[0], item_ids))
                continue
            current, repeat, earlier_rows = _split_group(group, self.duplicate_policy)
            earlier = tuple(
                (self._get_code(row), to_datetime(row.rated_at)) for row in earlier_rows
            )
            judgement = self._build_judgement(current, item_ids)
            if earlier:
                judgement = judgement._replace(superseded=earlier)
            judgements.setdefault(question, []).append(judgement)
            if repeat is not None:
                repeats.setdefault(question, []).append(self._build_judgement(repeat, item_ids))
        return self._group_by_question(judgements), self._group_by_question(repeats)

    def _group_by_question(self, judgements: dict[str, list[Judgement]]) -> JudgementsByQuestion:
        return {self._get_question(key): group for key, group in judgements.items()}

    def _find_existing_ratings(
        self, batch: list[RatingGroup], item_ids: dict[str, int]
    ) -> set[int]:
        """Return the ids of first rows of groups for which the project already has a rating."""
        rows = Rating.objects.current().filter(
            question__in={self._get_question(group[0].question).pk for group in batch},
            item__in={item_ids[group[0].item] for group in batch},
            rater__in={self.rater_ids[group[0].rater] for group in batch},
        )
        rated = set(rows.values_list("question_id", "item_id", "rater_id"))
        return {
            first.id
            for first, *_rest in batch
            if (
                self._get_question(first.question).pk,
                item_ids[first.item],
                self.rater_ids[first.rater],
            )
            in rated
        }

    def _build_judgement(self, rating: StagedRating, item_ids: dict[str, int]) -> Judgement:
        return Judgement(
            item_ids[rating.item],
            self.rater_ids[rating.rater],
            self._get_code(rating),
            rated_at=to_datetime(rating.rated_at),
            comment=rating.comment,
            seconds=rating.seconds,
            guidelines=self._get_guidelines_version(rating),
        )

    def _get_guidelines_version(self, rating: StagedRating) -> int | None:
        """Return the version of the guidelines that the rating names; None if it names none.

        0 if the project does not have this version.
        """
        if rating.guidelines is None:
            return None
        return rating.guidelines if rating.guidelines <= self.newest_guidelines else 0

    def _get_code(self, rating: StagedRating) -> int:
        try:
            return self.codes[rating.question][rating.label]
        except KeyError:
            raise ImportStopped("categories", rating.label) from None

    def _get_or_create_items(self, keys: Iterable[str]) -> tuple[dict[str, int], int]:
        """Return the ids of the items by key, and the number of items created.

        Raises ImportStopped for a missing item if the import may not create items.
        """
        unique_keys = list(keys)
        ids_by_key = bulk.get_ids_by_key("projects_item", self.project.pk, unique_keys)
        missing = [key for key in unique_keys if key not in ids_by_key]
        if missing:
            if not self.create_missing:
                raise ImportStopped("items", missing[0])
            self.item_writer.create_empty_items(missing)
            ids_by_key = bulk.get_ids_by_key("projects_item", self.project.pk, unique_keys)
        return ids_by_key, len(missing)

    def _load_or_create_raters(self, keys: Iterable[str]) -> int:
        """Load the ids of the raters, creating new raters; return the number created.

        Raises ImportStopped for a missing rater if the import may not create raters.
        """
        unloaded = [key for key in keys if key not in self.rater_ids]
        self.rater_ids |= self._get_rater_ids(unloaded)
        missing = [key for key in unloaded if key not in self.rater_ids]
        if missing:
            if not self.create_missing:
                raise ImportStopped("raters", missing[0])
            new_raters = []
            for key in missing:
                new_raters.append(
                    Rater(project=self.project, key=key, **self.rater_details.get(key, {}))
                )
            Rater.objects.bulk_create(new_raters, ignore_conflicts=True)
            pseudonyms.assign_pseudonyms(self.project.pk)
            self.rater_ids |= self._get_rater_ids(missing)
        return len(missing)

    def _get_rater_ids(self, keys: list[str]) -> dict[str, int]:
        return pseudonyms.get_rater_ids(self.project, keys)
