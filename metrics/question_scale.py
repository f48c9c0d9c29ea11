"""QuestionScale: categories, values and weights of a question as arrays."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from metrics.agreement import Estimate, registry, scale_coefficients
from metrics.agreement.coefficients import cohen
from metrics.agreement.counts.score_intervals import solve_together
from metrics.agreement.counts.tally import PatternCounts, PeerTables
from metrics.agreement.explain.headline_differences import MissingDataPolicy, compute_by_policy
from metrics.agreement.headline import HeadlineFacts
from metrics.agreement.scales import ScaleType, get_scale_type
from metrics.agreement.weights import (
    WEIGHTINGS,
    build_weightings,
    get_weighted_name,
    list_applicable_weightings,
)
from projects.models import Category, Question

__all__ = ["QuestionScale", "get_weighted_name", "list_headline_coefficients"]


@dataclass(frozen=True)
class QuestionScale:
    """Scale of a question: categories in declared order, their values, and weights.

    ``codes`` (k,): the active categories' codes in declared order; ``width``: number of codes ever
    assigned; ``values`` (k,): numbers of the categories, or None; ``matrix`` (k, k): custom
    weights, or None.
    """

    kind: str
    codes: np.ndarray
    width: int
    labels: list[str]
    values: np.ndarray | None
    matrix: np.ndarray | None
    weights: str = "none"  # the declared weighting
    chosen_headline: str = ""  # the headline coefficient that the lead chose
    pooled: bool = False  # the headline pools people and models

    @classmethod
    def for_question(
        cls, question: Question, categories: Collection[Category] | None = None
    ) -> QuestionScale:
        """Return the scale that a question declares at present.

        ``categories``: all its categories, also retired ones; loaded when None.
        """
        if categories is None:
            categories = question.categories.all()
        return cls.from_declaration(
            question.get_declaration(categories),
            width=max((category.code for category in categories), default=-1) + 1,
        )

    @classmethod
    def from_declaration(cls, declared: Mapping[str, Any], *, width: int = 0) -> QuestionScale:
        """Return the scale of a current or former declaration (`Question.get_declaration`).

        ``width``: number of codes ever assigned, or less if it is unknown.
        """
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
            chosen_headline=declared["headline"],
            pooled=declared["pooled"],
        )

    @property
    def k(self) -> int:
        """Number of categories."""
        return len(self.codes)

    @property
    def type(self) -> ScaleType:
        """The type of scale: whether the categories have an order, and numbers."""
        return get_scale_type(self.kind)

    def reorder_to_declared(self, counts: np.ndarray, *, axes: int = 1) -> np.ndarray:
        """Return the counts with their last ``axes`` axes in declared order, instead of by code.

        Where the codes are in declared order already, they are the same array.
        """
        if np.array_equal(self.codes, np.arange(counts.shape[-1])):
            return counts
        for axis in range(-axes, 0):
            counts = np.take(counts, self.codes, axis=axis)
        return counts

    def get_code_indices(self, codes: np.ndarray) -> np.ndarray:
        """Return the positions of codes (n,) among the declared categories, -1 for other codes."""
        index_of_code = np.full(max(self.width, codes.max(initial=-1) + 1), -1, np.int64)
        index_of_code[self.codes] = np.arange(self.k)
        return index_of_code[codes]

    # --- weightings. Those by rank exist on every scale, because categories have a declared order,
    # and the pages and the API offer them.

    @property
    def weighting(self) -> str:
        """The weighting that kappa has by default, as in the headline."""
        return HeadlineFacts(self.kind, 0, self.weights).weighting

    def list_weightings(self) -> list[str]:
        """Return the names of the weightings that this question supports."""
        return list_applicable_weightings(ordered=True, custom=self.matrix is not None)

    def build_weight_matrices(self) -> dict[str, np.ndarray]:
        """Return name -> weight matrix (k, k) for every weighting that this question supports."""
        return build_weightings(self.k, self.matrix)

    def build_disagreement_matrix(self, *, tolerance: float = 0.0) -> np.ndarray:
        """Return the disagreement (k, k) of each two categories, from 0 to 1.

        It is 1 minus the weight in the headline's kappa, divided by the largest difference; without
        weights 0 or 1. Categories that differ by at most ``tolerance`` in value (or rank, without
        values), as gold answers allow, do not disagree.
        """
        disagreement = 1 - self.build_weight_matrices()[self.weighting]
        disagreement /= max(disagreement.max(initial=0.0), 1e-12)
        positions = np.arange(self.k) if self.values is None else self.values
        distance = np.abs(positions[:, None] - positions[None, :])
        return np.where(distance <= tolerance, 0.0, disagreement)

    # --- coefficients, by the names under which they are stored

    def list_pattern_coefficients(self) -> list[str]:
        """Return the names of the coefficients that are computed from patterns."""
        custom = self.matrix is not None
        return list(registry.get_pattern_forms(scale=self.kind, values=self.values, custom=custom))

    def list_mean_coefficients(self) -> list[str]:
        """Return the names of the mean pairwise kappas."""
        return registry.list_mean_kappa_names(self.list_weightings())

    def list_peer_coefficients(self) -> list[str]:
        """Return the names of the coefficients of a rater against the others."""
        return registry.list_peer_names(self.list_weightings())

    def estimate_patterns(
        self,
        counts: np.ndarray,
        n_items: np.ndarray,
        *,
        names: Collection[str] | None = None,
        interval: bool = True,
    ) -> dict[str, Estimate]:
        """Return name -> Estimate (...) of the pattern coefficients.

        ``counts``: patterns (P, k) in declared order; ``n_items`` (..., P): numbers of items;
        ``names``: compute these only, all when None; ``interval``: False for values alone.
        """
        return scale_coefficients.pattern_coefficients(
            counts,
            n_items,
            scale=self.kind,
            values=self.values,
            weight_matrix=self.matrix,
            names=names,
            interval=interval,
        )

    def compute_by_policy(self, patterns: PatternCounts, n_raters: int) -> list[MissingDataPolicy]:
        """Return kappa with the question's weighting under each policy for missing ratings.

        ``patterns``: of the items, with categories in declared order; ``n_raters``: of all raters.
        """
        return compute_by_policy(
            patterns.counts,
            patterns.n_items,
            n_raters=n_raters,
            scale=self.kind,
            weighting=HeadlineFacts(self.kind, n_raters, self.weights).weighting,
            values=self.values,
            weight_matrix=self.matrix,
        )

    def estimate_peers(
        self, peers: PeerTables, *, names: Collection[str] | None = None
    ) -> dict[str, Estimate]:
        """Return name -> Estimate (G,) of each rater's coefficients against the peers.

        ``peers``: G peer tables in declared order; ``names``: compute these only, all when None.
        """
        return scale_coefficients.compute_peer_coefficients(
            peers.tables,
            peers.moments,
            peers.n_items,
            weights=self.build_weight_matrices(),
            values=self.values,
            names=names,
        )

    def estimate_pair_trend(self, tables: np.ndarray) -> dict[str, Estimate]:
        """Return name -> Estimate (T,) of two raters' coefficients in T periods.

        ``tables`` (T, k, k): the pair's table of each period, in declared order.
        """
        weights = self.build_weight_matrices()
        return scale_coefficients.compute_pair_trend(
            tables, scale=self.kind, weights=weights, values=self.values
        )

    def compute_pair_kappas(self, tables: np.ndarray) -> dict[str, np.ndarray]:
        """Return Cohen's kappa, with its interval, of pair tables (P, width, width) by code.

        The result maps each weighting to (P, 3): value, low, high; NaN where undefined, or where
        the question does not support the weighting.
        """
        ordered = self.reorder_to_declared(tables, axes=2)
        matrices = self.build_weight_matrices()
        estimates = {name: cohen.kappa(ordered, matrix) for name, matrix in matrices.items()}
        solve_together([kappa.limits for kappa in estimates.values()])
        kappas = {name: np.full((len(tables), 3), np.nan) for name in WEIGHTINGS}
        for name, kappa in estimates.items():
            kappas[name] = np.stack([kappa.value, kappa.low, kappa.high], axis=1)
        return kappas


def list_headline_coefficients(scale: QuestionScale) -> list[str]:
    """Return the names of the coefficients that can be a question's headline and have a trend."""
    custom = scale.matrix is not None
    return registry.list_headline_names(scale=scale.kind, values=scale.values, custom=custom)
