"""All counts of a question made from nothing, in memory: what ``audit`` compares the stored ones
with."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from django.db import connection, transaction
from django.db.models import Q, QuerySet

from metrics.agreement.counts import tally
from metrics.counting.rater_kinds import Kinds
from metrics.models import EVER
from ratings.models import NOTHING, Rating

RATINGS_AT_ONCE = 200_000

ROW = np.dtype([("item", "i8"), ("rater", "i8"), ("counted", "i8"), ("counted_day", "i8")])


@contextmanager
def snapshot() -> Iterator[None]:
    """One state of the database for many reads, without keeping writers waiting. Inside a
    transaction: that one's."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
    else:
        # Django's own transactions take SQLite's write lock at once; this one only reads.
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")


@dataclass
class Recount:
    """All counts of a question, made from its ratings, a part of its items at a time."""

    n_ratings: int
    patterns: tally.Patterns
    pairs: tally.PairTables
    peers: tally.PeerTables
    own: dict[tuple[int, int], int]
    kinds: Kinds
    rater: int | None = None  # whose counts alone these are, but for the patterns

    @classmethod
    def of(cls, question_id: int, width: int, kinds: Kinds, rater: int | None = None) -> Recount:
        """Of all ratings, or of the items of one rater."""
        found = cls(
            0,
            tally.Patterns.empty(kinds.width(width), by_day=True),
            tally.PairTables.empty(width),
            tally.PeerTables.empty(width, by_day=True),
            {},
            kinds,
            rater,
        )
        for rows in _whole_items(question_id, rater):
            found._add(rows, width)
        return found if rater is None else found._only(rater)

    def _only(self, rater: int) -> Recount:
        pairs, peers = self.pairs, self.peers
        with_them = (pairs.rater_a == rater) | (pairs.rater_b == rater)
        theirs = peers.rater == rater
        day, moments = (
            None if part is None else part[theirs] for part in (peers.day, peers.moments)
        )
        return replace(
            self,
            pairs=tally.PairTables(
                pairs.rater_a[with_them], pairs.rater_b[with_them], pairs.tables[with_them]
            ),
            peers=tally.PeerTables(
                peers.rater[theirs], day, peers.tables[theirs], moments, peers.n_items[theirs]
            ),
            own={key: number for key, number in self.own.items() if key[0] == rater},
        )

    def raters(self) -> dict[str, int]:
        """How many people and models have a counted rating."""
        all_days = [rater for (rater, day), number in self.own.items() if day == EVER and number]
        models = len(self.kinds.models.intersection(all_days))
        return {"people": len(all_days) - models, "models": models}

    def stored(self, rows: QuerySet, *raters: str) -> QuerySet:
        """The stored rows that these counts are to be compared with; ``raters`` names their columns
        of raters."""
        if self.rater is None:
            return rows
        return rows.filter(
            functools.reduce(operator.or_, (Q(**{name: self.rater}) for name in raters))
        )

    def _add(self, rows: np.ndarray, width: int) -> None:
        item, rater, code, day = (rows[name] for name in ROW.names or ())
        self.n_ratings += len(rows)
        self.patterns += self.kinds.patterns((item, rater, code, day), width)
        self.pairs += tally.pair_tables(item, rater, code, width)
        self.peers += self.kinds.peers((item, rater, code, day), width)
        keys, numbers = np.unique(np.stack([rater, day]), axis=1, return_counts=True)
        for one, on, number in zip(*keys.tolist(), numbers.tolist(), strict=True):
            for key in ((one, on), (one, EVER)):
                self.own[key] = self.own.get(key, 0) + number


def _whole_items(question_id: int, rater: int | None) -> Iterator[np.ndarray]:
    """The counted ratings, those of the rater's items alone where one is named, in parts that hold
    all ratings of their items. Arrays of ROW."""
    after = -1
    counted = Rating.objects.filter(question_id=question_id, counted__gt=NOTHING)
    if rater is not None:
        counted = counted.filter(item__in=counted.filter(rater=rater).values("item"))
    while True:
        rows = counted.filter(item__gt=after).order_by("item_id", "rater_id")
        columns = rows.values_list("item_id", "rater_id", "counted", "counted_day")[
            :RATINGS_AT_ONCE
        ]
        part = np.fromiter(columns.iterator(chunk_size=20_000), dtype=ROW)
        if len(part) == RATINGS_AT_ONCE:
            last = part["item"][-1]
            if part["item"][0] == last:
                part = np.fromiter(
                    counted.filter(item=int(last)).values_list(
                        "item_id", "rater_id", "counted", "counted_day"
                    ),
                    dtype=ROW,
                )
            else:
                part = part[part["item"] < last]
        if not len(part):
            return
        yield part
        after = int(part["item"].max())


@dataclass
class PeerRows:
    """Peer counts by (rater, day), EVER included, also of raters who rated alone. Lists and arrays
    of one length G."""

    keys: list[tuple[int, int]]
    tables: np.ndarray
    moments: np.ndarray | None
    n_items: list[int]

    @classmethod
    def of(cls, recount: Recount, width: int) -> PeerRows:
        peers = recount.peers
        keys = sorted(recount.own)
        place = {key: index for index, key in enumerate(keys)}
        days = peers.day if peers.day is not None else np.zeros(0, np.int64)
        links = list(zip(peers.rater.tolist(), days.tolist(), strict=True))
        moments = None if peers.moments is None else np.zeros((len(keys), *[width] * 3), np.int64)
        rows = cls(keys, np.zeros((len(keys), width, width), np.int64), moments, [0] * len(keys))
        for index, (rater, day) in enumerate(links):
            for key in ((rater, day), (rater, EVER)):
                rows._add(place[key], peers, index)
        return rows

    def _add(self, to: int, peers: tally.PeerTables, index: int) -> None:
        self.tables[to] += peers.tables[index]
        self.n_items[to] += int(peers.n_items[index])
        if self.moments is not None and peers.moments is not None:
            self.moments[to] += peers.moments[index]
