"""The numbers of all ratings, read from stored counts and readings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from django.db.models import QuerySet

from metrics.models import Diagnosis, RaterReading, Reading, Span
from metrics.results import bootstrap
from metrics.results.disagreement import disputed_items
from metrics.results.disagreement.findings import Confusions
from metrics.results.headline import headline_trend
from metrics.results.pairs import pair_details, pair_results
from metrics.views.common.freshness import Freshness
from metrics.views.common.insights import raters_apart
from metrics.views.common.rater_columns import Column, RaterRow
from metrics.views.common.selection import Selection
from metrics.views.common.trends import trend_points
from metrics.views.common.trends.recent_changes import Move, moves
from projects.models import Question, Rater
from projects.selectors.item_counts import n_items

from .base import Course, PairNumbers, ProjectNumbers, RaterNumbers, Source
from .filtered import SlicedPair


class Stored(Source):
    """All ratings of a question."""

    def __init__(self, chosen: Selection) -> None:
        self.chosen = chosen

    def project(self) -> ProjectNumbers:
        return StoredProject(self.chosen)

    def rater(self, rater: Rater) -> RaterNumbers:
        return StoredRater(self.chosen, rater)

    def pair(self, a: Rater, b: Rater) -> PairNumbers:
        return StoredPair(self.chosen, a, b)


def whole_reading(question: Question) -> Reading | None:
    """The reading of the whole time, its bootstrap intervals filled in."""
    rows = Reading.objects.select_related("question__count_state")
    found = rows.filter(question=question, span=Span.ALL).first()
    if found is not None:
        state = found.question.count_state
        found.coefficients = bootstrap.filled(found.coefficients, state.bootstrap)
        if "coefficients" in found.headline:
            people = found.headline["coefficients"]
            found.headline["coefficients"] = bootstrap.filled(people, state.bootstrap_people)
        if found.headline:
            found.headline = bootstrap.first_filled(found.headline, state)
        found.means = {} if "drawn" in found.headline else state.pairwise  # these are of all
    return found


class StoredProject(ProjectNumbers):
    waiting = False

    def __init__(self, chosen: Selection) -> None:
        self.chosen = chosen
        self.question = chosen.question

    @cached_property
    def fresh(self) -> Freshness:
        return Freshness.of(self.question)

    @cached_property
    def reading(self) -> Reading | None:
        return whole_reading(self.question)

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """Empty while there is none, or only one of an older scale."""
        found = Diagnosis.objects.select_related("question__count_state")
        row = found.filter(question=self.question).first()
        if row is None or row.question.count_state.scale_version != row.question.scale_version:
            return Diagnosis()
        return row

    def group_values(self) -> dict[str, list[float | None]]:
        lines = trend_points.group_values(
            self.question, self._period(), limit=trend_points.TABLE_PERIODS
        )
        shown = self.chosen.first["shown"]
        if headline_trend.is_of_two(shown):  # the people's line is that of the number above it
            points, _older = trend_points.project_table(self.question, self._period(), shown)
            lines["people"] = [point.reading.get("value") for point in points]
        return lines

    def n_items(self) -> int:
        return n_items(self.chosen.project)

    def course(self, *names: str) -> Course:
        period = self._period()
        lines = [trend_points.project_points(self.question, period, name) for name in names]
        return Course(period, lines)

    def newest_course(self, *names: str) -> Course:
        period = self._period()
        tables = [trend_points.project_table(self.question, period, name) for name in names]
        return Course(period, [points for points, _older in tables], tables[0][1])

    def _period(self) -> str:
        return self.chosen.period or trend_points.project_period(self.question)

    def heat_map_raters(self, who: str = "") -> list[Rater]:
        if not who:
            return pair_results.busiest_raters(self.question.pk)
        lowest = who == "lowest"
        return pair_results.extreme_raters(self.question.pk, self.chosen.vs_peers, lowest=lowest)

    def pairs_among(self, raters: list[Rater], weights: str = "") -> list[pair_results.Pair]:
        return pair_results.among(self.question, raters, weights or self.chosen.weights)

    def listed_pairs(self, sort: str) -> list[int]:
        return pair_results.listed(self.question, self.chosen.weights, sort)

    def pairs_of_page(self, part: list[int]) -> list[pair_results.Pair]:
        return pair_results.read_listed(part, self.chosen.weights)

    def raters(self, column: Column, *, descending: bool) -> QuerySet[RaterReading]:
        rows = RaterReading.objects.filter(question=self.question)
        rows = rows.select_related("rater").defer("details")
        return column.sorted_rows(rows, self.chosen, descending=descending)

    def rater_rows(self, part: Sequence[RaterReading]) -> list[RaterRow]:
        ids = [row.rater_id for row in part]
        lines = trend_points.sparklines(
            self.question, ids, self.chosen.vs_peers, scale=self.chosen.scale
        )
        return [RaterRow(row, lines.get(row.rater_id, [])) for row in part]

    def disputes(self) -> disputed_items.Disputes:
        return disputed_items.read(self.diagnosis.disputes, self.chosen.scale, self.chosen.weights)

    def moves(self) -> list[Move]:
        return moves(self.chosen)

    def raters_apart(self) -> list[str]:
        if self.reading is None:
            return []
        return raters_apart({self.question.pk: self.reading}).get(self.question.pk, [])

    def found(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.diagnosis.findings
        return found

    def confusions(self) -> Confusions:
        return [(a, b, share) for a, b, share in self.diagnosis.confusions]


class StoredRater(RaterNumbers):
    waiting = False

    def __init__(self, chosen: Selection, rater: Rater) -> None:
        self.chosen = chosen
        self.question = chosen.question
        self.of_rater = rater

    @cached_property
    def fresh(self) -> Freshness:
        return Freshness.of(self.question)

    @cached_property
    def whole(self) -> RaterReading | None:
        rows = RaterReading.objects.filter(question=self.question)
        return rows.filter(rater=self.of_rater).first()

    def course(self, *names: str) -> Course:
        period = self._period()
        scale = self.chosen.scale
        lines = trend_points.rater_lines(self.question, self.of_rater, period, *names, scale=scale)
        return Course(period, lines)

    def newest_course(self, *names: str) -> Course:
        period = self._period()
        scale = self.chosen.scale
        tables = trend_points.rater_tables(
            self.question, self.of_rater, period, *names, scale=scale
        )
        return Course(period, *tables)

    def _period(self) -> str:
        return self.chosen.period or trend_points.rater_period(self.question, self.of_rater)

    def pairs(self) -> list[pair_results.Pair]:
        return pair_results.with_rater(self.question, self.of_rater, self.chosen.weights)


class StoredPair(SlicedPair):
    """The table is stored; the course over time is a slice even of all ratings."""

    def table(self) -> np.ndarray:
        return pair_details.stored(self.chosen.question, self.a, self.b, self.chosen.scale)
