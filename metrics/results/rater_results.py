"""Compute and store each rater's agreement with the peers over all time, from peer tables.

The values of days, weeks and months are computed from the counts on request (rater_periods).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, permutations
from operator import itemgetter
from statistics import median
from typing import Any, Self

import numpy as np
from django.db import connection
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.utils import timezone

from core.db import bulk
from metrics import periods
from metrics.agreement.counts.additive import MAX_MOMENT_CATEGORIES
from metrics.agreement.estimate import Estimate
from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.agreement.weights import CUSTOM, WEIGHTINGS, get_weighted_name
from metrics.counting import store
from metrics.counting.store import CountScope
from metrics.models import ALL_DAYS, CountState, PairTally, PeerTally, RaterResult
from metrics.question_scale import QuestionScale
from metrics.results.intervals import QuestionClusters
from metrics.results.stored_values import Values, build_pair_mean_value, copy_sample_sizes
from projects.models import Rater
from ratings.models import NO_CODE, Rating

COLUMNS = ("rater_id", "day", "n_items", "n_ratings", "width", "table", "moments")
WITHOUT_MOMENTS = COLUMNS[:-1]  # if no interval is needed


@dataclass(frozen=True)
class PeerSums:
    """Peer counts by rater and day (or first day of a period), ready for the formulas.

    ``keys`` (G, 2), ascending; the arrays are as in metrics.agreement.coefficients.groups.
    """

    keys: np.ndarray
    tables: np.ndarray
    moments: np.ndarray | None
    n_items: np.ndarray
    n_ratings: np.ndarray

    @classmethod
    def from_rows(
        cls, tallies: Iterable[tuple[Any, ...]], scale: QuestionScale, *, intervals: bool = True
    ) -> PeerSums:
        """Build the sums from rows of COLUMNS of one question, one for each rater and day.

        Without ``intervals``, the rows have the columns WITHOUT_MOMENTS, and estimates from the
        sums have no intervals.
        """
        rows = sorted(tallies, key=itemgetter(0, 1))
        width = scale.width
        widths = [row[4] for row in rows]
        with_moments = intervals and width <= MAX_MOMENT_CATEGORIES
        tables = store.decode_arrays([row[5] for row in rows], widths, width, axes=2)
        moments = (
            store.decode_arrays([row[6] for row in rows], widths, width, axes=3)
            if with_moments
            else None
        )
        numbers = np.array([row[:4] for row in rows], np.int64).reshape(-1, 4)
        return cls(numbers[:, :2], tables, moments, numbers[:, 2], numbers[:, 3])

    def sum_by(self, span: str) -> PeerSums:
        """Sum the counts over the days of each period."""
        starts = np.stack(
            [self.keys[:, 0], periods.compute_start_days(self.keys[:, 1], span)], axis=1
        )
        keys, first_indices = np.unique(starts, axis=0, return_index=True)
        if len(keys) == len(self.keys):
            return PeerSums(keys, self.tables, self.moments, self.n_items, self.n_ratings)
        moments = None if self.moments is None else np.add.reduceat(self.moments, first_indices)
        sums = (
            np.add.reduceat(counts, first_indices)
            for counts in (self.tables, self.n_items, self.n_ratings)
        )
        tables, n_items, n_ratings = sums
        return PeerSums(keys, tables, moments, n_items, n_ratings)

    def compute_estimates(
        self, scale: QuestionScale, names: Collection[str] | None = None
    ) -> dict[str, Estimate]:
        """Return name -> Estimate (G,) of the coefficients in ``names``, or of all when None."""
        tables = scale.reorder_to_declared(self.tables, axes=2)
        moments = None if self.moments is None else scale.reorder_to_declared(self.moments, axes=3)
        return scale.estimate_peers(tables, moments, self.n_items, names=names)


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
    sums = PeerSums.from_rows(tallies.values_list(*COLUMNS), scale)
    pairwise_means = compute_mean_pairwise_by_rater(scope.questions, ids)
    _save_results(scope, sums, scale=scale, pairwise_means=pairwise_means)
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
    scope: CountScope,
    sums: PeerSums,
    *,
    scale: QuestionScale,
    pairwise_means: dict[int, Values],
) -> None:
    estimates = sums.compute_estimates(scale)
    computed_at = connection.ops.adapt_datetimefield_value(timezone.now())
    rows, without_ratings = [], []
    values_by_rater = zip(*(estimate.to_values() for estimate in estimates.values()), strict=True)
    for index, (rater_id, estimates_of_rater) in enumerate(
        zip(sums.keys[:, 0].tolist(), values_by_rater, strict=True)
    ):
        n_ratings = int(sums.n_ratings[index])
        if not n_ratings:
            without_ratings.append(rater_id)
            continue
        values = dict(zip(estimates, estimates_of_rater, strict=True))
        values |= add_sample_sizes(values, pairwise_means[rater_id])
        details = {"table": scale.reorder_to_declared(sums.tables[index], axes=2).tolist()}
        texts = store.encode_json(values), store.encode_json(details)
        rows.append((scope.get_question_id(rater_id), rater_id, n_ratings, *texts, computed_at))
    key = ("question_id", "rater_id")
    columns = (*key, "n_ratings", "coefficients", "details", "computed_at")
    bulk.upsert("metrics_raterresult", columns, rows, key=key)
    for rater_id in without_ratings:
        RaterResult.objects.filter(
            question=scope.get_question_id(rater_id), rater_id=rater_id
        ).delete()


def add_sample_sizes(values: Values, means: Values) -> Values:
    """Return a rater's means over pairs, with the sample sizes of the comparison with the peers.

    ``values``: the rater's values against the peers; ``means``: those over pairs.
    """
    return copy_sample_sizes(means, values["vs_peers"])


def compute_mean_pairwise_by_rater(
    questions: Sequence[int], raters: list[int]
) -> dict[int, Values]:
    """Return rater -> {"mean_pairwise_kappa": Value, ...}, an entry for each weighting.

    A mean is over the rater's defined kappas with each other rater, or with each person where
    models are separate.
    """
    if not raters:
        return {}
    states = CountState.objects.filter(pk__in=questions, separates_models=True)
    models = list(chain.from_iterable(states.values_list("model_raters", flat=True)))
    kappas = [f"kappa_{name}" for name in WEIGHTINGS]
    sides = []
    for side, other_side in permutations(("rater_a", "rater_b")):
        pairs = PairTally.objects.filter(**{"question__in": questions, f"{side}__in": raters})
        if models:
            pairs = pairs.exclude(**{f"{other_side}__in": models})
        sides.append(pairs.order_by().annotate(rater=F(f"{side}_id")).values_list("rater", *kappas))
    sums = ", ".join(f"SUM({kappa}), COUNT({kappa})" for kappa in kappas)
    kappas_query = sides[0].union(sides[1], all=True).query.sql_with_params()
    statement = bulk.select_from(kappas_query, f"rater, {sums}", "GROUP BY rater")
    sums_by_rater = {
        rater: list(zip(row[::2], row[1::2], strict=True))
        for rater, *row in bulk.execute_statements([statement])[0]
    }
    no_kappas = [(None, 0)] * len(kappas)
    return {rater: _build_means(sums_by_rater.get(rater, no_kappas)) for rater in raters}


def _build_means(sums: list[tuple[float | None, int]]) -> Values:
    """Return the mean kappas by name, from the sum and the number of the defined kappas.

    ``sums``: a pair for each of WEIGHTINGS. A mean without kappas is undefined; that of custom
    weights is left out.
    """
    means: Values = {}
    for name, (total, pairs) in zip(WEIGHTINGS, sums, strict=True):
        if name == CUSTOM and not pairs:
            continue
        mean = (total or 0.0) / pairs if pairs else None
        means[get_weighted_name(MEAN_PAIRWISE, name)] = build_pair_mean_value(mean, pairs)
    return means
