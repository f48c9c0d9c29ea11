"""Peer tables of raters as arrays, by day or summed over periods."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from metrics import periods
from metrics.agreement.counts.additive import MAX_MOMENT_CATEGORIES
from metrics.agreement.estimate import Estimate
from metrics.counting import store
from metrics.question_scale import QuestionScale

COLUMNS = ("rater_id", "day", "n_items", "n_ratings", "width", "table", "moments")
WITHOUT_MOMENTS = COLUMNS[:-1]  # if no interval is needed


@dataclass(frozen=True)
class PeerSums:
    """Peer counts by rater and day (or first day of a period).

    Keys (G, 2), ascending, and the arrays of metrics.agreement.coefficients.groups.peers.
    """

    keys: np.ndarray
    tables: np.ndarray
    moments: np.ndarray | None
    n_items: np.ndarray
    n_ratings: np.ndarray

    @classmethod
    def from_rows(
        cls, tallies: Iterable[tuple[Any, ...]], scale: QuestionScale, *, intervals: bool = True
    ) -> PeerSums:
        """Build the sums from rows of COLUMNS of one question, one for each rater and day.

        Without ``intervals``: from rows of WITHOUT_MOMENTS.
        """
        rows = sorted(tallies, key=itemgetter(0, 1))
        width = scale.width
        widths = [row[4] for row in rows]
        with_moments = intervals and width <= MAX_MOMENT_CATEGORIES
        tables = store.decode_arrays([row[5] for row in rows], widths, width, axes=2)
        moments = (
            store.decode_arrays([row[6] for row in rows], widths, width, axes=3)
            if with_moments
            else None
        )
        numbers = np.array([row[:4] for row in rows], np.int64).reshape(-1, 4)
        return cls(numbers[:, :2], tables, moments, numbers[:, 2], numbers[:, 3])

    def sum_by(self, span: str) -> PeerSums:
        """Sum the counts over the days of each period."""
        starts = np.stack(
            [self.keys[:, 0], periods.compute_start_days(self.keys[:, 1], span)], axis=1
        )
        keys, first_indices = np.unique(starts, axis=0, return_index=True)
        if len(keys) == len(self.keys):
            return PeerSums(keys, self.tables, self.moments, self.n_items, self.n_ratings)
        moments = None if self.moments is None else np.add.reduceat(self.moments, first_indices)
        sums = (
            np.add.reduceat(counts, first_indices)
            for counts in (self.tables, self.n_items, self.n_ratings)
        )
        tables, n_items, n_ratings = sums
        return PeerSums(keys, tables, moments, n_items, n_ratings)

    def compute_estimates(
        self, scale: QuestionScale, names: Collection[str] | None = None
    ) -> dict[str, Estimate]:
        """Return name -> Estimate (G,), of all coefficients or of those named."""
        tables = scale.reorder_to_declared(self.tables, axes=2)
        moments = None if self.moments is None else scale.reorder_to_declared(self.moments, axes=3)
        return scale.estimate_peers(tables, moments, self.n_items, names=names)
