"""The coefficients of patterns in which people and models stand apart: of all raters together, of
the people, of the models, and between the two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from metrics.agreement import headline as table
from metrics.agreement.coefficients.groups.two_groups import Chance, between
from metrics.agreement.coefficients.krippendorff import distances
from metrics.agreement.estimate import Estimate
from metrics.agreement.weights import scored
from metrics.scale import QuestionScale

Named = dict[str, Any]  # name of a coefficient -> READING


@dataclass(frozen=True)
class Row:
    """The readings of one period by name: of all ratings, of the people's and of the models';
    between people and models that of one coefficient. Where nothing is apart, `pooled` alone."""

    pooled: Named
    people: Named | None = None
    models: Named | None = None
    between: Any = None


@dataclass(frozen=True)
class Patterns:
    """counts (P, k), or (P, 2 k) where people and models are apart; in declared order."""

    counts: np.ndarray
    k: int

    @classmethod
    def of(cls, counts: np.ndarray, scale: QuestionScale) -> Patterns:
        """Of counts by code (P, width) or (P, 2 width)."""
        halves = counts.shape[1] // scale.width if scale.width else 1
        by_code = counts.reshape(len(counts), halves, scale.width)
        return cls(scale.ordered(by_code).reshape(len(counts), halves * scale.k), scale.k)

    @property
    def apart(self) -> bool:
        return self.counts.shape[1] > self.k

    @property
    def people(self) -> np.ndarray:
        """The people's (P, k); everybody's where nothing is apart."""
        return self.counts[:, : self.k]

    @property
    def models(self) -> np.ndarray:
        return self.counts[:, self.k :]

    @property
    def pooled(self) -> np.ndarray:
        return self.people + self.models if self.apart else self.counts

    def readings(self, n_items: np.ndarray, scale: QuestionScale, name: str) -> Iterator[Row]:
        """One for each row of n_items (D, P), in order; ``name``: the coefficient between people
        and models. All in one call: the formulas are vectorised, and a call costs as much as a
        thousand rows."""
        if not self.apart:
            for pooled in by_row(scale.patterns(self.counts, n_items)):
                yield Row(pooled)
            return
        groups = (self.pooled, self.people, self.models)
        counts, where = np.unique(np.concatenate(groups), axis=0, return_inverse=True)
        n = len(n_items)
        items = np.zeros((len(groups), n, len(counts)), np.int64)
        for group, places in enumerate(where.reshape(len(groups), -1)):
            np.add.at(items[group].T, places, n_items.T)
        rows = list(by_row(scale.patterns(counts, items.reshape(-1, len(counts)))))
        across = self.between(n_items, scale, name).readings()
        for place, reading in enumerate(across):
            pooled, people, models = rows[place::n]
            yield Row(pooled, people, models, reading)

    def between(self, n_items: np.ndarray, scale: QuestionScale, name: str) -> Estimate:
        """People with models, by the weights and the chance agreement of that coefficient."""
        weights, chance = weights_of(name, scale, self.pooled, n_items)
        return between(self.people, self.models, n_items, weights=weights, chance=chance)


def by_row(estimates: dict[str, Estimate]) -> Iterator[Named]:
    """Of estimates (n,): n times name -> reading."""
    for row in zip(*(estimate.readings() for estimate in estimates.values()), strict=True):
        yield dict(zip(estimates, row, strict=True))


def weights_of(
    name: str, scale: QuestionScale, counts: np.ndarray, n_items: np.ndarray
) -> tuple[np.ndarray | None, Chance]:
    """What a coefficient gives for two categories (k, k), None for the same category alone, and
    what it calls chance. Alpha's ordinal distances are those of all ratings (P, k)."""
    if name == "percent_agreement":
        return None, "none"
    if name.startswith("gwet"):
        return None, "gwet"
    if name in table.ICCS:
        return scored(scale.values), "margins"  # type: ignore[arg-type]  # numeric scales have them
    if name.startswith("krippendorff_alpha_"):
        metric = name.removeprefix("krippendorff_alpha_")
        if metric != "ordinal":
            return 1 - distances(metric, scale.k, scale.values), "margins"
        used = np.atleast_2d(n_items).sum(axis=0) @ counts
        rank = np.cumsum(used) - used / 2
        distance = (rank[:, None] - rank[None, :]) ** 2
        return 1 - distance / (distance.max() or 1), "margins"
    return scale.weightings()[table.weighting_of(name)], "margins"
