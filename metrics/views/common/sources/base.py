"""Interfaces of the sources from which pages get results.

A page shows all ratings of a question, or those that match a filter. It reads from QuestionSources
and does not know which: `stored` reads what workers keep up to date for all ratings, `filtered`
what a worker computed for the filter. While a worker still computes, ``pending`` is true and
everything is empty.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from django.db.models import QuerySet

from metrics.models import RaterResult
from metrics.results.disputed_items import DisputedItems, load_disputed_items
from metrics.results.findings import QuestionDiagnosis
from metrics.results.pair_results import PairAgreement
from metrics.results.question_agreement import QuestionAgreement
from metrics.results.rater_results import RaterAgreement
from metrics.views.common.insights import (
    build_outlier_sentences,
    build_sentences,
    has_enough_data,
    list_raters,
)
from metrics.views.common.live_updates import Freshness
from metrics.views.common.rater_columns import RaterColumn, Sparkline
from metrics.views.common.selection import Selection
from metrics.views.common.trends.period_comparison import RecentChange
from metrics.views.common.trends.trend_points import TrendPoint
from projects.models import Rater

RaterRefs = QuerySet[RaterResult] | list[RaterAgreement]


@dataclass(frozen=True)
class TrendLines:
    """The trends of the requested coefficients: a line for each, of points from the oldest on."""

    period: str
    lines: list[list[TrendPoint]]
    n_older: int = 0  # number of periods before these


class ResultSource(ABC):
    """Base class of all sources with trends; ``pending``: a worker has not computed results yet."""

    @property
    @abstractmethod
    def freshness(self) -> Freshness: ...

    @property
    @abstractmethod
    def pending(self) -> bool: ...

    @abstractmethod
    def get_trend(self, *names: str) -> TrendLines:
        """Return the points for charts: at most trend_points.MAX_POINTS."""

    @abstractmethod
    def get_table_trend(self, *names: str) -> TrendLines:
        """Return the points for tables: at most trend_points.TABLE_PERIODS."""


class ProjectSource(ResultSource):
    """Interface of the results of a question: of all its ratings, or of those under a filter."""

    selection: Selection

    @property
    @abstractmethod
    def agreement(self) -> QuestionAgreement | None:
        """Return the agreement over all time; None before there is any."""

    @property
    @abstractmethod
    def diagnosis(self) -> QuestionDiagnosis:
        """Return the findings, confusions and disputed items."""

    @abstractmethod
    def get_population_trends(self) -> dict[str, list[float | None]]:
        """Return {group: values of the headline, oldest first} of people, models and between them.

        Empty with a filter.
        """

    @abstractmethod
    def count_items(self) -> int:
        """Return the number of items to rate."""

    @abstractmethod
    def list_heat_map_raters(self, choice: str = "") -> list[Rater]:
        """Return the raters with the most ratings, or those of a heat map choice.

        ``choice``: empty, or one of selection.HEAT_MAP_CHOICES, which filtered results ignore.
        """

    @abstractmethod
    def list_pairs_among(self, raters: list[Rater], weights: str = "") -> list[PairAgreement]:
        """Return the pairs of these raters; ``weights``: by default those of the page."""

    @abstractmethod
    def list_pair_refs(self, sort: str) -> Sequence[Any]:
        """Return references to all listed pairs in this order, for pagination.

        `load_pairs` loads the pairs of those on one page.
        """

    @abstractmethod
    def load_pairs(self, refs: list[Any]) -> list[PairAgreement]: ...

    @abstractmethod
    def list_rater_refs(self, column: RaterColumn, *, descending: bool) -> RaterRefs:
        """Return references to the results of all raters in this order, for pagination.

        Raters without a value come last; ties by key. `load_raters` loads those of one page.
        """

    @abstractmethod
    def load_raters(self, refs: Any) -> list[RaterAgreement]: ...

    @abstractmethod
    def get_sparklines(self, raters: Sequence[RaterAgreement]) -> Mapping[int, Sparkline]:
        """Return {rater id: weekly values of agreement with the peers} for these raters."""

    @abstractmethod
    def find_last_change(self) -> RecentChange | None:
        """Return the last change of agreement, or None."""

    @cached_property
    def outlier_raters(self) -> list[Rater]:
        """Return the outlier raters, those with the greatest impact first.

        An outlier agrees less with the others than they do with each other, on the same
        items.
        """
        return list_raters(self.diagnosis.outlying_rater_ids)

    @cached_property
    def disputed_items(self) -> DisputedItems:
        """Return the most disputed items under the weights of the page."""
        return load_disputed_items(
            self.diagnosis.disputes, self.selection.scale, self.selection.weights
        )

    def build_insights(self, raters: list[Rater]) -> list[str]:
        """Return the insights as sentences in the reader's language.

        ``raters``: those of the heat map, whom the findings may name.
        """
        outlier_sentences = build_outlier_sentences(
            self.outlier_raters, self.selection.project.pk, self.selection.query
        )
        scheme = self.selection.project.band_scheme
        estimate = self.agreement.headline.get("value") if self.agreement else None
        can_name_bands = has_enough_data(estimate, scheme) and not self.diagnosis.is_band_withheld
        return [
            *outlier_sentences,
            *build_sentences(
                self.diagnosis.findings,
                raters,
                self.selection.scale,
                scheme=scheme,
                can_name_bands=can_name_bands,
            ),
        ]


class RaterSource(ResultSource):
    """Interface of the results of one rater against the others."""

    @property
    @abstractmethod
    def agreement(self) -> RaterAgreement | None:
        """Return the rater's agreement over all time; None without a rating."""

    @abstractmethod
    def list_pairs(self) -> list[PairAgreement]:
        """Return the pairs with the other raters; this rater is the first of each."""


class PairSource(ResultSource):
    """Interface of the results of two raters."""

    @abstractmethod
    def get_table(self) -> np.ndarray:
        """Return the (k, k) table of the items that both rated; rows: the first rater."""


class QuestionSources(ABC):
    """Factory of the sources of a question's results, for all ratings or those of a filter."""

    @abstractmethod
    def for_project(self) -> ProjectSource: ...

    @abstractmethod
    def for_rater(self, rater: Rater) -> RaterSource: ...

    @abstractmethod
    def for_pair(self, a: Rater, b: Rater) -> PairSource: ...
