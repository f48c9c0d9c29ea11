"""Ratings as they stood at a moment, from the history that nothing is ever taken out of.

A rating stands as its newest line of history that was recorded by then says; what a file said
before in the same breath never stood. Every writer sets the time after it has the question's lock
and keeps that lock until its commit (ratings.services). Who has held the lock alone for a moment
therefore has seen all that was recorded before, and later sees the same.
"""

from __future__ import annotations

import datetime
import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from django.db import transaction
from django.db.models import Max

from metrics.counting.store import json_text
from projects import locks
from projects.models import Item, Question, Rater
from projects.services.raters import kind_history
from ratings.models import NOTHING, Revision

ROW = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i8"), ("rated", "f8")])


@dataclass(frozen=True)
class Standing:
    """Ratings at a moment (M,) as ROW: code as the categories have it, `rated` in seconds since
    1970; the keys of their items and raters by id; and which raters were models then."""

    rows: np.ndarray
    items: dict[int, str]
    raters: dict[int, Rater]
    models: set[int]

    def digest(self) -> str:
        """SHA-256 of the ratings: a JSON list [item, rater, code] a line, by the bytes of item and
        rater."""
        told = hashlib.sha256()
        for line in self._lines():
            told.update(line.encode() + b"\n")
        return told.hexdigest()

    def _lines(self) -> Iterator[str]:
        order = np.argsort(self.rows["item"], kind="stable")
        columns = [self.rows[name][order].tolist() for name in ("item", "rater", "code")]
        by_item = {
            item: [(rater, code) for _item, rater, code in group]
            for item, group in itertools.groupby(zip(*columns, strict=True), lambda row: row[0])
        }
        for item in sorted(by_item, key=lambda item: self.items[item].encode()):
            said = [(self.raters[rater].key, code) for rater, code in by_item[item]]
            for rater, code in sorted(said, key=lambda one: one[0].encode()):
                yield json_text([self.items[item], rater, code])


def standing_at(question: Question, moment: datetime.datetime) -> Standing:
    """The ratings of a question that stood at a moment, which must not lie ahead."""
    _settle(question)
    lines = Revision.objects.filter(
        rating__question=question, recorded_at__lte=moment, superseded=False
    )
    newest = lines.order_by().values("rating").annotate(line=Max("id")).values("line")
    said = Revision.objects.filter(pk__in=newest, code__gt=NOTHING).order_by()
    columns = said.values_list("rating__item_id", "rating__rater_id", "code", "rated_at")
    plain = ((*ints, at.timestamp()) for *ints, at in columns.iterator(chunk_size=20_000))
    rows = np.fromiter(plain, dtype=ROW)
    rated = set(rows["item"].tolist())
    keys = Item.objects.filter(project=question.project_id).values_list("pk", "key")
    items = {pk: key for pk, key in keys.iterator(chunk_size=20_000) if pk in rated}
    raters, models = kind_history.at(set(rows["rater"].tolist()), moment)
    return Standing(rows, items, raters, models)


@transaction.atomic
def _settle(question: Question) -> None:
    """Wait until whoever was writing is done. On SQLite the transaction itself waits for it."""
    locks.change_categories(question.pk)
