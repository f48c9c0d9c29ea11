"""One rater: how the own use of the categories differs from the peers' on the same items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .models import RaterReading
from .scales import QuestionScale


@dataclass(frozen=True)
class CategoryUse:
    label: str
    own: float  # share of the rater's side of the peer table
    peers: float

    @property
    def difference(self) -> float:
        return self.own - self.peers


def category_use(whole: RaterReading | None, scale: QuestionScale) -> list[CategoryUse]:
    """How often the rater and the peers choose each category on the items they share; empty without such items."""
    table = np.array(whole.details.get("table", []) if whole else [], np.int64)
    total = table.sum()
    if not total:
        return []
    own, peers = table.sum(axis=1) / total, table.sum(axis=0) / total
    return [CategoryUse(*row) for row in zip(scale.labels, own.tolist(), peers.tolist(), strict=True)]
