"""Estimates of the part of a score change that all raters share, by time or by items.

A rater gets a drift alert only if the rater fell beyond the others since the same onset
(difference in differences). So agreement has a second score for each other explanation, from which
the part that is common to all is removed:

    time          that of the others with each other on the same day
    items         that of the others with each other on the same items
    attributes    that of the others with each other on items with the same value of an attribute

The agreement of the others is their mean residual d - mu - a_h - a_h' without the rater on either
side. A fall that is common to all is proportional to the level of each rater (evidence.py).
"""

from collections.abc import Sequence

import numpy as np

from metrics.agreement.counts.grouping import Ints, index_distinct
from metrics.agreement.estimate import Floats

from .comparisons import BoolArray, Comparisons, DatedRatings, RaterEffects


class CommonChange:
    """Estimates of the score change that all raters share, in one round of detection.

    comparisons: those with peers; d (C,): their scores; measures_others (C,): True where neither
    rater is excluded because of an own drift; effects: fitted levels of the raters.
    """

    def __init__(
        self,
        ratings: DatedRatings,
        comparisons: Comparisons,
        d: Floats,
        *,
        measures_others: BoolArray,
        effects: RaterEffects,
    ) -> None:
        self.ratings, self.comparisons, self.d, self.effects = ratings, comparisons, d, effects
        is_first = comparisons.own_rater < comparisons.other_rater
        self.others = comparisons.select(measures_others & is_first)
        self.residuals = effects.compute_residuals(
            d[measures_others & is_first], self.others.own_rater, self.others.other_rater
        )

    def measure_all(self, attributes: Sequence[Ints]) -> list[Floats]:
        """Return the common part of each rating's score (M,), one array for each explanation.

        The order is time, items, attributes. attributes: columns (M,) with the values of the items'
        attributes. NaN where no comparison of other raters measures it.
        """
        return [
            self._measure_time(),
            *(
                self._compute_others_mean_by_group(group)
                for group in (self.ratings.item, *attributes)
            ),
        ]

    def _measure_time(self) -> Floats:
        ratings, own, other = self.ratings, self.others.own, self.others.other
        is_dated = ratings.dated[own] & ratings.dated[other]
        day = np.maximum(ratings.day[own], ratings.day[other])[is_dated]
        return self._compute_mean_of_others(ratings.day, day, is_dated, ratings.dated)

    def _compute_others_mean_by_group(self, group: Ints) -> Floats:
        """Return the mean residual (M,) of the other raters on items of each rating's group.

        group (M,): number of the group of each rating's item.
        """
        all_rows = np.ones(self.others.own.size, bool)
        return self._compute_mean_of_others(
            group, group[self.others.own], all_rows, np.ones(group.size, bool)
        )

    def _compute_mean_of_others(
        self, group: Ints, group_of_comparison: Ints, rows: BoolArray, usable: BoolArray
    ) -> Floats:
        """Return the mean residual (M,) of other raters' comparisons in each rating's group.

        group, usable (M,): of the ratings; rows: mask of the comparisons used, and
        group_of_comparison: their groups. NaN where there is none, or the rating is not usable.
        """
        groups, group_index = index_distinct(np.where(usable, group, group[usable].min(initial=0)))
        index = np.searchsorted(groups, group_of_comparison)
        residuals, n_groups = self.residuals[rows], groups.size
        n = np.bincount(index, minlength=n_groups)
        total = np.bincount(index, weights=residuals, minlength=n_groups)
        # Subtract those with the rater on either side, by pairs of rater and group.
        raters = np.concatenate([self.others.own_rater[rows], self.others.other_rater[rows]])
        keys, cell = index_distinct(raters * n_groups + np.concatenate([index, index]))
        own_n = np.append(np.bincount(cell, minlength=keys.size), 0)
        own_total = np.append(np.bincount(cell, weights=np.tile(residuals, 2)), 0.0)
        rating_keys = self.ratings.rater * n_groups + group_index
        position = np.searchsorted(keys, rating_keys)
        is_present = position < keys.size
        is_present[is_present] = keys[position[is_present]] == rating_keys[is_present]
        position = np.where(is_present, position, keys.size)
        n_others = n[group_index] - own_n[position]
        others_total = total[group_index] - own_total[position]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(usable & (n_others > 0), others_total / n_others, np.nan)
