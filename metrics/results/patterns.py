"""Patterns of items: their numbers in each period and of all time, and their coefficients.

People and models have separate counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from metrics import periods
from metrics.agreement import headline as headline_rules
from metrics.agreement.coefficients.groups import ChanceModel, between_group_kappa
from metrics.agreement.coefficients.krippendorff import compute_distances
from metrics.agreement.estimate import Estimate, Value
from metrics.agreement.weights import score_weights
from metrics.counting import store
from metrics.models import ALL_DAYS, CountState, PatternTally, Population
from metrics.question_scale import QuestionScale
from metrics.results.intervals import Intervals, QuestionClusters, compute_intervals
from ratings.services.rating_timestamps import date_from_day

from .stored_values import Values


@dataclass(frozen=True)
class GroupValues:
    """The values of one period by name, for each group of raters.

    ``pooled``: of all raters; `between`: the Value of one coefficient between people and models.
    Where models are not separate, only `pooled` is set.
    """

    pooled: Values
    people: Values | None = None
    models: Values | None = None
    between: Value | None = None


@dataclass(frozen=True)
class GroupedPatterns:
    """Patterns of items: counts (P, k), or (P, 2 k) of people and of models, in declared order.

    ``population`` (P,): the metrics.models.Population for which the items with the pattern count,
    because each population has days of its own; None where all items count for all populations.
    """

    counts: np.ndarray
    k: int
    population: np.ndarray | None = None

    @classmethod
    def from_code_counts(
        cls, counts: np.ndarray, scale: QuestionScale, population: np.ndarray | None = None
    ) -> GroupedPatterns:
        """Convert counts by code, (P, width) or (P, 2 width), to categories in declared order.

        ``population`` (P,): as in the class, None where all items count for all populations.
        """
        n_groups = counts.shape[1] // scale.width if scale.width else 1
        by_code = counts.reshape(len(counts), n_groups, scale.width)
        reordered = scale.reorder_to_declared(by_code).reshape(len(counts), n_groups * scale.k)
        return cls(reordered, scale.k, population)

    def select_items(self, n_items: np.ndarray, population: str) -> np.ndarray:
        """Return the items (..., P) that count for the population, zero elsewhere."""
        if self.population is None:
            return n_items
        return np.where(self.population == population, n_items, 0)

    @property
    def is_comparable(self) -> np.ndarray:
        """A mask (P,) of the patterns with two or more ratings by the population."""
        return self.pooled.sum(axis=1) >= 2

    @property
    def separates_models(self) -> bool:
        """True if people and models have separate counts."""
        return self.counts.shape[1] > self.k

    @property
    def people(self) -> np.ndarray:
        """The counts of people (P, k); of all raters where models are not separate."""
        return self.counts[:, : self.k]

    @property
    def models(self) -> np.ndarray:
        """The counts of models (P, k)."""
        return self.counts[:, self.k :]

    @property
    def pooled(self) -> np.ndarray:
        """The counts of all raters (P, k)."""
        return self.people + self.models if self.separates_models else self.counts

    def iter_values(
        self, n_items: np.ndarray, scale: QuestionScale, name: str
    ) -> Iterator[GroupValues]:
        """Yield the values for each row of n_items (D, P), in order; equal rows share one object.

        ``name``: the coefficient that is computed between people and models. All rows are computed
        in one call: the formulas are vectorised, and a call costs as much as a thousand rows. Many
        rows are equal, such as all time and the cumulative values of the last day, week and month.
        """
        unique_items, indices = np.unique(n_items, axis=0, return_inverse=True)
        values = list(self._iter_row_values(unique_items, scale, name))
        yield from (values[index] for index in indices.ravel())

    def _iter_row_values(
        self, n_items: np.ndarray, scale: QuestionScale, name: str
    ) -> Iterator[GroupValues]:
        """Yield the values of each row of n_items (D, P): `iter_values` has removed equal rows."""
        if not self.separates_models:
            for pooled in iter_values_by_name(scale.estimate_patterns(self.counts, n_items)):
                yield GroupValues(pooled)
            return
        groups = {
            Population.ALL: self.pooled,
            Population.PEOPLE: self.people,
            Population.MODELS: self.models,
        }
        counts, inverse = np.unique(
            np.concatenate(list(groups.values())), axis=0, return_inverse=True
        )
        n = len(n_items)
        items = np.zeros((len(groups), n, len(counts)), np.int64)
        for group, (population, indices) in enumerate(
            zip(groups, inverse.reshape(len(groups), -1), strict=True)
        ):
            np.add.at(items[group].T, indices, self.select_items(n_items, population).T)
        rows = list(
            iter_values_by_name(scale.estimate_patterns(counts, items.reshape(-1, len(counts))))
        )
        between_values = self.estimate_people_with_models(n_items, scale, name).to_values()
        for index, between in enumerate(between_values):
            pooled, people, models = rows[index::n]
            yield GroupValues(pooled, people, models, between)

    def estimate_people_with_models(
        self, n_items: np.ndarray, scale: QuestionScale, name: str
    ) -> Estimate:
        """Estimate agreement of people with models, by the weights and chance model of ``name``."""
        n_items = self.select_items(n_items, Population.BETWEEN)
        weights, chance = get_weights_and_chance(name, scale, self.pooled, n_items)
        return between_group_kappa(
            self.people, self.models, n_items, weights=weights, chance=chance
        )


def compute_pooled_and_people_intervals(
    patterns: GroupedPatterns, n_items: np.ndarray, scale: QuestionScale
) -> tuple[Intervals, Intervals]:
    """Return the bootstrap intervals of all raters, and those of people.

    Those of people are {} where models are not separate. ``n_items`` (P,): number of items with
    each pattern.
    """
    pooled = compute_intervals(patterns.pooled, n_items, scale)
    people = compute_intervals(patterns.people, n_items, scale) if patterns.separates_models else {}
    return pooled, people


def iter_values_by_name(estimates: dict[str, Estimate]) -> Iterator[Values]:
    """Yield {name: Value} for each entry of the estimates (n,)."""
    for row in zip(*(estimate.to_values() for estimate in estimates.values()), strict=True):
        yield dict(zip(estimates, row, strict=True))


def get_weights_and_chance(
    name: str, scale: QuestionScale, counts: np.ndarray, n_items: np.ndarray
) -> tuple[np.ndarray | None, ChanceModel]:
    """Return the weights (k, k) of a coefficient and its model of chance agreement.

    The weights are None if only equal categories agree. The ordinal distances of alpha depend on
    the ratings: they are those of all items of the patterns ``counts`` (P, k).
    """
    if name == "percent_agreement":
        return None, "none"
    if name.startswith("gwet"):
        return None, "gwet"
    if name in headline_rules.ICCS:
        return score_weights(scale.values), "margins"  # type: ignore[arg-type]  # numeric scales have them
    if name.startswith("krippendorff_alpha_"):
        metric = name.removeprefix("krippendorff_alpha_")
        if metric != "ordinal":
            return 1 - compute_distances(metric, scale.k, scale.values), "margins"
        used = np.atleast_2d(n_items).sum(axis=0) @ counts
        rank = np.cumsum(used) - used / 2
        distance = (rank[:, None] - rank[None, :]) ** 2
        return 1 - distance / (distance.max() or 1), "margins"
    return scale.build_weight_matrices()[headline_rules.get_weighting(name)], "margins"


@dataclass(frozen=True)
class AllTimePatterns:
    """The patterns of a question over all days.

    ``n_items`` (P,): number of items with each pattern; ``model_raters``: ids of the models;
    ``clusters``: None without clusters, or before their effects are computed.
    """

    question_id: int
    scale: QuestionScale
    patterns: GroupedPatterns
    n_items: np.ndarray
    model_raters: list[int]
    clusters: QuestionClusters | None = None

    @classmethod
    def load(cls, question_id: int, scale: QuestionScale) -> Self:
        """Load the patterns of a question; none (P = 0) before anything is counted."""
        rows = PatternTally.objects.filter(question_id=question_id, day=ALL_DAYS)
        row = rows.filter(population=Population.ALL).first()
        row = row or PatternTally(width=scale.width)
        counts, n_items = store.decode_patterns(row, scale.width)
        states = CountState.objects.select_related("question__project").filter(pk=question_id)
        state = states.only(
            "model_raters", "cluster_effects", "question__project__cluster_attribute"
        ).first()
        return cls(
            question_id,
            scale,
            GroupedPatterns.from_code_counts(counts, scale),
            n_items,
            state.model_raters if state else [],
            QuestionClusters.from_state(state, state.question.project) if state else None,
        )

    @property
    def is_people_only(self) -> bool:
        """True if models rate too, and the lead has not pooled them with people."""
        return self.patterns.separates_models and not self.scale.pooled

    @property
    def displayed_counts(self) -> np.ndarray:
        """The patterns (P, k) to display: of people, unless the lead pooled models."""
        return self.patterns.pooled if self.scale.pooled else self.patterns.people


@dataclass(frozen=True)
class PeriodPatterns:
    """The periods of one span: first days (D,) and numbers of items by pattern (D, P)."""

    span: str
    start_days: np.ndarray
    n_items: np.ndarray

    @classmethod
    def from_days(cls, span: str, days: np.ndarray, by_day: np.ndarray) -> PeriodPatterns:
        """Sum the items by day and pattern over the days of each period."""
        start_days, index = np.unique(periods.compute_start_days(days, span), return_inverse=True)
        n_items = np.zeros((len(start_days), by_day.shape[1]), np.int64)
        np.add.at(n_items, index, by_day)
        return cls(span, start_days, n_items)

    def select_since(self, day: int) -> PeriodPatterns:
        """Return the period that contains ``day`` and the later ones.

        Earlier periods may lack some of their days.
        """
        return self.select(
            self.start_days >= periods.compute_start_days(np.array([day]), self.span)[0]
        )

    def select_containing(self, days: Iterable[int]) -> PeriodPatterns:
        """Return the periods that contain one of these days."""
        return self.select(
            np.isin(
                self.start_days, periods.compute_start_days(np.fromiter(days, np.int64), self.span)
            )
        )

    def select(self, mask: np.ndarray) -> PeriodPatterns:
        """Return the periods that the mask selects."""
        return PeriodPatterns(self.span, self.start_days[mask], self.n_items[mask])

    def compute_cumulative(self, all_time: np.ndarray) -> np.ndarray:
        """Return the items by pattern up to each period's end (D, P).

        The newest period has to be among these. ``all_time`` (P,): items of all days.
        """
        return all_time - self.n_items.sum(axis=0) + self.n_items.cumsum(axis=0)

    def list_start_dates(self) -> list[Any]:
        """Return the first dates of the periods."""
        return [date_from_day(begin) for begin in self.start_days.tolist()]

    def list_empty_start_dates(self, is_comparable: np.ndarray) -> list[Any]:
        """Return the first dates of the periods without items of comparable patterns (P,)."""
        n_comparable = self.n_items[:, is_comparable].sum(axis=1)
        return [
            start
            for start, items in zip(self.list_start_dates(), n_comparable, strict=True)
            if not items
        ]
