"""report(): all statistics of one table of ratings, as a flat dictionary.

Keys are `NAME`, `NAME.se`, `NAME.ci_low`, `NAME.ci_high` (the published asymptotic interval),
`NAME.low`, `NAME.high` (the interval that pages show) and so on; None for undefined, then with the
reason under `NAME.reason`. Two-rater keys are filled for two raters; `pairwise` holds every
pair.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.agreement.scales import validate_category_count, validate_codes, validate_values

from .coefficients import cohen, marginal_tests
from .coefficients.conger import RatedItems
from .coefficients.declaration import Coefficient, Formula
from .coefficients.intraclass.icc import Icc
from .coefficients.intraclass.incomplete_icc import compute_incomplete_icc, icc_of_ratings
from .coefficients.marginal_tests import ChiSquareTest
from .counts.grouping import Ints
from .counts.pattern_sums import build_pattern_sums
from .counts.tally import PairTables, count_pair_tables, count_patterns
from .estimate import NORMAL_QUANTILE, REASONS, Estimate, Floats, to_finite_float
from .registry import COEFFICIENTS
from .scale_coefficients import compute_pattern_formula
from .weights import UNWEIGHTED, build_weightings, validate_weight_matrix

ReportDict = dict[str, Any]


def report(
    codes: npt.ArrayLike,
    categories: int | Sequence[Any],
    values: Sequence[float] | npt.ArrayLike | None = None,
    weight_matrix: Sequence[Sequence[float]] | npt.ArrayLike | None = None,
) -> ReportDict:
    """Return all coefficients of `codes`, an (items x raters) integer array with -1 for missing.

    categories: the number k of declared categories (or the sequence of them); codes are 0..k-1 in
    declared order. values: k numbers for interval and ratio statistics, 1..k when None.
    weight_matrix: custom weights (k, k). Raises ValueError, which names the position of the first
    invalid entry and the allowed values.
    """
    k = validate_category_count(categories)
    table = validate_codes(codes, k)
    item, rater = np.nonzero(table >= 0)
    scale = _Scale.from_input(k, values, weight_matrix)
    # Two columns are two raters, even where one of them has no ratings.
    return _build_report(
        (item, rater, table[item, rater]), scale, has_two_raters=table.shape[1] == 2
    )


def build_report(
    item: npt.ArrayLike,
    rater: npt.ArrayLike,
    code: npt.ArrayLike,
    k: int,
    *,
    values: Sequence[float] | npt.ArrayLike | None = None,
    weight_matrix: Sequence[Sequence[float]] | npt.ArrayLike | None = None,
) -> ReportDict:
    """Return report() of ratings in long form (M,), for data where most raters rated few items.

    item: integers; rater: numbers from 0 (`pairwise` counts them from 1); code: 0..k-1. values (k,)
    and weight_matrix (k, k) as for report(): ranks 1..k, and no custom weights, when None. Raises
    ValueError for invalid values or weights.
    """
    scale = _Scale.from_input(validate_category_count(k), values, weight_matrix)
    return _build_report((item, rater, code), scale, has_two_raters=False)


@dataclass(frozen=True)
class _Scale:
    """The number values of the categories (k,), and the weight matrices (k, k) by name."""

    values: Floats
    weights: dict[str, Floats]

    @classmethod
    def from_input(
        cls,
        k: int,
        values: Sequence[float] | npt.ArrayLike | None,
        weight_matrix: Sequence[Sequence[float]] | npt.ArrayLike | None,
    ) -> "_Scale":
        """Return the scale of validated values (k,) and of a validated weight matrix (k, k).

        values None: ranks 1..k; weight_matrix None: no custom weights. Raises ValueError for
        invalid input.
        """
        numbers = np.arange(1.0, k + 1) if values is None else validate_values(values, k)
        custom_matrix = None if weight_matrix is None else validate_weight_matrix(weight_matrix, k)
        return cls(numbers, build_weightings(k, custom_matrix))

    @property
    def k(self) -> int:
        return len(self.values)

    def iter_forms(
        self, entry: Coefficient, formula: Formula
    ) -> Iterator[tuple[str, Floats | None]]:
        """Yield name and weights (k, k) of each form; the unweighted form has weights None."""
        for name, weighting in entry.get_forms(formula, self.weights).items():
            yield name, None if weighting == UNWEIGHTED else self.weights[weighting]


def _build_report(
    ratings: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
    scale: _Scale,
    *,
    has_two_raters: bool,
) -> ReportDict:
    rated_items = RatedItems.from_ratings(*ratings, scale.k)
    pairs = count_pair_tables(*ratings, scale.k)
    pair = None
    if has_two_raters or len(rated_items.margins) == 2:
        pair = pairs.tables[0] if len(pairs) else np.zeros((scale.k, scale.k), np.int64)
    result: ReportDict = {
        "n_items": len(rated_items.counts),
        "n_raters": len(rated_items.margins),
        "n_ratings": rated_items.code.size,
        "n_pairable_items": int((rated_items.counts.sum(axis=1) >= 2).sum()),
    }
    result |= _report_many_raters(rated_items, scale)
    result |= _report_two_raters(pair, scale)
    result |= _report_all_pairs(pairs, scale)
    return result | _report_intraclass(rated_items, scale)


# --- Entries of the report


def _build_estimate_entries(name: str, entry: Coefficient, estimate: Estimate) -> ReportDict:
    if entry.report_format == "categories":
        return _build_category_entries(name, estimate)
    return _build_interval_entries(name, estimate, interval=entry.report_format != "value")


def _build_interval_entries(name: str, estimate: Estimate, *, interval: bool = True) -> ReportDict:
    """Return a coefficient with its standard error, its published interval and the one shown.

    An undefined entry is None, with the reason under its key plus ".reason". Without `interval`
    only the value is returned.
    """
    result = _build_value_entries(name, estimate.value, REASONS[int(estimate.reason)])
    if interval:
        se_reason = estimate.get_interval_reason()
        result |= _build_value_entries(f"{name}.se", estimate.se, se_reason)
        result |= _build_value_entries(f"{name}.ci_low", estimate.ci_low, se_reason)
        result |= _build_value_entries(f"{name}.ci_high", estimate.ci_high, se_reason)
        # A standard error without limits: a rater used a single category.
        limit_reason = se_reason or "single_category"
        result |= _build_value_entries(f"{name}.low", estimate.low, limit_reason)
        result |= _build_value_entries(f"{name}.high", estimate.high, limit_reason)
    return result


def _build_value_entries(name: str, value: Any, reason: str | None) -> ReportDict:
    """Return {name: value}; None with a key "{name}.reason" where the value is undefined."""
    finite = None if value is None else to_finite_float(value)
    return {name: finite} if finite is not None else {name: None, f"{name}.reason": reason}


def _build_category_entries(name: str, estimate: Estimate) -> ReportDict:
    values = [to_finite_float(value) for value in estimate.value]
    result: ReportDict = {name: values}
    if None in values:
        result[f"{name}.reason"] = [REASONS[int(reason)] for reason in estimate.reason]
    return result


# --- Any number of raters


def _report_many_raters(rated_items: RatedItems, scale: _Scale) -> ReportDict:
    pattern_counts = count_patterns(rated_items.item, rated_items.code, scale.k)
    sums = build_pattern_sums(pattern_counts.counts, pattern_counts.n_items)
    result: ReportDict = {}
    for entry in COEFFICIENTS.values():
        if formula := entry.pattern_formula:
            interval = entry.report_format == "interval"
            for name, matrix in scale.iter_forms(entry, formula):
                estimate = compute_pattern_formula(
                    formula, sums, matrix, scale.values, interval=interval
                )
                result |= _build_estimate_entries(name, entry, estimate)
        if formula := entry.ratings_formula:
            for name, matrix in scale.iter_forms(entry, formula):
                options = formula.build_options(matrix, scale.values)
                result |= _build_estimate_entries(
                    name, entry, formula.function(rated_items, **options)
                )
    return result


def _report_intraclass(rated_items: RatedItems, scale: _Scale) -> ReportDict:
    """Return the intraclass correlations of complete items, and those of all ratings.

    Complete items are those that all raters rated; icc1 falls back to all ratings where there are
    too few of them. Those of all ratings are computed from variance components.
    """
    result: ReportDict = {"icc_n_items": len(rated_items.get_complete_codes())}
    result |= _report_incomplete_icc(rated_items, scale)
    for name, coefficient in icc_of_ratings(rated_items, scale.values).items():
        result |= _build_value_entries(name, coefficient.value, coefficient.reason)
        for part in ("F", "df1", "df2", "p", "ci_low", "ci_high"):
            result |= _build_value_entries(
                f"{name}.{part}",
                getattr(coefficient, part),
                _get_undefined_reason(coefficient, part),
            )
    return result


def _report_incomplete_icc(rated_items: RatedItems, scale: _Scale) -> ReportDict:
    """Return ICC(A,1), ICC(C,1), ICC(A,k) and ICC(Q,k) of all ratings with limits, and k and q.

    k: harmonic mean number of ratings per item; q: weight of the rater variance in ICC(Q,k).
    """
    incomplete = compute_incomplete_icc(
        rated_items.item, rated_items.rater, scale.values[rated_items.code]
    )
    result: ReportDict = {}
    for name, coefficient in incomplete.by_name().items():
        result |= _build_value_entries(name, coefficient.value, coefficient.reason)
        for part in ("ci_low", "ci_high"):
            result |= _build_value_entries(
                f"{name}.{part}",
                getattr(coefficient, part),
                _get_undefined_reason(coefficient, part),
            )
    for name, value in (("icc_incomplete_k", incomplete.k), ("icc_incomplete_q", incomplete.q)):
        result |= _build_value_entries(name, value, incomplete.reason)
    return result


def _get_undefined_reason(coefficient: Icc, part: str) -> str | None:
    """Return why a part of a coefficient is undefined: its own reason, else that of the value.

    None where the part is defined.
    """
    part_reason: str | None = getattr(coefficient, f"{part}_reason", None)
    return part_reason or coefficient.reason


# --- Two raters


def _report_two_raters(table: Ints | None, scale: _Scale) -> ReportDict:
    result: ReportDict = {} if table is None else {"n_pairs": int(table.sum())}
    for entry in COEFFICIENTS.values():
        formula = entry.table_formula
        if formula is None:
            continue
        if entry.pattern_formula is None:
            for name, matrix in scale.iter_forms(entry, formula):
                if table is None:
                    result |= _build_value_entries(name, None, "needs_two_raters")
                else:
                    options = formula.build_options(matrix, scale.values)
                    result |= _report_pair_statistic(name, entry, table, options)
        elif (
            table is not None
        ):  # reported for any number of raters; two have a second standard error
            estimate = formula.function(table)
            result |= _build_value_entries(
                f"{entry.name}.se_table", estimate.se, estimate.get_interval_reason()
            )
    return result


def _report_pair_statistic(
    name: str, entry: Coefficient, table: Ints, options: dict[str, Any]
) -> ReportDict:
    if entry.report_format == "2x2 test" and len(table) != 2:
        return _build_value_entries(name, None, "needs_2x2")
    if entry.table_formula is None:
        return {}
    result = entry.table_formula.function(table, **options)
    if entry.report_format == "2x2 test":
        return _report_mcnemar(result, table)
    if entry.report_format == "test":
        return _build_test_entries(name.removesuffix(".chi2"), result)
    formatted = _build_estimate_entries(name, entry, result)
    if entry.report_format == "kappa":
        formatted |= _format_normal_interval(name, result, table, options.get("weights"))
    return formatted


def _format_normal_interval(
    name: str, estimate: Estimate, table: Ints, weights: npt.ArrayLike | None
) -> ReportDict:
    """Return kappa's interval with the normal quantile (SAS, vcd), and its se0 under chance.

    se0 is the standard error if the two raters were independent. The interval with t (irrCAC) is
    reported beside it.
    """
    se_reason = estimate.get_interval_reason()
    se0 = cohen.standard_error_under_chance(table, weights) if se_reason is None else None
    margin = NORMAL_QUANTILE * estimate.se
    return {
        **_build_value_entries(f"{name}.ci_low_z", estimate.value - margin, se_reason),
        **_build_value_entries(
            f"{name}.ci_high_z", np.minimum(estimate.value + margin, 1), se_reason
        ),
        **_build_value_entries(f"{name}.se0", se0, se_reason),
    }


def _build_test_entries(name: str, test: ChiSquareTest) -> ReportDict:
    reason = REASONS[int(test.reason)]
    result = _build_value_entries(f"{name}.chi2", test.chi2, reason)
    result |= _build_value_entries(f"{name}.p", test.p, reason)
    if reason is None:
        return result | {f"{name}.df": int(test.df)}
    return result | _build_value_entries(f"{name}.df", None, reason)


def _report_mcnemar(uncorrected: ChiSquareTest, table: Ints) -> ReportDict:
    corrected = marginal_tests.mcnemar(table, corrected=True)
    reason = REASONS[int(uncorrected.reason)]
    return {
        **_build_value_entries("mcnemar.chi2", uncorrected.chi2, reason),
        **_build_value_entries("mcnemar.p", uncorrected.p, reason),
        **_build_value_entries("mcnemar.chi2_cc", corrected.chi2, reason),
        **_build_value_entries("mcnemar.p_cc", corrected.p, reason),
        **_build_value_entries("mcnemar.p_exact", marginal_tests.mcnemar_exact(table), reason),
    }


# --- All pairs of raters


def _report_all_pairs(pairs: PairTables, scale: _Scale) -> ReportDict:
    """Return the coefficients of each pair of raters, and those computed from all pairs.

    The key `pairwise` holds "1-2" -> the coefficients of this pair; raters count from 1.
    """
    columns: dict[str, Estimate] = {}
    result: ReportDict = {}
    for entry in COEFFICIENTS.values():
        if entry.reported_per_pair and (formula := entry.table_formula):
            for name, matrix in scale.iter_forms(entry, formula):
                options = formula.build_options(matrix, scale.values)
                if entry.report_format == "kappa":  # the others have no interval
                    options["interval"] = False
                columns[name] = formula.function(pairs.tables, **options)
        if formula := entry.pair_tables_formula:
            for name, matrix in scale.iter_forms(entry, formula):
                options = formula.build_options(matrix, scale.values)
                result |= _build_estimate_entries(
                    name, entry, formula.function(pairs.tables, **options)
                )
    return result | {"pairwise": _report_each_pair(pairs, columns)}


def _report_each_pair(pairs: PairTables, columns: dict[str, Estimate]) -> dict[str, ReportDict]:
    reports = {}
    raters = zip(pairs.rater_a.tolist(), pairs.rater_b.tolist(), strict=True)
    for index, (a, b) in enumerate(raters):
        pair_report: ReportDict = {"n_pairs": int(pairs.tables[index].sum())}
        for name, estimate in columns.items():
            reason = REASONS[int(estimate.reason[index])]
            pair_report |= _build_value_entries(name, estimate.value[index], reason)
        reports[f"{a + 1}-{b + 1}"] = pair_report
    return reports
