"""Where the numbers of a page come from.

A page shows all ratings of a question, or those that a filter chooses. It asks a Source, and does
not know which of the two it is: `stored` reads what workers keep up to date of all ratings,
`sliced` what a worker computed of the chosen ones. While a worker is still at it, ``waiting`` is
true and everything is empty.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from django.db.models import QuerySet

from metrics.agreement.explain import bands
from metrics.models import RaterReading, Reading
from metrics.results.disagreement.disputed_items import Disputes
from metrics.results.disagreement.findings import Confusions
from metrics.results.pairs.pair_results import Pair
from metrics.views.common.freshness import Freshness
from metrics.views.common.insights import apart_sentences, sentences
from metrics.views.common.rater_columns import Column, RaterRow
from metrics.views.common.selection import Selection
from metrics.views.common.trends.recent_changes import Move
from metrics.views.common.trends.trend_points import Point
from projects.models import Rater

Raters = QuerySet[RaterReading] | list[RaterReading]


@dataclass(frozen=True)
class Course:
    """Coefficients over time: for each name asked for its points, oldest first."""

    period: str
    lines: list[list[Point]]
    older: int = 0  # periods before these


class Numbers(ABC):
    """What all three have: how fresh they are, and their course over time."""

    @property
    @abstractmethod
    def fresh(self) -> Freshness: ...

    @property
    @abstractmethod
    def waiting(self) -> bool: ...

    @abstractmethod
    def course(self, *names: str) -> Course:
        """The points of charts: at most trends.POINTS."""

    @abstractmethod
    def newest_course(self, *names: str) -> Course:
        """The points of tables: at most trends.TABLE_PERIODS."""


class ProjectNumbers(Numbers):
    """Of a whole question."""

    chosen: Selection

    @property
    @abstractmethod
    def reading(self) -> Reading | None: ...

    @abstractmethod
    def group_values(self) -> dict[str, list[float | None]]:
        """What is read first over time, of people, of models and between them."""

    @abstractmethod
    def n_items(self) -> int:
        """Items that there are to rate."""

    @abstractmethod
    def heat_map_raters(self, who: str = "") -> list[Rater]:
        """The raters with the most ratings, or of ``who`` (selection.WHO); of some ratings there
        are no others than the former."""

    @abstractmethod
    def pairs_among(self, raters: list[Rater], weights: str = "") -> list[Pair]:
        """The pairs among these; under the weights of the page, if no others are named."""

    @abstractmethod
    def listed_pairs(self, sort: str) -> Sequence[Any]:
        """What a page of the list of pairs is cut from; `pairs_of_page` reads it."""

    @abstractmethod
    def pairs_of_page(self, part: list[Any]) -> list[Pair]: ...

    @abstractmethod
    def raters(self, column: Column, *, descending: bool) -> Raters:
        """All raters' readings in this order; what has no value comes last, equals by key."""

    @abstractmethod
    def rater_rows(self, part: Sequence[RaterReading]) -> list[RaterRow]:
        """Some of `raters`, with their sparklines."""

    @abstractmethod
    def disputes(self) -> Disputes: ...

    @abstractmethod
    def moves(self) -> list[Move]:
        """What moved lately of agreement."""

    @abstractmethod
    def raters_apart(self) -> list[str]:
        """Keys of the raters who agree less with the others than all do, interval and all; those of
        most harm first."""

    @cached_property
    def apart(self) -> list[str]:
        """``raters_apart``, asked once."""
        return self.raters_apart()

    @abstractmethod
    def found(self) -> list[dict[str, Any]]:
        """The diagnoses that apply: {"name", "figures"}."""

    @abstractmethod
    def confusions(self) -> Confusions:
        """The categories that are confused most."""

    def findings(self, raters: list[Rater]) -> list[str]:
        """What there is to say, in the reader's language; ``raters``: those of the heat map."""
        apart = apart_sentences(self.apart, self.chosen.project.pk, self.chosen.query)
        scheme = self.chosen.project.band_scheme
        found = [one for one in self.found() if one["name"] != "weightings" or self._has_words()]
        return [*apart, *sentences(found, raters, self.chosen.scale, scheme=scheme)]

    def _has_words(self) -> bool:
        """Whether enough is known of what is read first to say a word of it, under any weights."""
        first = self.reading.headline.get("value") if self.reading else None
        if not first:
            return False
        scheme = self.chosen.project.band_scheme
        return not bands.too_early(first["n_items"], first["low"], first["high"], scheme)


class RaterNumbers(Numbers):
    """Of one rater against the others."""

    @property
    @abstractmethod
    def whole(self) -> RaterReading | None:
        """Of the whole time; None without a rating."""

    @abstractmethod
    def pairs(self) -> list[Pair]:
        """With the others, the rater first."""


class PairNumbers(Numbers):
    """Of two raters."""

    @abstractmethod
    def table(self) -> np.ndarray:
        """The (k, k) table of the items that both rated, the first rater in rows."""


class Source(ABC):
    """All ratings of a question, or some."""

    @abstractmethod
    def project(self) -> ProjectNumbers: ...

    @abstractmethod
    def rater(self, rater: Rater) -> RaterNumbers: ...

    @abstractmethod
    def pair(self, a: Rater, b: Rater) -> PairNumbers: ...
