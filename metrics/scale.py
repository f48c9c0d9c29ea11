"""A question's scale as the arrays that the agreement library takes, and what it makes of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from metrics.agreement import Estimate, batch, registry
from metrics.agreement.coefficients import cohen
from metrics.agreement.scales import ScaleType, scale_type
from metrics.agreement.weights import WEIGHTINGS, applicable, weighted, weightings
from projects.models import Question

__all__ = ["QuestionScale", "headlines", "weighted"]


@dataclass(frozen=True)
class QuestionScale:
    """``codes`` (k,): the active categories' codes in declared order; ``width``: number of codes
    ever given; ``values`` (k,) or None; ``matrix`` (k, k) or None."""

    kind: str
    codes: np.ndarray
    width: int
    labels: list[str]
    values: np.ndarray | None
    matrix: np.ndarray | None
    weights: str = "none"  # those declared
    chosen: str = ""  # the coefficient that the lead wants to read first
    pooled: bool = False  # people and models together in what is read first

    @classmethod
    def of(cls, question: Question) -> QuestionScale:
        known = list(question.categories.all())
        return cls.of_declared(
            question.declared(known), width=max((one.code for one in known), default=-1) + 1
        )

    @classmethod
    def of_declared(cls, declared: Mapping[str, Any], *, width: int = 0) -> QuestionScale:
        """Of what a question declares (`Question.declared`), or declared once."""
        categories = declared["categories"]
        codes = np.array([category["code"] for category in categories], np.int64)
        values = [category["value"] for category in categories]
        matrix = declared["matrix"]
        return cls(
            kind=declared["scale"],
            codes=codes,
            width=max(width, int(codes.max(initial=-1)) + 1),
            labels=[category["label"] for category in categories],
            values=None if not values or None in values else np.array(values, float),
            matrix=None if matrix is None else np.array(matrix, float),
            weights=declared["weights"],
            chosen=declared["headline"],
            pooled=declared["pooled"],
        )

    @property
    def k(self) -> int:
        return len(self.codes)

    @property
    def type(self) -> ScaleType:
        """Whether the categories have an order, and numbers."""
        return scale_type(self.kind)

    def ordered(self, counts: np.ndarray, *, axes: int = 1) -> np.ndarray:
        """The last ``axes`` axes (by code) as categories in declared order."""
        for axis in range(-axes, 0):
            counts = np.take(counts, self.codes, axis=axis)
        return counts

    def places(self, codes: np.ndarray) -> np.ndarray:
        """Codes -> their places among the declared categories; -1 for retired and unknown ones."""
        place = np.full(max(self.width, codes.max(initial=-1) + 1), -1, np.int64)
        place[self.codes] = np.arange(self.k)
        return place[codes]

    # --- weightings. On every scale those by rank are known: categories have a declared order, and
    # the pages and the API offer them.

    def weighting_names(self) -> list[str]:
        """The weightings that this question knows."""
        return applicable(ordered=True, custom=self.matrix is not None)

    def weightings(self) -> dict[str, np.ndarray]:
        """Name -> weight matrix (k, k) for every weighting that this question knows."""
        return weightings(self.k, self.matrix)

    # --- coefficients, by the names under which they are stored

    def pattern_names(self) -> list[str]:
        """The coefficients of all raters together."""
        custom = self.matrix is not None
        return list(registry.pattern_forms(scale=self.kind, values=self.values, custom=custom))

    def mean_names(self) -> list[str]:
        """The means of the kappas of pairs."""
        return registry.mean_names(self.weighting_names())

    def peer_names(self) -> list[str]:
        """The coefficients of a rater against the others."""
        return registry.peer_names(self.weighting_names())

    def patterns(
        self,
        counts: np.ndarray,
        n_items: np.ndarray,
        *,
        names: Collection[str] | None = None,
        interval: bool = True,
    ) -> dict[str, Estimate]:
        """Patterns (P, k) in declared order, numbers of items (..., P) -> name -> Estimate (...),
        of all coefficients of all raters together or of those named."""
        return batch.pattern_coefficients(
            counts,
            n_items,
            scale=self.kind,
            values=self.values,
            weight_matrix=self.matrix,
            names=names,
            interval=interval,
        )

    def peers(
        self,
        tables: np.ndarray,
        moments: np.ndarray | None,
        n_items: np.ndarray,
        *,
        names: Collection[str] | None = None,
    ) -> dict[str, Estimate]:
        """Raters against the others: tables (G, k, k) in declared order -> name -> Estimate (G,),
        all or those named."""
        return batch.peer_coefficients(
            tables,
            moments,
            n_items,
            weights=self.weightings(),
            values=self.values,
            names=names,
        )

    def pair_trend(self, tables: np.ndarray) -> dict[str, Estimate]:
        """Two raters over time: tables (T, k, k) in declared order -> name -> Estimate (T,)."""
        weights = self.weightings()
        return batch.pair_trend(tables, scale=self.kind, weights=weights, values=self.values)

    def pair_kappas(self, tables: np.ndarray) -> dict[str, np.ndarray]:
        """Cohen's kappa of tables (P, width, width) and the ends of its interval.

        Weighting -> (P, 3): value, low, high; not-a-number where undefined or not known.
        """
        ordered = self.ordered(tables, axes=2)
        known = self.weightings()
        found = {}
        for name in WEIGHTINGS:
            found[name] = np.full((len(tables), 3), np.nan)
            if name in known:
                kappa = cohen.kappa(ordered, known[name])
                found[name] = np.stack([kappa.value, kappa.low, kappa.high], axis=1)
        return found


def headlines(scale: QuestionScale) -> list[str]:
    """The coefficients that can stand as the headline and the trend of a question."""
    custom = scale.matrix is not None
    return registry.headlines(scale=scale.kind, values=scale.values, custom=custom)
