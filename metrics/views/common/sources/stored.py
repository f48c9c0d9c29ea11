"""Sources of stored results, which include all ratings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from django.db.models import QuerySet

from metrics.models import Diagnosis, PeriodUnit, RaterResult, Result
from metrics.results import bootstrap
from metrics.results.clusters import QuestionClusters, widen_result
from metrics.results.disagreement import disputed_items
from metrics.results.disagreement.findings import Confusions, Findings, list_outlying_rater_ids
from metrics.results.headline import headline_trend
from metrics.results.pairs import pair_details, pair_results
from metrics.views.common.freshness import Freshness
from metrics.views.common.insights import list_raters
from metrics.views.common.rater_columns import RaterColumn, RaterResultRow
from metrics.views.common.selection import Selection
from metrics.views.common.trends import trend_points
from metrics.views.common.trends.recent_changes import RecentChange, list_recent_changes
from projects.models import Question, Rater
from projects.selectors.item_counts import count_items

from .base import PairSource, ProjectSource, QuestionSources, RaterSource, TrendLines
from .filtered import FilteredPairSource


class StoredSources(QuestionSources):
    """Sources of all ratings of a question."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    def for_project(self) -> ProjectSource:
        return StoredProjectSource(self.selection)

    def for_rater(self, rater: Rater) -> RaterSource:
        return StoredRaterSource(self.selection, rater)

    def for_pair(self, a: Rater, b: Rater) -> PairSource:
        return StoredPairSource(self.selection, a, b)


def get_all_time_result(question: Question) -> Result | None:
    """Return the question's result of all time with its bootstrap intervals, or None."""
    rows = Result.objects.select_related("question__count_state")
    result = rows.filter(question=question, period_unit=PeriodUnit.ALL).first()
    if result is not None:
        state = result.question.count_state
        result.coefficients = bootstrap.add_intervals(result.coefficients, state.bootstrap)
        if "coefficients" in result.headline:
            people_coefficients = result.headline["coefficients"]
            result.headline["coefficients"] = bootstrap.add_intervals(
                people_coefficients, state.bootstrap_people
            )
        if result.headline:
            result.headline = bootstrap.add_headline_interval(result.headline, state)
        # The stored means are of all ratings.
        result.pairwise_means = {} if "sample" in result.headline else state.mean_pairwise_kappas
        widen_result(result, QuestionClusters.from_state(state, question.project))
    return result


class StoredProjectSource(ProjectSource):
    pending = False

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.question = selection.question

    @cached_property
    def freshness(self) -> Freshness:
        return Freshness.for_question(self.question)

    @cached_property
    def question_result(self) -> Result | None:
        return get_all_time_result(self.question)

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """The stored findings; an empty Diagnosis while there is none of the current scale."""
        rows = Diagnosis.objects.select_related("question__count_state")
        row = rows.filter(question=self.question).first()
        if row is None or row.question.count_state.scale_version != row.question.scale_version:
            return Diagnosis()
        return row

    def get_population_headlines(self) -> dict[str, list[float | None]]:
        lines = trend_points.get_population_headlines(
            self.question, self._get_period(), limit=trend_points.TABLE_PERIODS
        )
        coefficient = self.selection.headline["displayed_coefficient"]
        if headline_trend.is_two_rater_coefficient(
            coefficient
        ):  # the line of people is that of the headline
            people_points, _n_older = trend_points.get_project_table_points(
                self.question, self._get_period(), coefficient
            )
            lines["people"] = [point.estimate.get("value") for point in people_points]
        return lines

    def count_items(self) -> int:
        return count_items(self.selection.project)

    def get_trend(self, *names: str) -> TrendLines:
        period = self._get_period()
        lines = [trend_points.list_question_points(self.question, period, name) for name in names]
        return TrendLines(period, lines)

    def get_table_trend(self, *names: str) -> TrendLines:
        period = self._get_period()
        tables = [
            trend_points.get_project_table_points(self.question, period, name) for name in names
        ]
        return TrendLines(period, [points for points, _older in tables], tables[0][1])

    def _get_period(self) -> str:
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

    def list_rater_results(self, column: RaterColumn, *, descending: bool) -> QuerySet[RaterResult]:
        rows = RaterResult.objects.filter(question=self.question)
        rows = rows.select_related("rater").defer("details")
        return column.sort_queryset(rows, self.selection, descending=descending)

    def build_rater_rows(self, results: Sequence[RaterResult]) -> list[RaterResultRow]:
        if clusters := QuestionClusters.load(self.question.pk, self.selection.project):
            for row in results:
                row.coefficients = clusters.widen_all(row.coefficients)
        ids = [row.rater_id for row in results]
        weekly_values = trend_points.get_sparklines(
            self.question, ids, self.selection.vs_peers, scale=self.selection.scale
        )
        return [RaterResultRow(row, weekly_values.get(row.rater_id, [])) for row in results]

    def get_disputed_items(self) -> disputed_items.DisputedItems:
        return disputed_items.load_disputed_items(
            self.diagnosis.disputes, self.selection.scale, self.selection.weights
        )

    def list_recent_changes(self) -> list[RecentChange]:
        return list_recent_changes(self.selection, self.get_findings())

    def find_outlier_raters(self) -> list[Rater]:
        return list_raters(list_outlying_rater_ids(self.diagnosis.findings))

    def get_findings(self) -> Findings:
        findings: Findings = self.diagnosis.findings
        return findings

    def get_confusions(self) -> Confusions:
        return [(a, b, share) for a, b, share in self.diagnosis.confusions]


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
    def rater_result(self) -> RaterResult | None:
        row = RaterResult.objects.filter(question=self.question, rater=self.rater).first()
        clusters = QuestionClusters.load(self.question.pk, self.selection.project)
        if row is not None and clusters is not None:
            row.coefficients = clusters.widen_all(row.coefficients)
        return row

    def get_trend(self, *names: str) -> TrendLines:
        period = self._get_period()
        scale = self.selection.scale
        lines = trend_points.list_rater_points(
            self.question, self.rater, period, *names, scale=scale
        )
        return TrendLines(period, lines)

    def get_table_trend(self, *names: str) -> TrendLines:
        period = self._get_period()
        scale = self.selection.scale
        tables = trend_points.get_rater_table_points(
            self.question, self.rater, period, *names, scale=scale
        )
        return TrendLines(period, *tables)

    def _get_period(self) -> str:
        return self.selection.period or trend_points.choose_rater_period(self.question, self.rater)

    def list_pairs(self) -> list[pair_results.PairAgreement]:
        return pair_results.list_pairs_of_rater(self.question, self.rater, self.selection.weights)


class StoredPairSource(FilteredPairSource):
    """The table is stored; the trend is computed by a worker even without a filter."""

    def get_table(self) -> np.ndarray:
        return pair_details.load_pair_table(
            self.selection.question, self.a, self.b, self.selection.scale
        )
