"""Mean kappas of pairs of raters: of a question, by shared items, and of each rater.

The pairs are those that are stored, or those of the ratings of a filter. The mean of a question's
pairs comes from the sum of their kappas. The one by shared items has an interval and needs the
pairs themselves, so it is computed after the other results (results.refresh).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, permutations
from typing import Self

import numpy as np
from django.db.models import F, Q, QuerySet

from core.db import bulk
from metrics.agreement.coefficients import cohen
from metrics.agreement.counts import tally
from metrics.agreement.counts.grouping import index_distinct
from metrics.agreement.counts.tally import PairTables
from metrics.agreement.registry import MEAN_BY_ITEMS, MEAN_PAIRWISE
from metrics.agreement.weights import CUSTOM, WEIGHTINGS
from metrics.counting import store
from metrics.models import CountState, PairTally
from metrics.question_scale import QuestionScale, get_weighted_name
from metrics.results.patterns import AllTimePatterns, GroupValues
from metrics.results.stored_values import Values, build_pair_mean_value, copy_sample_sizes

MAX_PAIRS = 20_000  # those with the most shared items; the others have almost no weight
MAX_CELLS = 8_000_000  # numbers in the tables of a block of pairs


@dataclass(frozen=True)
class RatedPairs:
    """Pairs of raters that share items: ids and numbers of shared items, each (P,).

    ``kappas``: weighting -> Cohen's kappas (P,), NaN where undefined.
    """

    rater_a: np.ndarray
    rater_b: np.ndarray
    n_items: np.ndarray
    kappas: dict[str, np.ndarray]

    @classmethod
    def load(cls, pairs: QuerySet[PairTally], scale: QuestionScale) -> Self:
        """Return those MAX_PAIRS of the stored pairs that share the most items, or fewer."""
        names = scale.list_weightings()
        columns = "rater_a_id", "rater_b_id", "n_items", *(f"kappa_{name}" for name in names)
        by_shared_items = pairs.order_by("-n_items", "rater_a_id", "rater_b_id")
        rows = list(by_shared_items.values_list(*columns)[:MAX_PAIRS])
        numbers = np.array([row[:3] for row in rows], np.int64).reshape(-1, 3)
        rater_a, rater_b, n_items = numbers.T
        kappas = np.array([row[3:] for row in rows], float).reshape(-1, len(names)).T
        return cls(rater_a, rater_b, n_items, dict(zip(names, kappas, strict=True)))

    @classmethod
    def from_ratings(cls, ratings: np.ndarray, scale: QuestionScale) -> Self:
        """Compute the pairs of ratings (M,): item, rater and code (index in declared order)."""
        matrices = scale.build_weight_matrices()
        blocks = [
            (
                tables.rater_a,
                tables.rater_b,
                tables.tables.sum(axis=(1, 2)),
                *(cohen.kappa(tables.tables, w, interval=False).value for w in matrices.values()),
            )
            for tables in iter_pair_blocks(ratings, scale.k)
        ]
        rater_a, rater_b, n_items, *kappas = map(np.concatenate, zip(*blocks, strict=True))
        return cls(rater_a, rater_b, n_items, dict(zip(matrices, kappas, strict=True)))

    def __len__(self) -> int:
        return len(self.n_items)

    def select(self, rows: np.ndarray) -> RatedPairs:
        """Return the pairs that a mask or an array of indices selects."""
        kappas = {name: kappa[rows] for name, kappa in self.kappas.items()}
        return RatedPairs(self.rater_a[rows], self.rater_b[rows], self.n_items[rows], kappas)

    def exclude_raters(self, raters: np.ndarray) -> RatedPairs:
        """Return the pairs without those that contain one of these raters."""
        excluded = np.isin(self.rater_a, raters) | np.isin(self.rater_b, raters)
        return self.select(~excluded)

    def compute_means(self, values: Values) -> Values:
        """Return the means of the pairs' kappas; ``values``: coefficients of the same ratings."""
        sums = store.create_pair_sums()
        store.add_kappas_to_sums(sums, self.kappas)
        return build_question_means(sums, values, has_pairs=lambda: len(self) > 0)

    def compute_means_by_items(
        self, counts: np.ndarray, n_items: np.ndarray, scale: QuestionScale
    ) -> Values:
        """Return name -> mean kappa by shared items under each weighting; {} without pairs.

        It is that of the MAX_PAIRS pairs that share the most items. ``counts`` (P, k), ``n_items``
        (P,): patterns of the same raters' ratings.
        """
        if not len(self):
            return {}
        by_shared_items = np.lexsort((self.rater_b, self.rater_a, -self.n_items))
        pairs = self.select(by_shared_items[:MAX_PAIRS])
        means: Values = {}
        for name, weights in scale.build_weight_matrices().items():
            kappas = cohen.PairKappas(
                pairs.rater_a, pairs.rater_b, pairs.n_items, pairs.kappas[name]
            )
            mean, n_pairs = cohen.mean_kappa_weighted_by_items(kappas, counts, n_items, weights)
            means[get_weighted_name(MEAN_BY_ITEMS, name)] = {**mean.to_value(), "n_pairs": n_pairs}
        return means

    def compute_means_by_rater(
        self, raters: Collection[int], models: np.ndarray
    ) -> dict[int, Values]:
        """Return {rater: mean kappas}, as `load_means_by_rater` does of stored pairs.

        ``models``: the ids of models that are separate from people.
        """
        ids, index = index_distinct(np.concatenate([self.rater_a, self.rater_b]))
        has_peer = ~np.isin(np.concatenate([self.rater_b, self.rater_a]), models)
        sums_by_weighting = {}
        for name, kappa in self.kappas.items():
            kappa_of_both = np.tile(kappa, 2)
            included = has_peer & np.isfinite(kappa_of_both)
            total = np.bincount(index[included], kappa_of_both[included], len(ids))
            n_pairs = np.bincount(index[included], minlength=len(ids))
            sums = zip(total.tolist(), n_pairs.tolist(), strict=True)
            sums_by_weighting[name] = dict(zip(ids.tolist(), sums, strict=True))
        return {
            rater: build_rater_means(
                {name: sums.get(rater, (None, 0)) for name, sums in sums_by_weighting.items()}
            )
            for rater in raters
        }


def iter_pair_blocks(ratings: np.ndarray, k: int) -> Iterator[PairTables]:
    """Yield every pair of raters once, in blocks whose tables have at most MAX_CELLS numbers.

    ``ratings``: an array (M,) with item, rater and code; ``k``: categories. One block at least.
    """
    raters, index = index_distinct(ratings["rater"])
    # Raters of one side; two sides give size * size * 2 pairs.
    size = max(1, int((2 * MAX_CELLS / k**2) ** 0.5) // 2)
    block = index // size
    n_blocks = max(1, -(-len(raters) // size))
    for first in range(n_blocks):
        for second in range(first, n_blocks):
            if first == second and first + 1 < n_blocks:
                continue  # its pairs are yielded with those of the next block
            block_ratings = ratings[(block == first) | (block == second)]
            tables = tally.count_pair_tables(
                block_ratings["item"], block_ratings["rater"], block_ratings["code"], k
            )
            block_a = np.searchsorted(raters, tables.rater_a) // size
            block_b = np.searchsorted(raters, tables.rater_b) // size
            included = (block_a != block_b) | (
                (block_a == first) & (second == min(first + 1, n_blocks - 1))
            )
            yield tables.select(included)


def compute_question_mean_kappas(all_time: AllTimePatterns) -> Values:
    """Return name -> mean kappa of a question's stored pairs by shared items.

    The pairs are those of people where models are separate, unless the lead pooled them.
    """
    pairs = PairTally.objects.filter(question=all_time.question_id)
    if all_time.is_people_only:
        pairs = pairs.exclude(rater_a__in=all_time.model_raters)
        pairs = pairs.exclude(rater_b__in=all_time.model_raters)
    return RatedPairs.load(pairs, all_time.scale).compute_means_by_items(
        all_time.displayed_counts, all_time.n_items, all_time.scale
    )


def add_means_over_pairs(state: CountState, values: GroupValues) -> GroupValues:
    """Return the values with the mean kappas (Light 1971) of all pairs, and of pairs of people.

    Pairs that share no item are left out. Call it under the question's lock: ``state`` holds the
    sums of the kappas.
    """
    pairs = PairTally.objects.filter(question=state.question_id)
    sums = store.create_pair_sums() | state.pair_sums
    means = build_question_means(sums, values.pooled, has_pairs=pairs.exists)
    with_means = replace(values, pooled=values.pooled | means)
    if values.people is None:
        return with_means
    with_model = Q(rater_a__in=state.model_raters) | Q(rater_b__in=state.model_raters)
    people_sums = {name: list(total) for name, total in sums.items()}
    # Few pairs have a model, and the sums are of integers, so the difference is exact.
    store.add_kappas_to_sums(people_sums, store.read_kappas(pairs.filter(with_model)), sign=-1)
    means = build_question_means(
        people_sums, values.people, has_pairs=pairs.exclude(with_model).exists
    )
    return replace(with_means, people=values.people | means)


def build_question_means(
    sums: store.PairSums, values: Values, *, has_pairs: Callable[[], bool]
) -> Values:
    """Return name -> mean of the pairs' defined kappas under each weighting.

    ``sums``: sum and number of these kappas; ``values``: coefficients of the same ratings, from
    which the sample sizes are taken; ``has_pairs``: called where no kappa is defined.
    """
    means = {}
    for name, (total, n_pairs) in sums.items():
        if name == CUSTOM and not n_pairs:
            continue
        if n_pairs:
            mean = build_pair_mean_value(total / n_pairs / store.KAPPA_UNITS, n_pairs)
        else:
            reason = "single_category" if has_pairs() else "no_pairable_items"
            mean = build_pair_mean_value(None, 0, undefined_reason=reason)
        means[get_weighted_name(MEAN_PAIRWISE, name)] = mean
    return copy_sample_sizes(means, values["percent_agreement"])


def load_means_by_rater(questions: Sequence[int], raters: list[int]) -> dict[int, Values]:
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
    return {
        rater: build_rater_means(
            dict(zip(WEIGHTINGS, sums_by_rater.get(rater, no_kappas), strict=True))
        )
        for rater in raters
    }


def build_rater_means(sums: Mapping[str, tuple[float | None, int]]) -> Values:
    """Return a rater's mean kappas by name; ``sums``: sum and number of them by weighting.

    A mean without kappas is undefined; that of custom weights is left out.
    """
    means: Values = {}
    for name, (total, n_pairs) in sums.items():
        if name == CUSTOM and not n_pairs:
            continue
        mean = (total or 0.0) / n_pairs if n_pairs else None
        means[get_weighted_name(MEAN_PAIRWISE, name)] = build_pair_mean_value(mean, n_pairs)
    return means
