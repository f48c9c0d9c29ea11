"""The labels of a question into their rows: what moved is written, a few at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection, transaction
from django.utils import timezone

from core.db import bulk
from core.jobs.lease import Lost
from metrics.scale import QuestionScale
from quality.models import Consensus, ItemLabel, RaterConfusion, Source

from .fit import TIED, Labels
from .votes import Fixed, decided_since

AT_ONCE = 2_000  # rows a transaction, so that nobody who rates waits long for the database
# Probabilities that moved by less are left as they are: the estimate itself ends there.
MOVED = 1e-6

COLUMNS = (
    "question_id",
    "item_id",
    "code",
    "source",
    "confidence",
    "doubt",
    "shares",
    "mean",
    "n_ratings",
    "reason",
    "made_at",
)
CONFUSION_COLUMNS = ("question_id", "rater_id", "confusion", "rests_on", "accuracy", "bias")
COMPARED = ("code", "source", "confidence", "shares", "mean", "n_ratings", "reason")
Row = tuple[Any, ...]  # of COLUMNS


def store(
    consensus: Consensus, labels: Labels, fixed: Fixed, scale: QuestionScale, *, seen: int
) -> None:
    """Write the labels that moved, and take away those of items that have none any more.

    ``seen``: the newest decision that the labels know. What was decided since stands already, and
    is passed over. Raises Lost where another worker has the question meanwhile.
    """
    question_id = consensus.question_id
    mine = _Mine(consensus, seen)
    fresh = {row[1]: row for row in label_rows(question_id, labels, fixed, scale)}
    stood = {row[0]: row[1:] for row in standing(question_id)}
    moved = [row for item, row in fresh.items() if differs(stood.get(item), row)]
    for start in range(0, len(moved), AT_ONCE):
        mine.write(moved[start : start + AT_ONCE])
    gone = sorted(set(stood) - set(fresh))
    for start in range(0, len(gone), AT_ONCE):
        mine.remove(gone[start : start + AT_ONCE])
    _store_confusions(question_id, labels)


def lock(question_id: int) -> Consensus:
    """The question's row, held until the transaction ends: labels and decisions take turns."""
    Consensus.objects.get_or_create(question_id=question_id)
    return Consensus.objects.select_for_update().get(question_id=question_id)


def known_row(
    question_id: int, item: int, place: int, scale: QuestionScale, *, source: str, n_ratings: int
) -> Row:
    """The row of an item whose category is known for certain; ``place`` among the declared ones."""
    shares = np.zeros(scale.k)
    shares[place] = 1.0
    mean = None if scale.values is None else float(scale.values[place])
    code = int(scale.codes[place])
    numbers = (1.0, 0.0, json.dumps(shares.tolist()), mean, n_ratings)
    return (question_id, item, code, source, *numbers, "", now())


def write_rows(rows: list[Row]) -> None:
    """Inside a transaction that holds the question's lock."""
    bulk.upsert("quality_itemlabel", COLUMNS, rows, key=("question_id", "item_id"))


def now() -> Any:
    """The time as the database of this connection takes it in plain SQL."""
    return connection.ops.adapt_datetimefield_value(timezone.now())


def label_rows(
    question_id: int, labels: Labels, fixed: Fixed, scale: QuestionScale
) -> Iterator[Row]:
    """The rows that should stand: of rated items by their ratings, unless a decision or a gold
    answer is there, and of the others that have one of these."""
    place_of = {int(code): place for place, code in enumerate(scale.codes)}
    known = {item: place_of[code] for item, code in fixed.codes.items() if code in place_of}
    counted = dict(zip(labels.item.tolist(), labels.ratings.tolist(), strict=True))
    for item, place in known.items():
        source = Source.DECISION if item in fixed.decided else Source.GOLD
        n_ratings = counted.get(item, 0)
        yield known_row(question_id, item, place, scale, source=source.value, n_ratings=n_ratings)
    codes = [*scale.codes.tolist(), None]  # the last one for a label of -1
    made_at = now()
    shares = labels.shares.tolist()
    for index, item in enumerate(labels.item.tolist()):
        if item in known:
            continue
        code = codes[labels.label[index]]
        confidence = None if labels.confidence is None else float(labels.confidence[index])
        surest = max(shares[index]) if confidence is None else confidence
        yield (
            question_id,
            item,
            code,
            Source.CONSENSUS.value,
            confidence,
            1 - surest if code is not None else 1.0,
            json.dumps(shares[index]),
            None if labels.mean is None else float(labels.mean[index]),
            int(labels.ratings[index]),
            "" if code is not None else TIED,
            made_at,
        )


def standing(question_id: int) -> Iterator[tuple[Any, ...]]:
    rows = ItemLabel.objects.filter(question_id=question_id).order_by("item_id")
    return rows.values_list("item_id", *COMPARED).iterator(chunk_size=AT_ONCE)


def differs(stood: tuple[Any, ...] | None, row: Row) -> bool:
    """Whether a stored label (as ``standing`` reads it) is another one than that of a row."""
    if stood is None:
        return True
    was = dict(zip(COMPARED, stood, strict=True))
    is_now = dict(zip(COLUMNS, row, strict=True))
    if any(was[name] != is_now[name] for name in ("code", "source", "n_ratings", "reason")):
        return True
    before = [was["confidence"], was["mean"], *was["shares"]]
    after = [is_now["confidence"], is_now["mean"], *json.loads(is_now["shares"])]
    return len(before) != len(after) or any(map(_apart, before, after))


def _apart(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is not other
    return abs(one - other) >= MOVED


@dataclass(frozen=True)
class _Mine:
    """The question as long as it is in this worker's hands. ``seen``: as in ``store``."""

    consensus: Consensus
    seen: int

    @transaction.atomic
    def write(self, rows: list[Row]) -> None:
        since = self._decided_meanwhile()
        write_rows([row for row in rows if row[1] not in since])

    @transaction.atomic
    def remove(self, items: list[int]) -> None:
        since = self._decided_meanwhile()
        gone = [item for item in items if item not in since]
        question = self.consensus.question_id
        ItemLabel.objects.filter(question_id=question, item__in=gone).delete()

    def _decided_meanwhile(self) -> set[int]:
        """With the question's lock in hand. Raises Lost."""
        question_id = self.consensus.question_id
        if lock(question_id).lease != self.consensus.lease:
            raise Lost
        return decided_since(question_id, self.seen)


def _store_confusions(question_id: int, labels: Labels) -> None:
    """Those of all raters, some at a time; and away with those of raters who have none any more."""
    rows = []
    for one in labels.confusions:
        matrix, rests_on = json.dumps(one.confusion), json.dumps(one.rests_on)
        rows.append((question_id, one.rater, matrix, rests_on, one.accuracy, one.bias))
    for start in range(0, len(rows), AT_ONCE):
        with transaction.atomic():
            bulk.upsert(
                "quality_raterconfusion",
                CONFUSION_COLUMNS,
                rows[start : start + AT_ONCE],
                key=("question_id", "rater_id"),
            )
    stored = RaterConfusion.objects.filter(question_id=question_id)
    standing = {one.rater for one in labels.confusions}
    gone = sorted(set(stored.values_list("rater_id", flat=True)) - standing)
    for start in range(0, len(gone), AT_ONCE):
        stored.filter(rater__in=gone[start : start + AT_ONCE]).delete()
