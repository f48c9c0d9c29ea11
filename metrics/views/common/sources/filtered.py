"""Sources of filtered results, which workers compute as FilteredResult rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from metrics import periods
from metrics.filtered import filtered_jobs
from metrics.filtered.coefficient_results import CoefficientResults
from metrics.filtered.compact_values import StoredResults, TrendResults
from metrics.filtered.dashboard_results import DashboardResults
from metrics.filtered.pair_results import PairResults, list_pairs
from metrics.filtered.rater_results import RaterResults, list_rater_agreements
from metrics.models import FilteredResult
from metrics.results import pair_results
from metrics.results.findings import QuestionDiagnosis
from metrics.results.question_agreement import QuestionAgreement
from metrics.results.rater_results import RaterAgreement
from metrics.views.common.live_updates import FilteredFreshness, Freshness
from metrics.views.common.rater_columns import RaterColumn, Sparkline
from metrics.views.common.selection import Selection
from metrics.views.common.trends import trend_points
from projects.models import Rater
from projects.selectors import count_items

from .base import PairSource, ProjectSource, QuestionSources, RaterSource, ResultSource, TrendLines

BodyType = TypeVar("BodyType", bound=StoredResults)
TrendBodyType = TypeVar("TrendBodyType", bound=TrendResults)


class FilteredSources(QuestionSources):
    """Sources of results that a worker computes for the ratings that match a filter."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    def for_project(self) -> ProjectSource:
        return FilteredProjectSource(self.selection)

    def for_rater(self, rater: Rater) -> RaterSource:
        return FilteredRaterSource(self.selection, rater)

    def for_pair(self, a: Rater, b: Rater) -> PairSource:
        return FilteredPairSource(self.selection, a, b)


class ComputedSource(Generic[BodyType]):
    """Source of results that a worker stores in one FilteredResult."""

    kind: FilteredResult.Kind
    body_class: type[BodyType]

    def __init__(self, selection: Selection, *raters: Rater, scores: str = "") -> None:
        self.selection = selection
        self.selected_raters = raters
        self.scores = scores

    @cached_property
    def freshness(self) -> FilteredFreshness:
        """Return the freshness of the FilteredResult, and request it if it is missing or stale.

        Raises BadRequest for a filter value that does not exist.
        """
        question_freshness = Freshness.for_question(self.selection.question)
        filtered_jobs.validate_filter(self.selection.question, self.selection.filter)
        ids = tuple(rater.pk for rater in self.selected_raters)
        filtered_request = filtered_jobs.FilteredRequest(
            self.kind, self.selection.filter, ids, self.scores
        )
        version = question_freshness.state.version if question_freshness.state else 0
        row = filtered_jobs.get_or_request_filtered_result(
            self.selection.question, filtered_request, version=version
        )
        row.question = self.selection.question
        return FilteredFreshness(question_freshness.state, question_freshness.uncounted, row)

    @property
    def pending(self) -> bool:
        return self.freshness.row.body is None

    @cached_property
    def body(self) -> BodyType | None:
        """Return the results that a worker computed; None until then."""
        stored = self.freshness.row.body
        return None if stored is None else self.body_class.from_json(stored)


class TrendSource(ComputedSource[TrendBodyType], ResultSource):
    """Source of a FilteredResult that contains trends."""

    def get_trend(self, *names: str) -> TrendLines:
        period = self.selection.period or trend_points.choose_period(
            self.body.list_period_sizes() if self.body else []
        )
        return TrendLines(period, [self._build_points(period, name) for name in names])

    def get_table_trend(self, *names: str) -> TrendLines:
        trend_lines = self.get_trend(*names)
        tables = [trend_points.limit_to_table(points) for points in trend_lines.lines]
        return TrendLines(trend_lines.period, [points for points, _older in tables], tables[0][1])

    def _build_points(self, span: str, name: str) -> list[trend_points.TrendPoint]:
        points = [
            trend_points.TrendPoint(start, periods.get_end_date(start, span), estimate, cumulative)
            for start, estimate, cumulative in (
                self.body.list_points(span, name) if self.body else []
            )
        ]
        return trend_points.add_guideline_marks(points, self.selection.project)


class FilteredProjectSource(TrendSource[DashboardResults], ProjectSource):
    kind = FilteredResult.Kind.DASHBOARD
    body_class = DashboardResults

    @cached_property
    def agreement(self) -> QuestionAgreement | None:
        return self.body.agreement if self.body else None

    @property
    def diagnosis(self) -> QuestionDiagnosis:
        return self.body.diagnosis if self.body else QuestionDiagnosis([], [], {})

    def get_population_trends(self) -> dict[str, list[float | None]]:
        return {}

    def count_items(self) -> int:
        """Return the number of selected items, or that of the project while results are pending.

        Only a filter by attributes selects items.
        """
        if self.body is not None and self.body.n_items is not None:
            return self.body.n_items
        return count_items(self.selection.project)

    def list_heat_map_raters(self, choice: str = "") -> list[Rater]:
        raters = Rater.objects.in_bulk(self.body.heat_map_raters if self.body else [])
        return sorted(raters.values(), key=lambda rater: pair_results.build_natural_key(rater.key))

    def list_pairs_among(
        self, raters: list[Rater], weights: str = ""
    ) -> list[pair_results.PairAgreement]:
        if self.body is None:
            return []
        by_id = {rater.pk: rater for rater in raters}
        return list_pairs(
            self.body.pairs, by_id, weights or self.selection.weights, self.body.clusters
        )

    def list_pair_refs(self, sort: str) -> list[pair_results.PairAgreement]:
        """Return the pairs of the heat map in this order; the pairs themselves are references."""
        raters = self.list_heat_map_raters()
        rater_pairs = self.list_pairs_among(raters)
        position = {rater.pk: index for index, rater in enumerate(raters)}
        rater_pairs.sort(key=lambda pair: (position[pair.rater_a.pk], position[pair.rater_b.pk]))
        descending = sort.startswith("-")
        if sort.endswith("items"):
            return sorted(rater_pairs, key=lambda pair: pair.n_items, reverse=descending)
        defined = [(pair.kappa["value"], pair) for pair in rater_pairs]
        by_value = sorted(
            ((value, pair) for value, pair in defined if value is not None),
            key=lambda row: row[0],
            reverse=descending,
        )
        undefined = [pair for value, pair in defined if value is None]
        return [pair for _value, pair in by_value] + undefined

    def load_pairs(
        self, refs: list[pair_results.PairAgreement]
    ) -> list[pair_results.PairAgreement]:
        return refs

    def list_rater_refs(self, column: RaterColumn, *, descending: bool) -> list[RaterAgreement]:
        raters = list_rater_agreements(self.body.raters, self.body.clusters) if self.body else []
        return column.sort_rows(raters, self.selection, descending=descending)

    def load_raters(self, refs: Iterable[RaterAgreement]) -> list[RaterAgreement]:
        return list(refs)

    def get_sparklines(self, raters: Sequence[RaterAgreement]) -> Mapping[int, Sparkline]:
        rows = self.body.raters if self.body else []
        return {row["id"]: row["weekly_values"].get(self.selection.vs_peers, []) for row in rows}

    def find_last_change(self) -> None:
        """Return None: changes are explained for all ratings only."""
        return


class CoefficientSource(ComputedSource[CoefficientResults]):
    """Source of every coefficient of a question.

    A worker computes it even without a filter: the stored counts do not give all coefficients.
    """

    kind = FilteredResult.Kind.COEFFICIENTS
    body_class = CoefficientResults


class FilteredRaterSource(TrendSource[RaterResults], RaterSource):
    kind = FilteredResult.Kind.RATER
    body_class = RaterResults

    @cached_property
    def agreement(self) -> RaterAgreement | None:
        return self.body.get_agreement(self.selected_raters[0]) if self.body else None

    def list_pairs(self) -> list[pair_results.PairAgreement]:
        if self.body is None:
            return []
        rows = self.body.pairs
        raters = Rater.objects.in_bulk({row["b"] for row in rows} | {self.selected_raters[0].pk})
        return list_pairs(rows, raters, self.selection.weights, self.body.clusters)


class FilteredPairSource(TrendSource[PairResults], PairSource):
    kind = FilteredResult.Kind.PAIR
    body_class = PairResults

    @property
    def a(self) -> Rater:
        return self.selected_raters[0]

    @property
    def b(self) -> Rater:
        return self.selected_raters[1]

    def get_table(self) -> np.ndarray:
        k = self.selection.scale.k
        return np.array(self.body.table if self.body else np.zeros((k, k)), np.int64)
