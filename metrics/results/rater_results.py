"""Compute and store each rater's agreement with the peers over all time, from peer tables.

The values of days, weeks and months are computed from the counts on request (rater_periods).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from statistics import median
from typing import Any, Self

import numpy as np
from django.db import connection
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from core.db import bulk
from metrics import periods
from metrics.agreement.counts.additive_counts import MAX_MOMENT_CATEGORIES
from metrics.agreement.counts.tally import PeerTables
from metrics.counting import store
from metrics.counting.store import CountScope
from metrics.models import ALL_DAYS, PeerTally, RaterResult
from metrics.question_scale import QuestionScale
from metrics.results.intervals import QuestionClusters
from metrics.results.pair_means import load_means_by_rater
from metrics.results.patterns import iter_values_by_name
from metrics.results.stored_values import Values, copy_sample_sizes
from projects.models import Rater
from ratings.models import NO_CODE, Rating

COLUMNS = ("rater_id", "day", "n_items", "width", "table", "moments")
WITHOUT_MOMENTS = COLUMNS[:-1]  # if no interval is needed


def decode_peer_tables(
    tallies: Iterable[tuple[Any, ...]], scale: QuestionScale, *, intervals: bool = True
) -> PeerTables:
    """Return peer tables by rater and day, in declared order, of rows of COLUMNS.

    There is one row for each rater and day. Without ``intervals``, the rows have the columns
    WITHOUT_MOMENTS, and estimates from the tables have no intervals.
    """
    rows = sorted(tallies, key=itemgetter(0, 1))
    widths, width = [row[3] for row in rows], scale.width
    tables = store.decode_arrays([row[4] for row in rows], widths, width, axes=2)
    moments = None
    if intervals and width <= MAX_MOMENT_CATEGORIES:
        by_code = store.decode_arrays([row[5] for row in rows], widths, width, axes=3)
        moments = scale.reorder_to_declared(by_code, axes=3)
    raters, days, n_items = np.array([row[:3] for row in rows], np.int64).reshape(-1, 3).T
    return PeerTables(raters, days, scale.reorder_to_declared(tables, axes=2), moments, n_items)


def sum_by_period(peers: PeerTables, span: str) -> PeerTables:
    """Sum peer tables of days over the days of each period; the day is the period's first."""
    if peers.day is None or not len(peers):
        return peers
    start_days = periods.compute_start_days(peers.day, span)
    is_first = np.ones(len(peers), bool)
    is_first[1:] = (np.diff(peers.rater) != 0) | (np.diff(start_days) != 0)
    first = np.flatnonzero(is_first)
    if len(first) == len(peers):
        return replace(peers, day=start_days)
    return PeerTables(
        peers.rater[first],
        start_days[first],
        np.add.reduceat(peers.tables, first),
        None if peers.moments is None else np.add.reduceat(peers.moments, first),
        np.add.reduceat(peers.n_items, first),
    )


def add_sample_sizes(values: Values, means: Values) -> Values:
    """Return a rater's means over pairs, with the sample sizes of the comparison with the peers.

    ``values``: the rater's values against the peers; ``means``: those over pairs.
    """
    return copy_sample_sizes(means, values["vs_peers"])


@dataclass(frozen=True)
class RaterAgreement:
    """A rater's agreement with the peers over all time, with its intervals.

    It is computed from all ratings (models.RaterResult), or from those of a filter. ``seconds``:
    the median of the newest timed ratings, or None; ``table``: the rater's categories by those of
    the peers on the same items, empty in lists of raters.
    """

    rater: Rater
    n_ratings: int
    coefficients: Values
    seconds: float | None
    table: list[list[int]] = field(default_factory=list)

    @classmethod
    def from_row(
        cls, row: RaterResult, clusters: QuestionClusters | None, *, with_table: bool = False
    ) -> Self:
        """Return the stored agreement, with its intervals widened unless ``clusters`` is None.

        ``with_table``: also the table of the rater's categories by those of the peers.
        """
        table = row.details.get("table", []) if with_table else []
        agreement = cls(row.rater, row.n_ratings, row.coefficients, row.seconds, table)
        return agreement.widen_intervals(clusters)

    def widen_intervals(self, clusters: QuestionClusters | None) -> Self:
        """Return the agreement with intervals widened for clusters; unchanged for None."""
        if clusters is None:
            return self
        return replace(self, coefficients=clusters.widen_all(self.coefficients))


MAX_RATERS = 500  # results that are computed in one transaction under the question's lock
TIMED_RATINGS = (
    500  # newest ratings of a rater whose median time is stored as the rater's current speed
)
RATERS_AT_ONCE = 5  # where several workers share the raters of a question


def refresh_stale_raters(question_id: int, scale: QuestionScale) -> bool | None:
    """Compute the results of up to MAX_RATERS raters whose peer counts changed.

    Return None if there are none, else whether more are left. Call it under the question's lock.
    """
    stale = _filter_stale(question_id)
    raters = list(stale.order_by("rater_id").values_list("rater_id", flat=True)[:MAX_RATERS])
    if not raters:
        return None
    refresh_rater_results(CountScope.for_question(question_id), raters, scale)
    if len(raters) < MAX_RATERS:  # all of them: no other worker marks any while the lock is held
        stale.update(stale=False)
        return False
    stale.filter(rater__in=raters).update(stale=False)
    return stale.exists()


def refresh_unlocked_raters(question_id: int, scale: QuestionScale) -> bool:
    """Compute the stale results of a few raters that no other worker has locked.

    Return False if there are none. Several workers may call it in parallel, each in a transaction
    in which the counts cannot change. The lock of a rater is the PeerTally row of all days.
    """
    stale = _filter_stale(question_id)
    unlocked = stale.select_for_update(skip_locked=True, of=("self",)).order_by("rater_id")
    raters = list(unlocked.values_list("rater_id", flat=True)[:RATERS_AT_ONCE])
    if not raters:
        return False
    refresh_rater_results(CountScope.for_question(question_id), raters, scale)
    stale.filter(rater__in=raters).update(stale=False)
    return True


def _filter_stale(question_id: int) -> QuerySet[PeerTally]:
    # The row of all days marks the rater's result stale: nothing is stored for single days.
    return PeerTally.objects.filter(question_id=question_id, day=ALL_DAYS, stale=True)


def refresh_rater_results(scope: CountScope, raters: Collection[int], scale: QuestionScale) -> None:
    """Compute the results of these raters from the counts, and store them."""
    if not raters:
        return
    ids = list(raters)
    tallies = PeerTally.objects.filter(day=ALL_DAYS, question__in=scope.questions, rater__in=ids)
    rows = list(tallies.values_list(*COLUMNS, "n_ratings"))
    n_ratings = {rater_id: number for rater_id, *_columns, number in rows}
    _save_results(scope, decode_peer_tables(rows, scale), n_ratings, scale)
    _save_seconds(scope, ids)


def _save_seconds(scope: CountScope, raters: list[int]) -> None:
    """Store the median seconds of the raters whose newest rating was timed.

    It takes two further queries for each of these raters.
    """
    ratings = Rating.objects.filter(question__in=scope.questions, code__gt=NO_CODE)
    ratings = ratings.order_by("-changed_at", "-id")
    newest = Subquery(ratings.filter(rater=OuterRef("pk")).values("seconds")[:1])
    timed = Rater.objects.filter(pk__in=raters).annotate(newest=newest).filter(newest__isnull=False)
    for rater_id in timed.values_list("pk", flat=True):
        seconds = [
            value
            for value in ratings.filter(rater=rater_id).values_list("seconds", flat=True)[
                :TIMED_RATINGS
            ]
            if value is not None
        ]
        result = RaterResult.objects.filter(
            question=scope.get_question_id(rater_id), rater=rater_id
        )
        result.update(seconds=median(seconds))


def _save_results(
    scope: CountScope, peers: PeerTables, n_ratings: Mapping[int, int], scale: QuestionScale
) -> None:
    """Write the results of these raters, whose numbers of ratings are ``n_ratings``."""
    means = load_means_by_rater(scope.questions, list(n_ratings))
    computed_at = connection.ops.adapt_datetimefield_value(timezone.now())
    rows, without_ratings = [], []
    values_by_rater = iter_values_by_name(scale.estimate_peers(peers))
    for rater_id, table, values in zip(
        peers.rater.tolist(), peers.tables, values_by_rater, strict=True
    ):
        if not n_ratings[rater_id]:
            without_ratings.append(rater_id)
            continue
        coefficients = values | add_sample_sizes(values, means[rater_id])
        texts = store.encode_json(coefficients), store.encode_json({"table": table.tolist()})
        question_id = scope.get_question_id(rater_id)
        rows.append((question_id, rater_id, n_ratings[rater_id], *texts, computed_at))
    key = ("question_id", "rater_id")
    columns = (*key, "n_ratings", "coefficients", "details", "computed_at")
    bulk.upsert("metrics_raterresult", columns, rows, key=key)
    for rater_id in without_ratings:
        RaterResult.objects.filter(
            question=scope.get_question_id(rater_id), rater_id=rater_id
        ).delete()
