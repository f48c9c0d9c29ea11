"""Pairs of raters for pages and API: stored kappas, selected and sorted, and details of one pair.

The details are kappa under every weighting, other coefficients, and tests of whether both raters
use the categories alike, all from the pair's stored table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Q, QuerySet

from metrics.agreement import COEFFICIENTS, scale_coefficients
from metrics.agreement.coefficients import cohen, marginal_tests
from metrics.agreement.counts.tally import PairTables
from metrics.agreement.estimate import REASONS, Value, to_finite_float
from metrics.agreement.explain.diagnosis import MIN_RARE_ITEMS
from metrics.agreement.headline import COHEN
from metrics.counting import store
from metrics.models import PairTally, RaterResult, build_number_expression
from metrics.question_scale import QuestionScale, get_weighted_name
from metrics.results.intervals import QuestionClusters
from metrics.results.stored_values import build_value
from projects.models import Question, Rater

MAX_HEATMAP_RATERS = 40  # a larger heat map is unreadable
MAX_PAIRS_OF_RATER = 100  # on the rater's page
MAX_LISTED_PAIRS = 10_000  # pairs in the paginated list; the API returns all
MIN_COMPARED_ITEMS = 30  # of a rater in the list of the highest or lowest agreement
WIDE_INTERVAL = 0.4  # a pair with a wider interval is uncertain
FEW_ITEMS = 10  # a pair with fewer items is uncertain, too: its interval may be a point


@dataclass(frozen=True)
class PairAgreement:
    """Two raters and their kappa under one weighting, for all ratings or those of a filter."""

    rater_a: Rater
    rater_b: Rater
    kappa: Value
    n_items: int

    @classmethod
    def from_kappa(
        cls,
        rater_a: Rater,
        rater_b: Rater,
        kappa: Sequence[Any],
        n_items: int,
        *,
        weights: str,
        clusters: QuestionClusters | None,
    ) -> PairAgreement:
        """Return the pair with this kappa, its interval widened for clusters.

        ``kappa``: value, low, high, and the reason if it is undefined; ``weights``: its weighting;
        ``clusters``: None without any.
        """
        number, low, high, reason = kappa
        value = build_value(
            number, reason, n_items=n_items, n_ratings=2 * n_items, limits=(low, high)
        )
        if clusters is not None:
            value = clusters.widen_interval(get_weighted_name(COHEN, weights), value)
        return cls(rater_a, rater_b, value, n_items)

    @property
    def is_uncertain(self) -> bool:
        """True if the pair has too few items, no interval or too wide a one, to be highlighted."""
        low, high = self.kappa["low"], self.kappa["high"]
        return self.n_items < FEW_ITEMS or low is None or high is None or high - low > WIDE_INTERVAL


def filter_most_active_results(question_id: int) -> QuerySet[RaterResult]:
    """Return the results of the raters with the most ratings, at most MAX_HEATMAP_RATERS."""
    rows = RaterResult.objects.filter(question=question_id)
    return rows.order_by("-n_ratings", "rater_id")[:MAX_HEATMAP_RATERS]


def list_most_active_raters(question_id: int) -> list[Rater]:
    """Return the raters with the most ratings, at most MAX_HEATMAP_RATERS, sorted by key."""
    rows = filter_most_active_results(question_id).select_related("rater").only("rater")
    return sorted((row.rater for row in rows), key=lambda rater: build_natural_key(rater.key))


def list_extreme_raters(question_id: int, name: str, *, lowest: bool) -> list[Rater]:
    """Return the raters with the lowest or highest values of the coefficient ``name``.

    At most MAX_HEATMAP_RATERS, of the raters who share MIN_COMPARED_ITEMS items with others.
    """
    rows = RaterResult.objects.filter(question=question_id).annotate(
        value=build_number_expression(f"coefficients__{name}__value"),
        n=build_number_expression(f"coefficients__{name}__n_items"),
    )
    comparable = rows.filter(n__gte=MIN_COMPARED_ITEMS, value__isnull=False)
    order = "value" if lowest else "-value"
    comparable = comparable.order_by(order, "rater_id").select_related("rater").only("rater")
    return [row.rater for row in comparable[:MAX_HEATMAP_RATERS]]


def sort_by_agreement(raters: Sequence[Rater], pairs: Sequence[PairAgreement]) -> list[Rater]:
    """Sort raters by the item-weighted mean of their kappas among these pairs, highest first.

    Raters without a kappa come last; ties by key.
    """
    sums: dict[int, list[float]] = {rater.pk: [0.0, 0.0] for rater in raters}
    for pair in pairs:
        if pair.kappa["value"] is None:
            continue
        for rater in (pair.rater_a, pair.rater_b):
            sums[rater.pk][0] += pair.n_items * pair.kappa["value"]
            sums[rater.pk][1] += pair.n_items

    def get_sort_key(rater: Rater) -> tuple[float, Any]:
        total, items = sums[rater.pk]
        return (-total / items if items else 2.0, build_natural_key(rater.key))

    return sorted(raters, key=get_sort_key)


def build_natural_key(key: str) -> tuple[Any, ...]:
    """Return a sort key that compares numbers in a text as numbers: "rater2" before "rater10"."""
    parts: list[Any] = []
    number = ""
    for character in key + "\0":
        if character.isascii() and character.isdigit():
            number += character
            continue
        if number:
            parts.append((0, int(number), ""))
            number = ""
        parts.append((1, 0, character))
    return tuple(parts)


def load_tables_among(question_id: int, raters: Sequence[int], scale: QuestionScale) -> PairTables:
    """Return the tables, in declared order, of all pairs among these raters that share an item."""
    rows = filter_pairs_among(question_id, raters).order_by("rater_a_id", "rater_b_id")
    stored = list(rows.values_list("rater_a_id", "rater_b_id", "width", "table"))
    raters_a, raters_b = np.array([row[:2] for row in stored], np.int64).reshape(-1, 2).T
    return PairTables(raters_a, raters_b, decode_tables([row[2:] for row in stored], scale))


def filter_pairs_among(question_id: int, raters: Sequence[int]) -> QuerySet[PairTally]:
    """Return the rows of the pairs among these raters that share an item."""
    return PairTally.objects.filter(question=question_id, rater_a__in=raters, rater_b__in=raters)


def list_pairs_among(question: Question, raters: list[Rater], weights: str) -> list[PairAgreement]:
    """Return the pairs among these raters that share an item."""
    raters_by_id = {rater.pk: rater for rater in raters}
    rows = filter_pairs_among(question.pk, list(raters_by_id)).order_by("rater_a_id", "rater_b_id")
    clusters = QuestionClusters.load(question.pk, question.project)
    return [_build_pair(row, raters_by_id, weights, clusters) for row in rows.defer("table")]


def list_pairs_of_rater(question: Question, rater: Rater, weights: str) -> list[PairAgreement]:
    """Return the MAX_PAIRS_OF_RATER pairs of a rater with the most shared items, or fewer.

    The rater comes first in each pair.
    """
    rows = PairTally.objects.filter(question=question).filter(Q(rater_a=rater) | Q(rater_b=rater))
    rows = rows.order_by("-n_items", "rater_a_id", "rater_b_id").defer("table")
    return [
        pair
        if pair.rater_a.pk == rater.pk
        else PairAgreement(pair.rater_b, pair.rater_a, pair.kappa, pair.n_items)
        for pair in _build_pairs(question, list(rows[:MAX_PAIRS_OF_RATER]), weights)
    ]


def list_pair_ids(question: Question, weights: str, sort: str) -> list[int]:
    """Return ids of at most MAX_LISTED_PAIRS pairs, sorted by shared items or kappa.

    ``sort``: "items" for the fewest shared items first, "-items" for the most; any other text sorts
    by kappa under ``weights``, highest first if it begins with a minus. They are the pairs with the
    most shared items; undefined kappas come last. A sort of all pairs by kappa would cost more, and
    begin with pairs whose few shared items agree by chance.
    """
    pairs = PairTally.objects.filter(question=question).order_by(
        "-n_items", "rater_a_id", "rater_b_id"
    )
    if sort in ("items", "-items"):
        ids = list(pairs.values_list("pk", flat=True)[:MAX_LISTED_PAIRS])
        return ids if sort == "-items" else ids[::-1]
    rows = list(pairs.values_list("pk", f"kappa_{weights}")[:MAX_LISTED_PAIRS])
    # argsort puts NaN (undefined) last
    kappa = np.array([row[1] for row in rows], float)
    order = np.argsort(-kappa if sort.startswith("-") else kappa, kind="stable")
    return [rows[index][0] for index in order.tolist()]


def list_pairs_by_id(question: Question, ids: Sequence[int], weights: str) -> list[PairAgreement]:
    """Return the pairs of these ids, in their order; pairs deleted meanwhile are left out."""
    rows = PairTally.objects.defer("table").in_bulk(ids)
    return _build_pairs(question, [rows[pk] for pk in ids if pk in rows], weights)


def _build_pairs(question: Question, rows: list[PairTally], weights: str) -> list[PairAgreement]:
    """Return the pairs of these rows, with their raters fetched in one query."""
    ids = {row.rater_a_id for row in rows} | {row.rater_b_id for row in rows}
    raters = Rater.objects.in_bulk(ids)
    clusters = QuestionClusters.load(question.pk, question.project)
    return [_build_pair(row, raters, weights, clusters) for row in rows]


def _build_pair(
    row: PairTally, raters: dict[int, Rater], weights: str, clusters: QuestionClusters | None
) -> PairAgreement:
    value, low, high = (getattr(row, f"{column}_{weights}") for column in store.KAPPA_PARTS)
    # A stored pair shares at least one item, so only a single category leaves kappa undefined.
    reason = "single_category" if value is None else None
    return PairAgreement.from_kappa(
        raters[row.rater_a_id],
        raters[row.rater_b_id],
        (value, low, high, reason),
        row.n_items,
        weights=weights,
        clusters=clusters,
    )


def decode_tables(
    rows: Sequence[tuple[int, bytes | memoryview]], scale: QuestionScale
) -> np.ndarray:
    """Return the tables (P, k, k) in declared order of P stored pairs, rater a in rows.

    ``rows``: (width, table) of each pair.
    """
    widths, tables = [row[0] for row in rows], [row[1] for row in rows]
    return scale.reorder_to_declared(
        store.decode_arrays(tables, widths, scale.width, axes=2), axes=2
    )


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
    estimates = scale_coefficients.table_coefficients(
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
