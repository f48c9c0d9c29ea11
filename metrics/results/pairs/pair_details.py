"""One pair of raters, from the stored table: kappa under every weighting, and whether both use the
categories alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.agreement import COEFFICIENTS, batch
from metrics.agreement.coefficients import cohen, marginal_tests
from metrics.agreement.estimate import REASONS, Value, number
from metrics.models import PairTally
from metrics.scale import QuestionScale
from projects.models import Question, Rater

from . import pair_results


@dataclass(frozen=True)
class MarginalTest:
    """A test of marginal homogeneity or symmetry; ``reason`` names why it is undefined."""

    name: str
    chi2: float | None
    df: int | None
    p: float | None
    reason: str | None

    @property
    def about(self) -> str:
        """The test that this is a form of."""
        return self.name.removesuffix("_exact")


@dataclass(frozen=True)
class PairDetails:
    """Everything about two raters, ``a`` in rows."""

    table: np.ndarray  # (k, k), declared order
    kappas: dict[str, Value]  # weighting -> READING
    tests: list[MarginalTest]
    others: dict[str, Value]  # what else is known of two raters on such a scale
    categories: list[tuple[str, Value]]  # label, and Cohen's kappa against the rest

    @property
    def n_items(self) -> int:
        return int(self.table.sum())

    @property
    def same(self) -> int:
        return int(np.trace(self.table))

    @classmethod
    def from_table(cls, table: np.ndarray, scale: QuestionScale) -> PairDetails:
        kappas = {
            name: cohen.kappa(table, matrix).reading()
            for name, matrix in scale.weightings().items()
        }
        of_each = cohen.category_kappas(table).readings() if len(table) else []
        categories = list(zip(scale.labels, of_each, strict=True))
        return cls(table, kappas, _tests(table), _others(table, scale), categories)


def stored(question: Question, a: Rater, b: Rater, scale: QuestionScale) -> np.ndarray:
    """The (k, k) table of the items that both rated, ``a`` in rows; zeros when they share none."""
    first, second = sorted((a.pk, b.pk))
    rows = PairTally.objects.filter(question=question, rater_a=first, rater_b=second).values_list(
        "width", "table"
    )
    # of the one row that there is, or of none
    table = pair_results.declared(list(rows), scale).sum(axis=0)
    return table if first == a.pk else table.T


def _others(table: np.ndarray, scale: QuestionScale) -> dict[str, Value]:
    """Name -> READING of every coefficient of two raters that says something on such a scale, but
    for the kappas."""
    found = batch.table_coefficients(
        table, scale=scale.kind, values=scale.values, weight_matrix=scale.matrix
    )
    told = {}
    for name, estimate in found.items():
        entry = COEFFICIENTS.get(name)
        of_all = entry is None or entry.name == "cohen_kappa" or estimate.shape
        if entry is not None and not of_all and entry.makes_sense(scale.type):
            told[name] = estimate.reading()
    return told


def _tests(table: np.ndarray) -> list[MarginalTest]:
    made = [
        _named("stuart_maxwell", marginal_tests.stuart_maxwell(table)),
        _named("bowker", marginal_tests.bowker(table)),
    ]
    if len(table) == 2:
        made.append(_named("mcnemar", marginal_tests.mcnemar(table, corrected=True)))
        exact = number(marginal_tests.mcnemar_exact(table))
        made.append(MarginalTest("mcnemar_exact", None, None, exact, made[-1].reason))
    return made


def _named(name: str, test: marginal_tests.Test) -> MarginalTest:
    df = number(test.df)
    reason = REASONS[int(test.reason)]
    return MarginalTest(
        name, number(test.chi2), None if df is None else int(df), number(test.p), reason
    )
