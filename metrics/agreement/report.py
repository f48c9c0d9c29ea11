"""report(): everything that can be said about one table of ratings, as a flat dictionary.

Keys are `NAME`, `NAME.se`, `NAME.ci_low`, `NAME.ci_high` and so on; None for undefined, then with
`NAME.reason` naming why. Two-rater keys are filled for two raters; `pairwise` holds every pair.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from . import validation
from .batch import of_patterns
from .coefficients import cohen, marginal_tests
from .coefficients.conger import RatedItems
from .coefficients.declaration import Coefficient, Formula
from .coefficients.intraclass.icc import Icc, icc
from .coefficients.marginal_tests import Test
from .counts.grouping import Ints
from .counts.sums import pattern_sums
from .counts.tally import PairTables, pair_tables, patterns
from .estimate import LEVEL, REASONS, Estimate, Floats, number
from .registry import COEFFICIENTS
from .weights import NONE, check_weight_matrix, weightings

_Z = float(special.ndtri((1 + LEVEL) / 2))

Found = dict[str, Any]


def report(
    codes: npt.ArrayLike,
    categories: int | Sequence[Any],
    values: Sequence[float] | npt.ArrayLike | None = None,
    weight_matrix: Sequence[Sequence[float]] | npt.ArrayLike | None = None,
) -> Found:
    """All coefficients of `codes`, an (items x raters) integer array with -1 for missing.

    categories: the number k of declared categories (or the sequence of them); codes are 0..k-1 in
    declared order. values: k numbers for interval and ratio statistics, 1..k when None.
    weight_matrix: custom weights (k, k). ValueError names the place of what is wrong and what is
    allowed.
    """
    k = validation.checked_k(categories)
    table = validation.checked_codes(codes, k)
    item, rater = np.nonzero(table >= 0)
    scale = _Scale.of(k, values, weight_matrix)
    # two columns are two raters, even where one of them rated nothing
    return _report((item, rater, table[item, rater]), scale, of_two=table.shape[1] == 2)


def report_ratings(
    item: npt.ArrayLike,
    rater: npt.ArrayLike,
    code: npt.ArrayLike,
    k: int,
    *,
    values: Sequence[float] | npt.ArrayLike | None = None,
    weight_matrix: Sequence[Sequence[float]] | npt.ArrayLike | None = None,
) -> Found:
    """report() of ratings in long form (M,), where most raters rated few items. Raters are numbered
    from 0."""
    scale = _Scale.of(validation.checked_k(k), values, weight_matrix)
    return _report((item, rater, code), scale, of_two=False)


@dataclass(frozen=True)
class _Scale:
    """Numbers of the categories (k,), and name -> matrix (k, k) of all weightings."""

    values: Floats
    weights: dict[str, Floats]

    @classmethod
    def of(
        cls,
        k: int,
        values: Sequence[float] | npt.ArrayLike | None,
        weight_matrix: Sequence[Sequence[float]] | npt.ArrayLike | None,
    ) -> "_Scale":
        numbers = np.arange(1.0, k + 1) if values is None else validation.checked_values(values, k)
        own = None if weight_matrix is None else check_weight_matrix(weight_matrix, k)
        return cls(numbers, weightings(k, own))

    @property
    def k(self) -> int:
        return len(self.values)

    def forms(self, entry: Coefficient, formula: Formula) -> Iterator[tuple[str, Floats | None]]:
        """Name and weights of each form; None for the plain one."""
        for name, weighting in entry.forms(formula, self.weights).items():
            yield name, None if weighting == NONE else self.weights[weighting]


def _report(
    ratings: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike], scale: _Scale, *, of_two: bool
) -> Found:
    rated = RatedItems.of(*ratings, scale.k)
    pairs = pair_tables(*ratings, scale.k)
    pair = None
    if of_two or len(rated.margins) == 2:
        pair = pairs.tables[0] if len(pairs) else np.zeros((scale.k, scale.k), np.int64)
    found: Found = {
        "n_items": len(rated.counts),
        "n_raters": len(rated.margins),
        "n_ratings": rated.code.size,
        "n_pairable_items": int((rated.counts.sum(axis=1) >= 2).sum()),
    }
    found |= _many_raters(rated, scale)
    found |= _two_raters(pair, scale)
    found |= _all_pairs(pairs, scale)
    return found | _intraclass(rated, scale)


# --- how a value is told


def _told(name: str, entry: Coefficient, estimate: Estimate) -> Found:
    if entry.told == "categories":
        return _by_category(name, estimate)
    return _spread_out(name, estimate, interval=entry.told != "value")


def _spread_out(name: str, estimate: Estimate, *, interval: bool = True) -> Found:
    """NAME, NAME.se, NAME.ci_low, NAME.ci_high, and the reasons of what is undefined."""
    found = _valued(name, estimate.value, REASONS[int(estimate.reason)])
    if interval:
        why = estimate.why_no_interval()
        found |= _valued(f"{name}.se", estimate.se, why)
        found |= _valued(f"{name}.ci_low", estimate.low, why)
        found |= _valued(f"{name}.ci_high", estimate.high, why)
    return found


def _valued(name: str, value: Any, reason: str | None) -> Found:
    plain = None if value is None else number(value)
    return {name: plain} if plain is not None else {name: None, f"{name}.reason": reason}


def _by_category(name: str, estimate: Estimate) -> Found:
    values = [number(value) for value in estimate.value]
    found: Found = {name: values}
    if None in values:
        found[f"{name}.reason"] = [REASONS[int(reason)] for reason in estimate.reason]
    return found


# --- any number of raters


def _many_raters(rated: RatedItems, scale: _Scale) -> Found:
    counted = patterns(rated.item, rated.code, scale.k)
    sums = pattern_sums(counted.counts, counted.n_items)
    found: Found = {}
    for entry in COEFFICIENTS.values():
        if formula := entry.of_patterns:
            interval = entry.told == "interval"
            for name, matrix in scale.forms(entry, formula):
                estimate = of_patterns(formula, sums, matrix, scale.values, interval=interval)
                found |= _told(name, entry, estimate)
        if formula := entry.of_ratings:
            for name, matrix in scale.forms(entry, formula):
                options = formula.options(matrix, scale.values)
                found |= _told(name, entry, formula.function(rated, **options))
    return found


def _intraclass(rated: RatedItems, scale: _Scale) -> Found:
    """Of the items that all raters rated."""
    codes = rated.complete()
    found: Found = {"icc_n_items": len(codes)}
    for name, one in icc(scale.values[codes]).items():
        found |= _valued(name, one.value, one.reason)
        for part in ("F", "df1", "df2", "p", "ci_low", "ci_high"):
            found |= _valued(f"{name}.{part}", getattr(one, part), _why(one, part))
    return found


def _why(one: Icc, part: str) -> str | None:
    """Why a part is undefined: for a reason of its own, or for that of the value."""
    own: str | None = getattr(one, f"{part}_reason", None)
    return own or one.reason


# --- two raters


def _two_raters(pair: Ints | None, scale: _Scale) -> Found:
    found: Found = {} if pair is None else {"n_pairs": int(pair.sum())}
    for entry in COEFFICIENTS.values():
        formula = entry.of_table
        if formula is None:
            continue
        if entry.of_patterns is None:
            for name, matrix in scale.forms(entry, formula):
                if pair is None:
                    found |= _valued(name, None, "needs_two_raters")
                else:
                    options = formula.options(matrix, scale.values)
                    found |= _of_two(name, entry, pair, options)
        elif pair is not None:  # told of any number of raters; of two it has another error, too
            estimate = formula.function(pair)
            found |= _valued(f"{entry.name}.se_table", estimate.se, estimate.why_no_interval())
    return found


def _of_two(name: str, entry: Coefficient, pair: Ints, options: dict[str, Any]) -> Found:
    if entry.told == "2x2 test" and len(pair) != 2:
        return _valued(name, None, "needs_2x2")
    if entry.of_table is None:
        return {}
    result = entry.of_table.function(pair, **options)
    if entry.told == "2x2 test":
        return _mcnemar(result, pair)
    if entry.told == "test":
        return _tested(name.removesuffix(".chi2"), result)
    found = _told(name, entry, result)
    if entry.told == "kappa":
        found |= _normal_interval(name, result, pair, options.get("weights"))
    return found


def _normal_interval(
    name: str, estimate: Estimate, pair: Ints, weights: npt.ArrayLike | None
) -> Found:
    """Kappa's interval with the normal quantile (SAS, vcd), beside that with t (irrCAC), and its
    standard error under chance."""
    why = estimate.why_no_interval()
    se0 = cohen.standard_error_under_chance(pair, weights) if why is None else None
    margin = _Z * estimate.se
    return {
        **_valued(f"{name}.ci_low_z", estimate.value - margin, why),
        **_valued(f"{name}.ci_high_z", np.minimum(estimate.value + margin, 1), why),
        **_valued(f"{name}.se0", se0, why),
    }


def _tested(name: str, test: Test) -> Found:
    reason = REASONS[int(test.reason)]
    found = _valued(f"{name}.chi2", test.chi2, reason)
    found |= _valued(f"{name}.p", test.p, reason)
    if reason is None:
        return found | {f"{name}.df": int(test.df)}
    return found | _valued(f"{name}.df", None, reason)


def _mcnemar(plain: Test, pair: Ints) -> Found:
    corrected = marginal_tests.mcnemar(pair, corrected=True)
    reason = REASONS[int(plain.reason)]
    return {
        **_valued("mcnemar.chi2", plain.chi2, reason),
        **_valued("mcnemar.p", plain.p, reason),
        **_valued("mcnemar.chi2_cc", corrected.chi2, reason),
        **_valued("mcnemar.p_cc", corrected.p, reason),
        **_valued("mcnemar.p_exact", marginal_tests.mcnemar_exact(pair), reason),
    }


# --- all pairs of raters


def _all_pairs(pairs: PairTables, scale: _Scale) -> Found:
    """`pairwise`: "1-2" -> the pair's coefficients (raters count from 1); and what is made of the
    tables of all pairs."""
    columns: dict[str, Estimate] = {}
    found: Found = {}
    for entry in COEFFICIENTS.values():
        if entry.of_each_pair and (formula := entry.of_table):
            for name, matrix in scale.forms(entry, formula):
                options = formula.options(matrix, scale.values)
                columns[name] = formula.function(pairs.tables, **options)
        if formula := entry.of_pairs:
            for name, matrix in scale.forms(entry, formula):
                options = formula.options(matrix, scale.values)
                found |= _told(name, entry, formula.function(pairs.tables, **options))
    return found | {"pairwise": _pairwise(pairs, columns)}


def _pairwise(pairs: PairTables, columns: dict[str, Estimate]) -> dict[str, Found]:
    found = {}
    ends = zip(pairs.rater_a.tolist(), pairs.rater_b.tolist(), strict=True)
    for place, (a, b) in enumerate(ends):
        told: Found = {"n_pairs": int(pairs.tables[place].sum())}
        for name, estimate in columns.items():
            reason = REASONS[int(estimate.reason[place])]
            told |= _valued(name, estimate.value[place], reason)
        found[f"{a + 1}-{b + 1}"] = told
    return found
