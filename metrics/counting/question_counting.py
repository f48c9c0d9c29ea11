"""Count the uncounted ratings of one question into its stored counts.

Nothing here is approximate, and running it twice changes nothing. An item is counted by adding the
tally of its current ratings and subtracting the tally that the counts contain of them, in one
transaction under the question's lock. Each rating then stores *the code that was read* as counted,
not the code that is current by then. A rating that changed meanwhile therefore stays uncounted,
and the next run finds it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from django.db import transaction
from django.utils import timezone

from metrics.agreement.counts import tally
from metrics.agreement.counts.grouping import rank_rows
from metrics.models import CountState
from metrics.question_scale import QuestionScale
from projects.models import Question
from ratings.models import NO_CODE
from ratings.services import uncounted_ratings

from . import peer_store, rating_rows, store
from .rater_kinds import PatternsByPopulation, RaterKinds, RatingColumns

# Items per transaction: few enough that raters never wait long for the rows or, on SQLite, for the
# file. A question with more uncounted items has a backlog, which is counted in ranges
# (metrics.counting.backlog).
ITEMS_AT_ONCE = 2_000
DEFERRED_FIELDS = ("bootstrap", "bootstrap_people", "mean_pairwise_kappas", "deferred_version")


@dataclass(frozen=True)
class CountingProgress:
    """Number of items that a call of `count_items` has counted, and whether any remain."""

    n_items: int  # counted in this call
    has_more: bool  # whether uncounted items remain


def lock_count_state(question_id: int) -> CountState:
    """Return the question's CountState, locked until the transaction ends.

    Everything that changes counts or results holds this lock. Raises Question.DoesNotExist if there
    is no such question.
    """
    # Deferred results (results.refresh) are neither read nor written here.
    rows = CountState.objects.defer(*DEFERRED_FIELDS).select_for_update()
    row = rows.filter(question_id=question_id).first()
    if row is None:
        version = Question.objects.values_list("scale_version", flat=True).get(pk=question_id)
        CountState.objects.get_or_create(
            question_id=question_id, defaults={"scale_version": version}
        )
        row = rows.get(question_id=question_id)
    return row


@dataclass(frozen=True)
class CountChange:
    """Change of a question's counts by some items, with their ratings as they were read.

    ``rows``: array of rating_rows.ROW. ``notes``: ids of the notes that marked these items as
    uncounted (ratings.services.uncounted_ratings). ``own_counts`` (n, 3): rater, day, change in the
    number of ratings which the rater gave on that day. ``kinds``: the raters tallied as models.
    """

    question_id: int
    rows: np.ndarray
    notes: list[int]
    patterns: PatternsByPopulation
    pairs: tally.PairTables
    peers: tally.PeerTables
    own_counts: np.ndarray
    n_ratings: int
    n_items: int
    kinds: RaterKinds

    @classmethod
    def from_rows(
        cls, question_id: int, rows: np.ndarray, notes: list[int], *, width: int, kinds: RaterKinds
    ) -> CountChange:
        """Return the tally of the rows' current codes minus that of the codes in the counts.

        ``rows`` (M,) and ``notes``: as in the class; ``width``: number of codes; ``kinds``: of the
        raters.
        """
        current, counted = select_ratings(rows, "code"), select_ratings(rows, "counted")
        subtracted = kinds.tally_patterns(counted, width)
        return cls(
            question_id,
            rows,
            notes,
            {
                population: patterns - subtracted[population]
                for population, patterns in kinds.tally_patterns(current, width).items()
            },
            tally.count_pair_tables(*current[:3], width)
            - tally.count_pair_tables(*counted[:3], width),
            kinds.tally_peers(current, width) - kinds.tally_peers(counted, width),
            compute_own_counts(current, counted),
            current.item.size - counted.item.size,
            np.unique(rows["item"]).size,
            kinds,
        )

    def adapt_to(self, width: int, kinds: RaterKinds) -> CountChange:
        """Return the change for another width or other rater kinds, tallying it again if needed.

        They differ when categories were added, or the first models or people were counted, since
        the change was tallied.
        """
        if width == self.pairs.tables.shape[-1] and kinds == self.kinds:
            return replace(self, kinds=kinds)
        return CountChange.from_rows(
            self.question_id, self.rows, self.notes, width=width, kinds=kinds
        )


@transaction.atomic
def count_items(question_id: int, *, limit: int | None = None) -> CountingProgress:
    """Count up to ``limit`` items with an uncounted rating, smallest ids first.

    ``limit`` is ITEMS_AT_ONCE if None. Does nothing while the question has an open backlog,
    whose ranges are counted instead.
    """
    try:
        state = lock_count_state(question_id)
    except Question.DoesNotExist:
        uncounted_ratings.delete_question_notes(question_id)
        return CountingProgress(0, has_more=False)
    if state.backlog_from is not None:
        return CountingProgress(0, has_more=True)
    limit = limit or ITEMS_AT_ONCE
    rows, notes = load_ratings_of_uncounted_items(question_id, limit)
    if not build_uncounted_mask(
        rows
    ).any():  # the noted ratings were counted by another worker, or undone
        uncounted_ratings.delete_notes(notes)
        return CountingProgress(0, has_more=bool(rows.size))
    # Read while the lock is held, and after the rows, so that the scale has every code in them.
    scale = QuestionScale.for_question(Question.objects.get(pk=question_id))
    change = CountChange.from_rows(
        question_id, rows, notes, width=scale.width, kinds=RaterKinds.from_rows(state, rows)
    )
    add_change(state, change, scale)
    mark_change_counted(change)
    return CountingProgress(change.n_items, has_more=change.n_items == limit)


def add_change(state: CountState, change: CountChange, scale: QuestionScale) -> None:
    """Add the change to the stored counts.

    Call it under the question's lock, in the transaction that marks the ratings. Read the scale and
    adapt the change to it while the lock is held. Then, of two workers that waited for each other,
    the second has the scale for which the first computed the kappas, or a newer one.
    """
    if change.kinds.separates_models and not state.separates_models:
        store.copy_counts_to_people(state.question_id)
    change.kinds.copy_to_state(state)
    sums = store.create_pair_sums() | state.pair_sums
    patterns = {(state.question_id, name): counts for name, counts in change.patterns.items()}
    store.add_patterns(patterns, scale.width)
    scope = store.CountScope.for_question(state.question_id)
    store.add_pair_tables(scope, change.pairs, scale, {state.question_id: sums})
    rater_steps = peer_store.add_peer_counts(scope, change.peers, change.own_counts)
    for rater_id, step in rater_steps.items():
        if rater_id in change.kinds.models:
            state.n_models += step
        else:
            state.n_people += step
    _mark_pair_changes_stale(change)
    state.unrefreshed += int(build_uncounted_mask(change.rows).sum())
    state.version += 1
    state.pair_sums = sums
    state.ratings += change.n_ratings
    state.counted_at = timezone.now()
    state.save()


def _mark_pair_changes_stale(change: CountChange) -> None:
    """Mark the results stale of questions and raters of whom only pairs changed.

    A rating by one rater that replaces an equal rating withdrawn by another changes pairs, but
    neither a pattern nor the peer counts of others. Still, means over pairs must be recomputed.
    """
    pairs = change.pairs
    raters = np.setdiff1d(
        [*pairs.rater_a, *pairs.rater_b], [*change.peers.rater, *change.own_counts[:, 0]]
    )
    if raters.size:
        store.mark_raters_stale(change.question_id, raters.tolist())
    if pairs.rater_a.size and not any(map(len, change.patterns.values())):
        store.mark_project_stale(change.question_id)


def load_ratings_of_uncounted_items(question_id: int, limit: int) -> tuple[np.ndarray, list[int]]:
    """Return all ratings (rating_rows.ROW) of up to ``limit`` uncounted items, and note ids."""
    noted = uncounted_ratings.get_batch(question_id, limit=limit)
    return rating_rows.load_ratings_of_items(question_id, noted.item_ids), noted.note_ids


def select_ratings(rows: np.ndarray, code_column: str) -> RatingColumns:
    """Return the columns of the rows with a rating, by "code" or by "counted".

    By "code" it is the current rating, by "counted" the one that the counts contain.
    """
    rows = rows[rows[code_column] > NO_CODE]
    day_column = "day" if code_column == "code" else "counted_day"
    return RatingColumns(rows["item"], rows["rater"], rows[code_column], rows[day_column])


def compute_own_counts(current: RatingColumns, counted: RatingColumns) -> np.ndarray:
    """Return the non-zero changes (n, 3) in numbers of own ratings: rater, day, change.

    ``current`` and ``counted`` are the ratings of the same rows (`select_ratings`).
    """
    rater = np.concatenate([current.rater, counted.rater])
    if not rater.size:
        return np.zeros((0, 3), np.int64)
    day = np.concatenate([current.day, counted.day])
    first, group = rank_rows([rater, day])
    n_current, size = current.rater.size, first.size
    added, removed = (np.bincount(part, minlength=size) for part in np.split(group, [n_current]))
    change = added - removed
    changed = first[change != 0]
    return np.stack([rater[changed], day[changed], change[change != 0]], axis=1)


def build_uncounted_mask(rows: np.ndarray) -> np.ndarray:
    """Return a mask (M,) of the ratings that were uncounted when they were read.

    ``rows`` (M,): array of rating_rows.ROW.
    """
    return (rows["code"] != rows["counted"]) | (rows["day"] != rows["counted_day"])


def mark_change_counted(change: CountChange) -> None:
    """Mark the change's ratings as counted as they were read, and delete their notes."""
    rating_rows.mark_rows_counted(
        change.question_id, change.rows[build_uncounted_mask(change.rows)]
    )
    uncounted_ratings.delete_notes(change.notes)
