"""Sources of filtered results, which workers compute as FilteredResult rows."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from metrics import periods
from metrics.filtered import filter_choices, filtered_jobs
from metrics.models import FilteredResult, RaterResult, Result
from metrics.results.clusters import QuestionClusters
from metrics.results.disagreement import disputed_items
from metrics.results.disagreement.findings import Confusions, Findings, list_outlying_rater_ids
from metrics.results.pairs import pair_results
from metrics.views.common.freshness import FilteredFreshness, Freshness
from metrics.views.common.insights import list_raters
from metrics.views.common.rater_columns import RaterColumn, RaterResultRow
from metrics.views.common.selection import Selection
from metrics.views.common.trends import trend_points
from metrics.views.common.trends.recent_changes import RecentChange
from projects.models import Rater
from projects.selectors.item_counts import count_items

from .base import PairSource, ProjectSource, QuestionSources, RaterSource, ResultSource, TrendLines

# The order of metrics.filtered.compact_values.
ESTIMATE_FIELDS = ("value", "low", "high", "reason", "n_items", "n_ratings", "se")


class FilteredSources(QuestionSources):
    """Sources of the ratings that match a filter."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    def for_project(self) -> ProjectSource:
        return FilteredProjectSource(self.selection)

    def for_rater(self, rater: Rater) -> RaterSource:
        return FilteredRaterSource(self.selection, rater)

    def for_pair(self, a: Rater, b: Rater) -> PairSource:
        return FilteredPairSource(self.selection, a, b)


class FilteredResultSource(ResultSource):
    """Results that are stored in one FilteredResult."""

    kind: FilteredResult.Kind

    def __init__(self, selection: Selection, *raters: Rater, scores: str = "") -> None:
        self.selection = selection
        self.selected_raters = raters
        self.scores = scores

    @cached_property
    def freshness(self) -> FilteredFreshness:
        """Freshness of the FilteredResult; requests the FilteredResult.

        Raises BadRequest for an unknown filter value.
        """
        question_freshness = Freshness.for_question(self.selection.question)
        filter_choices.validate_filter(self.selection.question, self.selection.filter)
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

    @property
    def body(self) -> dict[str, Any]:
        """The body that a worker computed; empty until then."""
        return self.freshness.row.body or {}

    def get_trend(self, *names: str) -> TrendLines:
        trend = self.body.get("trend", {})
        period = self.selection.period or _choose_default_period(trend)
        return TrendLines(period, [self._build_points(trend, period, name) for name in names])

    def get_table_trend(self, *names: str) -> TrendLines:
        trend_lines = self.get_trend(*names)
        tables = [trend_points.limit_to_table(points) for points in trend_lines.lines]
        return TrendLines(trend_lines.period, [points for points, _older in tables], tables[0][1])

    def _build_points(
        self, trend: dict[str, Any], span: str, name: str
    ) -> list[trend_points.TrendPoint]:
        lines = trend.get(span, {})
        points = []
        for text, values in zip(lines.get("starts", []), lines.get(name, []), strict=False):
            start = datetime.date.fromisoformat(text)
            estimate_values, *cumulative_values = values
            estimate = dict(zip(ESTIMATE_FIELDS, estimate_values, strict=True))
            cumulative = (
                dict(zip(ESTIMATE_FIELDS, cumulative_values[0], strict=False))
                if cumulative_values
                else None
            )
            points.append(
                trend_points.TrendPoint(
                    start, periods.get_end_date(start, span), estimate, cumulative
                )
            )
        return trend_points.add_guideline_marks(points, self.selection.project)


def _choose_default_period(trend: dict[str, Any]) -> str:
    """Return the default period, chosen as on pages of all ratings."""
    sizes = []
    for span, lines in trend.items():
        points: list[Any] = next((lines[name] for name in lines if name != "starts"), [])
        sizes += [(span, point[0][ESTIMATE_FIELDS.index("n_items")]) for point in points]
    return trend_points.choose_period(sizes)


class FilteredProjectSource(FilteredResultSource, ProjectSource):
    kind = FilteredResult.Kind.DASHBOARD

    @cached_property
    def question_result(self) -> Result:
        result = Result(
            question=self.selection.question,
            coefficients=self.body["coefficients"],
            headline=self.body["headline"],
            details=self.body["details"],
        )
        if stored_clusters := self.body.get("clusters"):
            result.clusters = QuestionClusters(**stored_clusters)
        # The means in the body are of all matching ratings.
        result.pairwise_means = {} if "sample" in result.headline else self.body["means"]
        return result

    def get_population_headlines(self) -> dict[str, list[float | None]]:
        return {}

    def count_items(self) -> int:
        """Return the number of items.

        A filter by attributes selects items; other filters keep all.
        """
        if "n_items" in self.body:
            return int(self.body["n_items"])
        return count_items(self.selection.project)

    def list_heat_map_raters(self, choice: str = "") -> list[Rater]:
        raters = Rater.objects.in_bulk(self.body.get("heat_map_raters", []))
        return sorted(raters.values(), key=lambda rater: pair_results.build_natural_key(rater.key))

    def list_pairs_among(
        self, raters: list[Rater], weights: str = ""
    ) -> list[pair_results.PairAgreement]:
        rater_by_id = {rater.pk: rater for rater in raters}
        return _build_pairs(
            self.body.get("pairs", []), rater_by_id, weights or self.selection.weights
        )

    def list_pair_refs(self, sort: str) -> list[pair_results.PairAgreement]:
        """Return the pairs of the heat map."""
        raters = self.list_heat_map_raters()
        rater_pairs = self.list_pairs_among(raters)
        position = {rater.pk: index for index, rater in enumerate(raters)}
        rater_pairs.sort(key=lambda pair: (position[pair.rater_a.pk], position[pair.rater_b.pk]))
        descending = sort.startswith("-")
        if sort.endswith("items"):
            return sorted(rater_pairs, key=lambda pair: pair.n_items, reverse=descending)
        defined = [pair for pair in rater_pairs if pair.kappa["value"] is not None]
        defined.sort(key=lambda pair: pair.kappa["value"], reverse=descending)
        return defined + [pair for pair in rater_pairs if pair.kappa["value"] is None]

    def load_pairs(
        self, refs: list[pair_results.PairAgreement]
    ) -> list[pair_results.PairAgreement]:
        return refs

    def list_rater_results(self, column: RaterColumn, *, descending: bool) -> list[RaterResult]:
        stored_rows = {row["id"]: row for row in self.body.get("raters", [])}
        raters = Rater.objects.in_bulk(list(stored_rows))
        rows = [
            _build_rater_result(self.selection, raters[pk], stored_rows[pk])
            for pk in stored_rows
            if pk in raters
        ]
        return column.sort_rows(rows, self.selection, descending=descending)

    def build_rater_rows(self, results: Sequence[RaterResult]) -> list[RaterResultRow]:
        weekly_values = {row["id"]: row["weekly_values"] for row in self.body.get("raters", [])}
        name = self.selection.vs_peers
        return [RaterResultRow(row, weekly_values[row.rater_id].get(name, [])) for row in results]

    def get_disputed_items(self) -> disputed_items.DisputedItems:
        stored_items = self.body.get("disputes", {})
        return disputed_items.load_disputed_items(
            stored_items, self.selection.scale, self.selection.weights
        )

    def list_recent_changes(self) -> list[RecentChange]:
        """Return an empty list: changes are explained for all ratings only."""
        return []

    def find_outlier_raters(self) -> list[Rater]:
        return list_raters(list_outlying_rater_ids(self.body["findings"]))

    def get_findings(self) -> Findings:
        findings: Findings = self.body["findings"]
        return findings

    def get_confusions(self) -> Confusions:
        return [(a, b, share) for a, b, share in self.body["confusions"]]


class CoefficientSource(FilteredResultSource):
    """Source of every coefficient of a question.

    Computed by a worker even without a filter: the stored counts do not hold all coefficients.
    """

    kind = FilteredResult.Kind.COEFFICIENTS


class FilteredRaterSource(FilteredResultSource, RaterSource):
    kind = FilteredResult.Kind.RATER

    @cached_property
    def rater_result(self) -> RaterResult | None:
        if not self.body.get("n_ratings"):
            return None
        row = self.body | {"n": self.body["n_ratings"]}
        result = _build_rater_result(self.selection, self.selected_raters[0], row)
        result.details = {"table": self.body["table"]}
        return result

    def list_pairs(self) -> list[pair_results.PairAgreement]:
        rows = self.body.get("pairs", [])
        raters = Rater.objects.in_bulk({row["b"] for row in rows} | {self.selected_raters[0].pk})
        return _build_pairs(rows, raters, self.selection.weights)


class FilteredPairSource(FilteredResultSource, PairSource):
    kind = FilteredResult.Kind.PAIR

    @property
    def a(self) -> Rater:
        return self.selected_raters[0]

    @property
    def b(self) -> Rater:
        return self.selected_raters[1]

    def get_table(self) -> np.ndarray:
        k = self.selection.scale.k
        return np.array(self.body.get("table", np.zeros((k, k))), np.int64)


def _build_pairs(
    rows: list[dict[str, Any]], raters: dict[int, Rater], weights: str
) -> list[pair_results.PairAgreement]:
    """Return the pairs of these raters. The body of an older scale may lack the weighting."""
    rater_pairs = []
    for row in rows:
        if row["a"] not in raters or row["b"] not in raters or weights not in row:
            continue
        rater_pairs.append(
            pair_results.PairAgreement.from_kappa(
                raters[row["a"]], raters[row["b"]], row[weights], row["n"]
            )
        )
    return rater_pairs


def _build_rater_result(selection: Selection, rater: Rater, row: dict[str, Any]) -> RaterResult:
    return RaterResult(
        question=selection.question,
        rater=rater,
        n_ratings=row["n"],
        coefficients=row["coefficients"],
        seconds=row["seconds"],
    )
