"""Peer counts of raters, by day, ever, or summed over periods, as the formulas take them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from metrics import periods
from metrics.agreement.counts.additive import MOMENTS_UP_TO
from metrics.agreement.estimate import Estimate
from metrics.counting import store
from metrics.scale import QuestionScale

COLUMNS = ("rater_id", "day", "n_items", "n_ratings", "width", "table", "moments")
WITHOUT_MOMENTS = COLUMNS[:-1]  # where no interval is asked for


@dataclass(frozen=True)
class PeerSums:
    """Peer counts by (rater, day or first day of a period): keys (G, 2), ascending, and the arrays
    of agreement.peers."""

    keys: np.ndarray
    tables: np.ndarray
    moments: np.ndarray | None
    n_items: np.ndarray
    n_ratings: np.ndarray

    @classmethod
    def of(
        cls, tallies: Iterable[tuple[Any, ...]], scale: QuestionScale, *, intervals: bool = True
    ) -> PeerSums:
        """Rows of COLUMNS of one question, each a (rater, day) of its own; without ``intervals``,
        of WITHOUT_MOMENTS."""
        rows = sorted(tallies, key=itemgetter(0, 1))
        width = scale.width
        widths, keep = [row[4] for row in rows], intervals and width <= MOMENTS_UP_TO
        tables = store.stacked([row[5] for row in rows], widths, width, axes=2)
        moments = store.stacked([row[6] for row in rows], widths, width, axes=3) if keep else None
        numbers = np.array([row[:4] for row in rows], np.int64).reshape(-1, 4)
        return cls(numbers[:, :2], tables, moments, numbers[:, 2], numbers[:, 3])

    def by(self, span: str) -> PeerSums:
        """Summed over the days of each period."""
        starts = np.stack([self.keys[:, 0], periods.starts(self.keys[:, 1], span)], axis=1)
        keys, first = np.unique(starts, axis=0, return_index=True)
        if len(keys) == len(self.keys):
            return PeerSums(keys, self.tables, self.moments, self.n_items, self.n_ratings)
        moments = None if self.moments is None else np.add.reduceat(self.moments, first)
        sums = (
            np.add.reduceat(part, first) for part in (self.tables, self.n_items, self.n_ratings)
        )
        tables, n_items, n_ratings = sums
        return PeerSums(keys, tables, moments, n_items, n_ratings)

    def estimates(
        self, scale: QuestionScale, names: Collection[str] | None = None
    ) -> dict[str, Estimate]:
        """Name -> Estimate (G,), of all coefficients or of those named."""
        tables = scale.ordered(self.tables, axes=2)
        moments = None if self.moments is None else scale.ordered(self.moments, axes=3)
        return scale.peers(tables, moments, self.n_items, names=names)
