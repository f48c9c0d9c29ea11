"""The numbers of the chosen ratings, read from the body of a slice (metrics.filtered)."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from metrics import periods
from metrics.agreement.explain import bands
from metrics.filtered import filter_choices, filtered_jobs
from metrics.models import RaterReading, Reading, Slice
from metrics.results.disagreement import disputed_items
from metrics.results.disagreement.findings import Confusions
from metrics.results.pairs import pair_results
from metrics.views.common.freshness import Freshness, SliceFreshness
from metrics.views.common.insights import apart_below, judged
from metrics.views.common.rater_columns import Column, RaterRow
from metrics.views.common.selection import Selection
from metrics.views.common.trends import trend_points
from metrics.views.common.trends.recent_changes import Move
from projects.models import Rater
from projects.selectors.item_counts import n_items

from .base import Course, Numbers, PairNumbers, ProjectNumbers, RaterNumbers, Source

READING = ("value", "low", "high", "reason", "n_items", "n_ratings", "se")  # slice_numbers.point


class Sliced(Source):
    """The ratings that a filter chooses."""

    def __init__(self, chosen: Selection) -> None:
        self.chosen = chosen

    def project(self) -> ProjectNumbers:
        return SlicedProject(self.chosen)

    def rater(self, rater: Rater) -> RaterNumbers:
        return SlicedRater(self.chosen, rater)

    def pair(self, a: Rater, b: Rater) -> PairNumbers:
        return SlicedPair(self.chosen, a, b)


class SliceNumbers(Numbers):
    """Numbers that stand in one slice."""

    kind: Slice.Kind

    def __init__(self, chosen: Selection, *raters: Rater, scores: str = "") -> None:
        self.chosen = chosen
        self.of_raters = raters
        self.scores = scores

    @cached_property
    def fresh(self) -> SliceFreshness:
        """Asks for the slice. Raises BadRequest for a filter by what there is not."""
        counts = Freshness.of(self.chosen.question)
        filter_choices.check(self.chosen.question, self.chosen.filter)
        ids = tuple(rater.pk for rater in self.of_raters)
        wanted = filtered_jobs.Wanted(self.kind, self.chosen.filter, ids, self.scores)
        version = counts.state.version if counts.state else 0
        row = filtered_jobs.ask(self.chosen.question, wanted, version=version)
        row.question = self.chosen.question
        return SliceFreshness(counts.state, counts.uncounted, row)

    @property
    def waiting(self) -> bool:
        return self.fresh.row.body is None

    @property
    def body(self) -> dict[str, Any]:
        """What a worker computed; empty while it is at it."""
        return self.fresh.row.body or {}

    def course(self, *names: str) -> Course:
        trend = self.body.get("trend", {})
        period = self.chosen.period or _default_period(trend)
        return Course(period, [self._points(trend, period, name) for name in names])

    def newest_course(self, *names: str) -> Course:
        course = self.course(*names)
        tables = [trend_points.newest(points) for points in course.lines]
        return Course(course.period, [points for points, _older in tables], tables[0][1])

    def _points(self, trend: dict[str, Any], span: str, name: str) -> list[trend_points.Point]:
        lines = trend.get(span, {})
        found = []
        for text, parts in zip(lines.get("starts", []), lines.get(name, []), strict=False):
            start = datetime.date.fromisoformat(text)
            own, *total = parts
            reading = dict(zip(READING, own, strict=True))
            cumulative = dict(zip(READING, total[0], strict=False)) if total else None
            found.append(
                trend_points.Point(start, periods.end_date(start, span), reading, cumulative)
            )
        return trend_points.marked(found, self.chosen.project)


def _default_period(trend: dict[str, Any]) -> str:
    """The finest period whose middle point rests on enough items, as on pages of all ratings."""
    sizes = []
    for span, lines in trend.items():
        first: list[Any] = next((lines[name] for name in lines if name != "starts"), [])
        sizes += [(span, point[0][READING.index("n_items")]) for point in first]
    return trend_points.finest(sizes)


class SlicedProject(SliceNumbers, ProjectNumbers):
    kind = Slice.Kind.DASHBOARD

    @cached_property
    def reading(self) -> Reading:
        found = Reading(
            question=self.chosen.question,
            coefficients=self.body["coefficients"],
            headline=self.body["headline"],
            details=self.body["details"],
        )
        found.means = {} if "drawn" in found.headline else self.body["means"]  # of all
        return found

    def group_values(self) -> dict[str, list[float | None]]:
        return {}

    def n_items(self) -> int:
        """A filter by attributes chooses items; other filters leave them all."""
        if "n_items" in self.body:
            return int(self.body["n_items"])
        return n_items(self.chosen.project)

    def heat_map_raters(self, who: str = "") -> list[Rater]:
        raters = Rater.objects.in_bulk(self.body.get("shown", []))
        return sorted(raters.values(), key=lambda rater: pair_results.natural(rater.key))

    def pairs_among(self, raters: list[Rater], weights: str = "") -> list[pair_results.Pair]:
        known = {rater.pk: rater for rater in raters}
        return _pairs(self.body.get("pairs", []), known, weights or self.chosen.weights)

    def listed_pairs(self, sort: str) -> list[pair_results.Pair]:
        """The pairs of the heat map."""
        raters = self.heat_map_raters()
        found = self.pairs_among(raters)
        place = {rater.pk: index for index, rater in enumerate(raters)}
        found.sort(key=lambda pair: (place[pair.rater_a.pk], place[pair.rater_b.pk]))
        down = sort.startswith("-")
        if sort.endswith("items"):
            return sorted(found, key=lambda pair: pair.n_items, reverse=down)
        known = [pair for pair in found if pair.reading["value"] is not None]
        known.sort(key=lambda pair: pair.reading["value"], reverse=down)
        return known + [pair for pair in found if pair.reading["value"] is None]

    def pairs_of_page(self, part: list[pair_results.Pair]) -> list[pair_results.Pair]:
        return part

    def raters(self, column: Column, *, descending: bool) -> list[RaterReading]:
        stored = {row["id"]: row for row in self.body.get("raters", [])}
        raters = Rater.objects.in_bulk(list(stored))
        rows = [
            _rater_reading(self.chosen, raters[pk], stored[pk]) for pk in stored if pk in raters
        ]
        return column.sorted_list(rows, self.chosen, descending=descending)

    def rater_rows(self, part: Sequence[RaterReading]) -> list[RaterRow]:
        lines = {row["id"]: row["spark"] for row in self.body.get("raters", [])}
        name = self.chosen.vs_peers
        return [RaterRow(row, lines[row.rater_id].get(name, [])) for row in part]

    def disputes(self) -> disputed_items.Disputes:
        stored = self.body.get("disputes", {})
        return disputed_items.read(stored, self.chosen.scale, self.chosen.weights)

    def moves(self) -> list[Move]:
        """None are told: what explains a move is computed of all ratings."""
        return []

    def raters_apart(self) -> list[str]:
        name, floor = apart_below(self.reading)
        if floor is None:
            return []
        harm: dict[int, float] = {}
        for row in self.body["raters"]:
            reading = row["coefficients"][name]
            low = reading["high"] is not None and reading["high"] < floor
            if (
                low
                and reading["n_items"] >= bands.FEW_ITEMS
                and judged(self.reading, row["id"], row["n"])
            ):
                harm[row["id"]] = row["n"] * (floor - reading["value"])
        if not harm:
            return []
        keys = Rater.objects.filter(pk__in=harm).values_list("pk", "key")
        return [key for _pk, key in sorted(keys, key=lambda one: (-harm[one[0]], one[1]))]

    def found(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.body["findings"]
        return found

    def confusions(self) -> Confusions:
        # A slice that was made before the last update has none.
        return [(a, b, share) for a, b, share in self.body.get("confusions", ())]


class SlicedCoefficients(SliceNumbers):
    """Every coefficient: a slice even of all ratings, for the stored counts do not hold all of
    them."""

    kind = Slice.Kind.EVERY


class SlicedRater(SliceNumbers, RaterNumbers):
    kind = Slice.Kind.RATER

    @cached_property
    def whole(self) -> RaterReading | None:
        if not self.body.get("n_ratings"):
            return None
        row = self.body | {"n": self.body["n_ratings"]}
        reading = _rater_reading(self.chosen, self.of_raters[0], row)
        reading.details = {"table": self.body["table"]}
        return reading

    def pairs(self) -> list[pair_results.Pair]:
        rows = self.body.get("pairs", [])
        raters = Rater.objects.in_bulk({row["b"] for row in rows} | {self.of_raters[0].pk})
        return _pairs(rows, raters, self.chosen.weights)


class SlicedPair(SliceNumbers, PairNumbers):
    kind = Slice.Kind.PAIR

    @property
    def a(self) -> Rater:
        return self.of_raters[0]

    @property
    def b(self) -> Rater:
        return self.of_raters[1]

    def table(self) -> np.ndarray:
        k = self.chosen.scale.k
        return np.array(self.body.get("table", np.zeros((k, k))), np.int64)


def _pairs(
    rows: list[dict[str, Any]], raters: dict[int, Rater], weights: str
) -> list[pair_results.Pair]:
    """The pairs of these raters. A slice of an older scale may not know the weighting."""
    found = []
    for row in rows:
        if row["a"] not in raters or row["b"] not in raters or weights not in row:
            continue
        found.append(
            pair_results.Pair.of(raters[row["a"]], raters[row["b"]], row[weights], row["n"])
        )
    return found


def _rater_reading(chosen: Selection, rater: Rater, row: dict[str, Any]) -> RaterReading:
    return RaterReading(
        question=chosen.question,
        rater=rater,
        n_ratings=row["n"],
        coefficients=row["coefficients"],
        seconds=row["seconds"],
    )
