"""A question's scale as the arrays that the agreement library takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.agreement.coefficients import cohen
from projects.models import Question

from .agreement import weights


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

    @classmethod
    def of(cls, question: Question) -> QuestionScale:
        known = list(question.categories.all())
        categories = question.active_categories(known)
        values = [category.value for category in categories]
        width = max((category.code for category in known), default=-1) + 1
        matrix = question.weight_matrix
        return cls(
            kind=question.scale,
            codes=np.array([category.code for category in categories], np.int64),
            width=width,
            labels=[category.label for category in categories],
            values=None if not values or None in values else np.array(values, float),
            matrix=None if matrix is None else np.array(matrix, float),
        )

    @property
    def k(self) -> int:
        return len(self.codes)

    def ordered(self, counts: np.ndarray, *, axes: int = 1) -> np.ndarray:
        """The last ``axes`` axes (by code) as categories in declared order."""
        for axis in range(-axes, 0):
            counts = np.take(counts, self.codes, axis=axis)
        return counts

    def weightings(self) -> dict[str, np.ndarray]:
        """Name -> weight matrix (k, k) for every weighting that this question knows."""
        known = {name: weights.matrix(name, self.k) for name in ("none", "linear", "quadratic")}
        if self.matrix is not None:
            known["custom"] = self.matrix
        return known

    def pair_kappas(self, tables: np.ndarray) -> dict[str, np.ndarray]:
        """Cohen's kappa of tables (P, width, width) and the ends of its interval.

        Weighting -> (P, 3): value, low, high; not-a-number where undefined or not known.
        """
        ordered = self.ordered(tables, axes=2)
        weightings = self.weightings()
        found = {}
        for name in ("none", "linear", "quadratic", "custom"):
            found[name] = np.full((len(tables), 3), np.nan)
            if name in weightings:
                kappa = cohen.kappa(ordered, weightings[name])
                found[name] = np.stack([kappa.value, kappa.low, kappa.high], axis=1)
        return found


def weighted(base: str, weights: str) -> str:
    """The name of a coefficient under a weighting: ("fleiss_kappa", "none") is the plain one."""
    return base if weights == "none" else f"{base}_{weights}"


def headlines(scale: QuestionScale) -> list[str]:
    """The coefficients that can stand as the headline and the trend of a question."""
    names = ["fleiss_kappa"]
    if scale.kind != "nominal":
        names += ["fleiss_kappa_linear", "fleiss_kappa_quadratic"]
    if scale.matrix is not None:
        names.append("fleiss_kappa_custom")
    names.append("krippendorff_alpha_nominal")
    if scale.kind != "nominal":
        names.append("krippendorff_alpha_ordinal")
    if scale.kind in ("interval", "ratio") and scale.values is not None:
        names.append("krippendorff_alpha_interval")
    return [*names, "gwet_ac1", "percent_agreement"]
