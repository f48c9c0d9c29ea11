"""Uncounted ratings -> counts. Nothing here is approximate, and running it twice changes nothing.

An item is counted by adding the tally of what its ratings say now and subtracting the tally of what
the counts hold of them, in one transaction under the question's lock; each rating then remembers
*the code that was read*, never the one that stands by then. A rating that changed meanwhile
therefore stays uncounted, and the next round finds it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from django.db import transaction
from django.utils import timezone

from metrics.agreement.counts import tally
from metrics.agreement.counts.grouping import rank_rows
from metrics.models import CountState
from metrics.scale import QuestionScale
from projects.models import Question
from ratings.models import NOTHING
from ratings.services import uncounted

from . import peer_rows, rating_rows, store
from .rater_kinds import Kinds

# Items of one transaction: small enough that raters never wait long for the rows or, on SQLite, for
# the file. A question with more uncounted ones has a backlog, and that is counted in shares
# (metrics.counting.backlog).
ITEMS_AT_ONCE = 2_000
MADE_LATER = ("bootstrap", "bootstrap_people", "pairwise", "bootstrapped")


@dataclass(frozen=True)
class Progress:
    items: int  # counted in this call
    more: bool  # whether uncounted items were left


def lock(question_id: int) -> CountState:
    """The question's count row, locked until the transaction ends. Whoever changes counts or
    readings holds it. Raises Question.DoesNotExist."""
    # What is made a moment later (readings.later) is neither read nor written with it.
    rows = CountState.objects.defer(*MADE_LATER).select_for_update()
    row = rows.filter(question_id=question_id).first()
    if row is None:
        version = Question.objects.values_list("scale_version", flat=True).get(pk=question_id)
        CountState.objects.get_or_create(
            question_id=question_id, defaults={"scale_version": version}
        )
        row = rows.get(question_id=question_id)
    return row


@dataclass(frozen=True)
class Change:
    """What counting some items changes in the counts, and the ratings as they were read.

    ``rows``: array of rating_rows.ROW. ``notes``: what had said of these items that they are to be
    counted (ratings.services.uncounted). ``own`` (n, 3): rater, day, change in the number of ratings
    which the rater gave on that day. ``kinds``: whose ratings are tallied as models'.
    """

    question_id: int
    rows: np.ndarray
    notes: list[int]
    patterns: tally.Patterns
    pairs: tally.PairTables
    peers: tally.PeerTables
    own: np.ndarray
    ratings: int
    items: int
    kinds: Kinds

    @classmethod
    def of(
        cls, question_id: int, rows: np.ndarray, notes: list[int], *, width: int, kinds: Kinds
    ) -> Change:
        now, before = rows[rows["code"] > NOTHING], rows[rows["counted"] > NOTHING]
        return cls(
            question_id,
            rows,
            notes,
            patterns(now, "code", width, kinds) - patterns(before, "counted", width, kinds),
            pairs(now, "code", width) - pairs(before, "counted", width),
            peers(now, "code", width, kinds) - peers(before, "counted", width, kinds),
            own_counts(rows),
            now.size - before.size,
            np.unique(rows["item"]).size,
            kinds,
        )

    def fitting(self, width: int, kinds: Kinds) -> Change:
        """The same change where the scale has got more categories, or the counts have met models
        or people, since it was tallied."""
        if width == self.pairs.tables.shape[-1] and kinds == self.kinds:
            return replace(self, kinds=kinds)
        return Change.of(self.question_id, self.rows, self.notes, width=width, kinds=kinds)


@transaction.atomic
def count_some(question_id: int, *, items: int | None = None) -> Progress:
    """Count up to ``items`` (ITEMS_AT_ONCE) items with an uncounted rating, those with the smallest
    ids first.

    Nothing while the question has an open backlog: its items are in other hands.
    """
    try:
        state = lock(question_id)
    except Question.DoesNotExist:
        uncounted.forget_question(question_id)
        return Progress(0, more=False)
    if state.backlog_from is not None:
        return Progress(0, more=True)
    items = items or ITEMS_AT_ONCE
    rows, notes = uncounted_items(question_id, items)
    if not moved(rows).any():  # whatever the notes were of, it was counted by others, or taken back
        uncounted.forget(notes)
        return Progress(0, more=bool(rows.size))
    # Read with the lock in hand, and after the rows: the categories know every code in them.
    scale = QuestionScale.of(Question.objects.get(pk=question_id))
    change = Change.of(question_id, rows, notes, width=scale.width, kinds=Kinds.of(state, rows))
    add(state, change, scale)
    mark_counted(change)
    return Progress(change.items, more=change.items == items)


def add(state: CountState, change: Change, scale: QuestionScale) -> None:
    """Add the change to the stored counts. Under the question's lock, in the transaction that marks
    the ratings.

    The scale must have been read, and the change be fitting, with the lock in hand: of two counters
    that waited for each other, the second sees that (or its newer version) for which the first made
    the kappas.
    """
    change.kinds.write(state)
    sums = store.no_sums() | state.pair_sums
    store.add_patterns(state.question_id, change.patterns, scale.width)
    whose = store.Whose.one(state.question_id)
    store.add_pairs(whose, change.pairs, scale, {state.question_id: sums})
    come = peer_rows.add_peers(whose, change.peers, change.own)
    for rater, step in come.items():
        if rater in change.kinds.models:
            state.n_models += step
        else:
            state.n_people += step
    _mark_what_pairs_moved(change)
    state.unread += int(moved(change.rows).sum())
    state.version += 1
    state.pair_sums = sums
    state.ratings += change.ratings
    state.counted_at = timezone.now()
    state.save()


def _mark_what_pairs_moved(change: Change) -> None:
    """A rater who says what another one takes back moves pairs, but neither a pattern nor what the
    others met: what rests on pairs, the means over them, is to be made anew all the same."""
    pairs = change.pairs
    raters = np.setdiff1d(
        [*pairs.rater_a, *pairs.rater_b], [*change.peers.rater, *change.own[:, 0]]
    )
    if raters.size:
        store.mark_raters(change.question_id, raters.tolist())
    if pairs.rater_a.size and not len(change.patterns.counts):
        store.mark_project(change.question_id)


def uncounted_items(question_id: int, items: int) -> tuple[np.ndarray, list[int]]:
    """All ratings of the next ``items`` items that have an uncounted one, as rating_rows.ROW, and
    what noted them."""
    found = uncounted.noted(question_id, items=items)
    return rating_rows.of_items(question_id, found.items), found.notes


def patterns(rows: np.ndarray, code: str, width: int, kinds: Kinds) -> tally.Patterns:
    ratings = rows["item"], rows["rater"], rows[code], rows[_day(code)]
    return kinds.patterns(ratings, width)


def pairs(rows: np.ndarray, code: str, width: int) -> tally.PairTables:
    return tally.pair_tables(rows["item"], rows["rater"], rows[code], width)


def peers(rows: np.ndarray, code: str, width: int, kinds: Kinds) -> tally.PeerTables:
    ratings = rows["item"], rows["rater"], rows[code], rows[_day(code)]
    return kinds.peers(ratings, width)


def _day(code: str) -> str:
    return "day" if code == "code" else "counted_day"


def own_counts(rows: np.ndarray) -> np.ndarray:
    """Change.own of the rows."""
    now, before = rows[rows["code"] > NOTHING], rows[rows["counted"] > NOTHING]
    rater = np.concatenate([now["rater"], before["rater"]])
    if not rater.size:
        return np.zeros((0, 3), np.int64)
    day = np.concatenate([now["day"], before["counted_day"]])
    first, group = rank_rows([rater, day])
    size = first.size
    change = np.bincount(group[: now.size], minlength=size) - np.bincount(
        group[now.size :], minlength=size
    )
    kept = first[change != 0]
    return np.stack([rater[kept], day[kept], change[change != 0]], axis=1)


def moved(rows: np.ndarray) -> np.ndarray:
    """Which of the rows were uncounted when they were read."""
    return (rows["code"] != rows["counted"]) | (rows["day"] != rows["counted_day"])


def mark_counted(change: Change) -> None:
    """Every rating remembers what was read of it, and nothing waits any more that had been noted
    before."""
    rating_rows.mark(change.question_id, change.rows[moved(change.rows)])
    uncounted.forget(change.notes)
