"""Sources of stored results, which include all ratings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from django.db.models import QuerySet

from metrics.filtered import item_ranking
from metrics.models import RaterResult
from metrics.results import pair_results
from metrics.results.disputed_items import DisputedItems
from metrics.results.findings import QuestionDiagnosis, load_diagnosis
from metrics.results.headline import trends
from metrics.results.intervals import QuestionClusters
from metrics.results.question_agreement import QuestionAgreement, load_question_agreement
from metrics.results.rater_results import RaterAgreement
from metrics.views.common.live_updates import Freshness
from metrics.views.common.rater_columns import RaterColumn, Sparkline
from metrics.views.common.selection import Selection
from metrics.views.common.trends import trend_points
from metrics.views.common.trends.period_comparison import RecentChange, find_last_change
from projects.models import Rater
from projects.selectors import count_items

from .base import PairSource, ProjectSource, QuestionSources, RaterSource, TrendLines
from .filtered import FilteredPairSource


class StoredSources(QuestionSources):
    """Sources of results that workers keep up to date for all ratings of a question."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    def for_project(self) -> ProjectSource:
        return StoredProjectSource(self.selection)

    def for_rater(self, rater: Rater) -> RaterSource:
        return StoredRaterSource(self.selection, rater)

    def for_pair(self, a: Rater, b: Rater) -> PairSource:
        return StoredPairSource(self.selection, a, b)


class StoredProjectSource(ProjectSource):
    pending = False

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.question = selection.question

    @cached_property
    def freshness(self) -> Freshness:
        return Freshness.for_question(self.question)

    @cached_property
    def agreement(self) -> QuestionAgreement | None:
        return load_question_agreement(self.question)

    @cached_property
    def diagnosis(self) -> QuestionDiagnosis:
        return load_diagnosis(self.question)

    @cached_property
    def disputed_items(self) -> DisputedItems:
        return item_ranking.find_disputed_items(
            self.question, self.diagnosis.disputes, self.selection.scale, self.selection.weights
        )

    def get_population_trends(self) -> dict[str, list[float | None]]:
        lines = trend_points.get_population_trends(
            self.question, self._choose_period_unit(), limit=trend_points.TABLE_PERIODS
        )
        coefficient = self.selection.headline["displayed_coefficient"]
        if trends.is_two_rater_coefficient(
            coefficient
        ):  # the line of people is that of the headline
            people_points, _n_older = trend_points.get_project_table_points(
                self.question, self._choose_period_unit(), coefficient
            )
            lines["people"] = [point.estimate.get("value") for point in people_points]
        return lines

    def count_items(self) -> int:
        return count_items(self.selection.project)

    def get_trend(self, *names: str) -> TrendLines:
        period = self._choose_period_unit()
        lines = [trend_points.list_question_points(self.question, period, name) for name in names]
        return TrendLines(period, lines)

    def get_table_trend(self, *names: str) -> TrendLines:
        period = self._choose_period_unit()
        tables = [
            trend_points.get_project_table_points(self.question, period, name) for name in names
        ]
        return TrendLines(period, [points for points, _older in tables], tables[0][1])

    def _choose_period_unit(self) -> str:
        return self.selection.period or trend_points.choose_project_period(self.question)

    def list_heat_map_raters(self, choice: str = "") -> list[Rater]:
        if not choice:
            return pair_results.list_most_active_raters(self.question.pk)
        lowest = choice == "lowest"
        return pair_results.list_extreme_raters(
            self.question.pk, self.selection.vs_peers, lowest=lowest
        )

    def list_pairs_among(
        self, raters: list[Rater], weights: str = ""
    ) -> list[pair_results.PairAgreement]:
        return pair_results.list_pairs_among(
            self.question, raters, weights or self.selection.weights
        )

    def list_pair_refs(self, sort: str) -> list[int]:
        return pair_results.list_pair_ids(self.question, self.selection.weights, sort)

    def load_pairs(self, refs: list[int]) -> list[pair_results.PairAgreement]:
        return pair_results.list_pairs_by_id(self.question, refs, self.selection.weights)

    def list_rater_refs(self, column: RaterColumn, *, descending: bool) -> QuerySet[RaterResult]:
        rows = RaterResult.objects.filter(question=self.question)
        rows = rows.select_related("rater").defer("details")
        return column.sort_queryset(rows, self.selection, descending=descending)

    def load_raters(self, refs: Iterable[RaterResult]) -> list[RaterAgreement]:
        clusters = QuestionClusters.load(self.question.pk, self.selection.project)
        return [RaterAgreement.from_row(row, clusters) for row in refs]

    def get_sparklines(self, raters: Sequence[RaterAgreement]) -> Mapping[int, Sparkline]:
        ids = [rater.rater.pk for rater in raters]
        return trend_points.get_sparklines(
            self.question, ids, self.selection.vs_peers, scale=self.selection.scale
        )

    def find_last_change(self) -> RecentChange | None:
        return find_last_change(self.selection, self.diagnosis.findings)


class StoredRaterSource(RaterSource):
    pending = False

    def __init__(self, selection: Selection, rater: Rater) -> None:
        self.selection = selection
        self.question = selection.question
        self.rater = rater

    @cached_property
    def freshness(self) -> Freshness:
        return Freshness.for_question(self.question)

    @cached_property
    def agreement(self) -> RaterAgreement | None:
        rows = RaterResult.objects.filter(question=self.question, rater=self.rater)
        row = rows.select_related("rater").first()
        if row is None:
            return None
        clusters = QuestionClusters.load(self.question.pk, self.selection.project)
        return RaterAgreement.from_row(row, clusters, with_table=True)

    def get_trend(self, *names: str) -> TrendLines:
        period = self._choose_period_unit()
        scale = self.selection.scale
        lines = trend_points.list_rater_points(
            self.question, self.rater, period, *names, scale=scale
        )
        return TrendLines(period, lines)

    def get_table_trend(self, *names: str) -> TrendLines:
        period = self._choose_period_unit()
        scale = self.selection.scale
        tables = trend_points.get_rater_table_points(
            self.question, self.rater, period, *names, scale=scale
        )
        return TrendLines(period, *tables)

    def _choose_period_unit(self) -> str:
        return self.selection.period or trend_points.choose_rater_period(self.question, self.rater)

    def list_pairs(self) -> list[pair_results.PairAgreement]:
        return pair_results.list_pairs_of_rater(self.question, self.rater, self.selection.weights)


class StoredPairSource(FilteredPairSource):
    """Source of two raters' results: a stored table, and a trend that a worker computes."""

    def get_table(self) -> np.ndarray:
        return pair_results.load_pair_table(
            self.selection.question, self.a, self.b, self.selection.scale
        )
