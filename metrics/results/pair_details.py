"""All statistics of one pair of raters, from the stored table.

They are kappa under every weighting, other coefficients, and tests of whether both raters use the
categories alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.agreement import COEFFICIENTS, batch
from metrics.agreement.coefficients import cohen, marginal_tests
from metrics.agreement.estimate import REASONS, Value, to_finite_float
from metrics.agreement.explain.diagnosis import MIN_RARE_ITEMS
from metrics.agreement.headline import COHEN
from metrics.models import PairTally
from metrics.question_scale import QuestionScale, get_weighted_name
from metrics.results.intervals import QuestionClusters
from metrics.results.pair_results import decode_tables
from projects.models import Question, Rater


@dataclass(frozen=True)
class MarginalTest:
    """A test of marginal homogeneity or symmetry of two raters.

    ``chi2``, ``df``, ``p``: None where undefined, or where an exact test has none; ``reason``: why
    the test is undefined, None if it is not.
    """

    name: str
    chi2: float | None
    df: int | None
    p: float | None
    reason: str | None

    @property
    def base_name(self) -> str:
        """The name of the test without its variant."""
        return self.name.removesuffix("_exact")


@dataclass(frozen=True)
class PairDetails:
    """All statistics of two raters, with rater ``a`` in the rows of the table."""

    table: np.ndarray  # (k, k), declared order
    kappas: dict[str, Value]  # weighting -> Cohen's kappa
    tests: list[MarginalTest]
    other_coefficients: dict[str, Value]  # other coefficients of two raters that suit the scale
    categories: list[tuple[str, Value]]  # label, and Cohen's kappa of it against the others

    @property
    def n_items(self) -> int:
        """Number of items that both raters rated."""
        return int(self.table.sum())

    @property
    def n_equal(self) -> int:
        """Number of items to which both raters gave the same category."""
        return int(np.trace(self.table))

    @property
    def has_rare_answers(self) -> bool:
        """True if some, but fewer than MIN_RARE_ITEMS, items deviate from the commonest answer."""
        frequent = int(np.argmax(self.table.sum(axis=0) + self.table.sum(axis=1)))
        n_rare = self.n_items - int(self.table[frequent, frequent])
        return 0 < n_rare < MIN_RARE_ITEMS

    @classmethod
    def from_table(
        cls, table: np.ndarray, scale: QuestionScale, clusters: QuestionClusters | None = None
    ) -> PairDetails:
        """Compute the details from the (k, k) table, with intervals widened for clusters.

        ``clusters``: those of the question's items, None without any.
        """
        kappas = {
            name: cohen.kappa(table, matrix).to_value()
            for name, matrix in scale.build_weight_matrices().items()
        }
        category_kappas = cohen.category_kappas(table).to_values() if len(table) else []
        other_coefficients = _compute_other_coefficients(table, scale)
        if clusters is not None:
            kappas = {
                name: clusters.widen_interval(get_weighted_name(COHEN, name), value)
                for name, value in kappas.items()
            }
            other_coefficients = clusters.widen_all(other_coefficients)
            category_kappas = [clusters.widen_interval(COHEN, value) for value in category_kappas]
        categories = list(zip(scale.labels, category_kappas, strict=True))
        return cls(table, kappas, _compute_tests(table), other_coefficients, categories)


def load_pair_table(question: Question, a: Rater, b: Rater, scale: QuestionScale) -> np.ndarray:
    """Return the (k, k) table of the items that both raters rated, ``a`` in rows.

    All cells are zero if they share no item.
    """
    first, second = sorted((a.pk, b.pk))
    rows = PairTally.objects.filter(question=question, rater_a=first, rater_b=second).values_list(
        "width", "table"
    )
    # there is one row or none
    table = decode_tables(list(rows), scale).sum(axis=0)
    return table if first == a.pk else table.T


def _compute_other_coefficients(table: np.ndarray, scale: QuestionScale) -> dict[str, Value]:
    """Return name -> Value of the coefficients of two raters that suit the scale.

    Kappas are not included.
    """
    estimates = batch.table_coefficients(
        table, scale=scale.kind, values=scale.values, weight_matrix=scale.matrix
    )
    values = {}
    for name, estimate in estimates.items():
        entry = COEFFICIENTS.get(name)
        is_excluded = entry is None or entry.name == "cohen_kappa" or estimate.shape
        if entry is not None and not is_excluded and entry.is_meaningful_on(scale.type):
            values[name] = estimate.to_value()
    return values


def _compute_tests(table: np.ndarray) -> list[MarginalTest]:
    tests = [
        _build_test("stuart_maxwell", marginal_tests.stuart_maxwell(table)),
        _build_test("bowker", marginal_tests.bowker(table)),
    ]
    if len(table) == 2:
        tests.append(_build_test("mcnemar", marginal_tests.mcnemar(table, corrected=True)))
        exact = to_finite_float(marginal_tests.mcnemar_exact(table))
        tests.append(MarginalTest("mcnemar_exact", None, None, exact, tests[-1].reason))
    return tests


def _build_test(name: str, test: marginal_tests.ChiSquareTest) -> MarginalTest:
    df = to_finite_float(test.df)
    reason = REASONS[int(test.reason)]
    return MarginalTest(
        name,
        to_finite_float(test.chi2),
        None if df is None else int(df),
        to_finite_float(test.p),
        reason,
    )
