"""Reconstruct the ratings of a question at a past moment, from their history.

A rating has the answer of its newest revision recorded by then; an earlier revision of the same
import is superseded and never counts. Every writer sets the time after it has acquired the
question's lock, and keeps that lock until its commit (ratings.services). A process that has held
the lock exclusively for a moment therefore sees everything that was recorded before, and a later
one sees the same.
"""

from __future__ import annotations

import datetime
import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np
from django.db import transaction
from django.db.models import Max

from metrics.counting.store import encode_json
from metrics.filters import NO_FILTER, RatingFilter
from projects import locks
from projects.models import Item, Question, Rater
from projects.services.rater_changes import lock_raters_and_get_model_ids
from ratings.models import NO_CODE, Revision

ROW = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i8"), ("rated", "f8")])


@dataclass(frozen=True)
class HistoricalRatings:
    """Ratings as of a past moment, as array (M,) of ROW, with their items and raters.

    ``rows``: code as in the categories, `rated` in seconds since 1970; ``items``: {id: key};
    ``raters``: {id: rater}; ``models``: ids of the raters that were models at that moment.
    """

    rows: np.ndarray
    items: dict[int, str]
    raters: dict[int, Rater]
    models: set[int]

    def compute_digest(self) -> str:
        """Return the SHA-256 of the ratings in hexadecimal digits.

        The hashed text has a line with the JSON list [item, rater, code] for each rating, sorted by
        the bytes of item and rater.
        """
        sha256 = hashlib.sha256()
        for line in self._iter_lines():
            sha256.update(line.encode() + b"\n")
        return sha256.hexdigest()

    def _iter_lines(self) -> Iterator[str]:
        order = np.argsort(self.rows["item"], kind="stable")
        columns = [self.rows[name][order].tolist() for name in ("item", "rater", "code")]
        by_item = {
            item: [(rater, code) for _item, rater, code in group]
            for item, group in itertools.groupby(zip(*columns, strict=True), lambda row: row[0])
        }
        for item in sorted(by_item, key=lambda item: self.items[item].encode()):
            codes = [(self.raters[rater].key, code) for rater, code in by_item[item]]
            for rater, code in sorted(codes, key=lambda rater_code: rater_code[0].encode()):
                yield encode_json([self.items[item], rater, code])


def get_ratings_at(
    question: Question, moment: datetime.datetime, rating_filter: RatingFilter = NO_FILTER
) -> HistoricalRatings:
    """Return the ratings of a question at a moment, which must not be in the future.

    The filter applies the kinds of raters at that moment, but the current groups of raters,
    attributes of items and requests for ratings.
    """
    _wait_for_writers(question)
    revisions = Revision.objects.filter(
        rating__question=question, recorded_at__lte=moment, superseded=False
    )
    newest = revisions.order_by().values("rating").annotate(line=Max("id")).values("line")
    current = Revision.objects.filter(pk__in=newest, code__gt=NO_CODE).order_by()
    zone = ZoneInfo(question.project.time_zone)
    current = rating_filter.filter_answers(current, zone, path="rating__")
    columns = current.values_list("rating__item_id", "rating__rater_id", "code", "rated_at")
    records = (
        (*ints, rated_at.timestamp()) for *ints, rated_at in columns.iterator(chunk_size=20_000)
    )
    rows = np.fromiter(records, dtype=ROW)
    raters, models = lock_raters_and_get_model_ids(set(rows["rater"].tolist()), moment)
    if rating_filter.kind:
        is_model = np.isin(rows["rater"], list(models))
        rows = rows[is_model == (rating_filter.kind == Rater.Kind.MODEL)]
        raters = {pk: raters[pk] for pk in np.unique(rows["rater"]).tolist()}
    rated_items = set(rows["item"].tolist())
    keys = Item.objects.filter(project=question.project_id).values_list("pk", "key")
    items = {pk: key for pk, key in keys.iterator(chunk_size=20_000) if pk in rated_items}
    return HistoricalRatings(rows, items, raters, models)


@transaction.atomic
def _wait_for_writers(question: Question) -> None:
    """Wait until running writers are done. On SQLite the transaction itself waits for them."""
    locks.lock_categories(question.pk)
