"""report(): everything that can be said about one table of ratings, as a flat dictionary.

Keys are `NAME`, `NAME.se`, `NAME.ci_low`, `NAME.ci_high` and so on; None for undefined, then with
`NAME.reason` naming why. Two-rater keys are filled for two raters; `pairwise` holds every pair.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.coefficients import cohen, correlation, marginal, two_raters
from metrics.agreement.coefficients.conger import RatedItems, conger_kappa
from metrics.agreement.coefficients.fleiss import category_kappas
from metrics.agreement.coefficients.icc import icc
from metrics.agreement.coefficients.kendall import kendall_w
from metrics.agreement.coefficients.krippendorff import krippendorff_alpha
from metrics.agreement.coefficients.light import mean_pairwise
from metrics.agreement.coefficients.marginal import Test
from metrics.agreement.counts.grouping import Ints
from metrics.agreement.counts.tally import PairTables, pair_tables, patterns

from .batch import pattern_coefficients, weightings
from .estimate import LEVEL, REASONS, Estimate, number
from .weights import check_weight_matrix

_Z = float(special.ndtri((1 + LEVEL) / 2))


def report(
    codes: npt.ArrayLike,
    categories: int | Sequence[Any],
    values: Sequence[float] | npt.ArrayLike | None = None,
    weight_matrix: Sequence[Sequence[float]] | npt.ArrayLike | None = None,
) -> dict[str, Any]:
    """All coefficients of `codes`, an (items x raters) integer array with -1 for missing.

    categories: the number k of declared categories (or the sequence of them); codes are 0..k-1 in
    declared order. values: k numbers for interval and ratio statistics, 1..k when None.
    weight_matrix: custom weights (k, k). ValueError names the place of what is wrong and what is
    allowed.
    """
    k = _checked_k(categories)
    table = _checked_codes(codes, k)
    item, rater = np.nonzero(table >= 0)
    found = report_ratings(
        item, rater, table[item, rater], k, values=values, weight_matrix=weight_matrix
    )
    # two raters are there, but they share nothing
    if table.shape[1] == 2 and found["n_raters"] < 2:
        nothing, (v, weights) = np.zeros((k, k), np.int64), _checked_scale(k, values, weight_matrix)
        return {key: one for key, one in found.items() if not _of_two(key)} | _two_raters(
            nothing, v, weights
        )
    return found


def report_ratings(
    item: npt.ArrayLike,
    rater: npt.ArrayLike,
    code: npt.ArrayLike,
    k: int,
    *,
    values: Sequence[float] | npt.ArrayLike | None = None,
    weight_matrix: Sequence[Sequence[float]] | npt.ArrayLike | None = None,
) -> dict[str, Any]:
    """report() of ratings in long form (M,), where most raters rated few items. Raters are numbered
    from 0."""
    v, weights = _checked_scale(_checked_k(k), values, weight_matrix)
    rated = RatedItems.of(item, rater, code, k)
    pairs = pair_tables(item, rater, code, k)
    two = (
        (pairs.tables[0] if len(pairs) else np.zeros((k, k), np.int64))
        if len(rated.margins) == 2
        else None
    )
    found = _many_raters(rated, k, v, weights)
    found |= _two_raters(two, v, weights)
    return found | _pairwise(pairs, v, weights) | _complete_items(rated, v)


def _checked_scale(
    k: int,
    values: Sequence[float] | npt.ArrayLike | None,
    weight_matrix: Sequence[Sequence[float]] | npt.ArrayLike | None,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64] | None]:
    v = np.arange(1.0, k + 1) if values is None else _checked_values(values, k)
    return v, None if weight_matrix is None else check_weight_matrix(weight_matrix, k)


def _checked_k(categories: int | Sequence[Any]) -> int:
    k = categories if isinstance(categories, (int, np.integer)) else len(categories)
    if k < 2:
        raise ValueError(f"a scale needs at least two categories, not {k}")
    return int(k)


def _checked_codes(codes: npt.ArrayLike, k: int) -> npt.NDArray[np.int64]:
    allowed = f"0..{k - 1}, or -1 for a missing rating"
    try:
        table = np.asarray(codes)
    except ValueError:
        raise ValueError(
            "codes must be rows of equal length, one row an item, one column a rater"
        ) from None
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"codes must be an (items x raters) array, not one of shape {table.shape}")
    if table.dtype.kind not in "iu":
        try:
            numbers = table.astype(float)
        except (TypeError, ValueError):
            raise ValueError(f"codes must be integers: {allowed}") from None
    else:
        numbers = table
    wrong = ~((numbers >= -1) & (numbers < k))
    if numbers.dtype.kind == "f":
        wrong |= numbers != np.floor(numbers)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"row {row}, column {column}: code {table[row, column]} is not allowed; one of {allowed}"
        )
    return numbers.astype(np.int64)


def _checked_values(values: Sequence[float] | npt.ArrayLike, k: int) -> npt.NDArray[np.float64]:
    try:
        v = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"values must be {k} numbers, one for each category") from None
    if v.shape != (k,):
        raise ValueError(f"values must be {k} numbers, one for each category, not {v.size}")
    if not np.isfinite(v).all():
        raise ValueError(f"value {int(np.argmin(np.isfinite(v)))} is not a finite number")
    return v


def _many_raters(
    rated: RatedItems,
    k: int,
    values: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64] | None,
) -> dict[str, Any]:
    counts = patterns(rated.item, rated.code, k)
    estimates = pattern_coefficients(
        counts.counts, counts.n_items, scale="ratio", values=values, weight_matrix=weights
    )
    # here for negative values too, as defined
    estimates["krippendorff_alpha_ratio"] = krippendorff_alpha(
        counts.counts, counts.n_items, metric="ratio", values=values
    )
    estimates["conger_kappa"] = conger_kappa(rated)
    for suffix, matrix in weightings(k, scale="ratio", weight_matrix=weights).items():
        estimates[f"conger_kappa_{suffix}"] = conger_kappa(rated, weights=matrix)
    found: dict[str, Any] = {
        "n_items": len(rated.counts),
        "n_raters": len(rated.margins),
        "n_ratings": rated.code.size,
        "n_pairable_items": int((rated.counts.sum(axis=1) >= 2).sum()),
    }
    for name, estimate in estimates.items():
        found |= _spread_out(name, estimate)
    return found | _by_category(
        "fleiss_kappa_category", category_kappas(counts.counts, counts.n_items, interval=False)
    )


def _spread_out(name: str, estimate: Estimate, *, interval: bool = True) -> dict[str, Any]:
    """NAME, NAME.se, NAME.ci_low, NAME.ci_high, and the reasons of what is undefined."""
    found = _valued(name, estimate.value, REASONS[int(estimate.reason)])
    if interval:
        why = estimate.why_no_interval()
        found |= _valued(f"{name}.se", estimate.se, why)
        found |= _valued(f"{name}.ci_low", estimate.low, why) | _valued(
            f"{name}.ci_high", estimate.high, why
        )
    return found


def _valued(name: str, value: Any, reason: str | None) -> dict[str, Any]:
    plain = None if value is None else number(value)
    return {name: plain} if plain is not None else {name: None, f"{name}.reason": reason}


def _by_category(name: str, estimate: Estimate) -> dict[str, Any]:
    values = [number(value) for value in estimate.value]
    found: dict[str, Any] = {name: values}
    if None in values:
        found[f"{name}.reason"] = [REASONS[int(reason)] for reason in estimate.reason]
    return found


_NEEDS_TWO = (
    "cohen_kappa", "cohen_kappa_category", "kappa_max", "scott_pi", "pabak", "prevalence_index", "bias_index",
    "pearson", "spearman", "kendall_tau_b", "lin_ccc", "stuart_maxwell.chi2", "bowker.chi2", "mcnemar.chi2",
)  # fmt: skip


def _of_two(key: str) -> bool:
    """Whether a key of the report says that two raters are needed."""
    return key.removesuffix(".reason").startswith((*_NEEDS_TWO, "weighted_kappa"))


def _two_raters(
    pair: npt.NDArray[np.int64] | None,
    values: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64] | None,
) -> dict[str, Any]:
    if pair is None:
        k = len(values)
        names = [
            *_NEEDS_TWO,
            *(f"weighted_kappa_{s}" for s in weightings(k, scale="ratio", weight_matrix=weights)),
        ]
        return {
            key: value
            for name in names
            for key, value in _valued(name, None, "needs_two_raters").items()
        }
    found: dict[str, Any] = {"n_pairs": int(pair.sum())}
    found |= _with_tests("cohen_kappa", pair, None)
    for suffix, matrix in weightings(len(values), scale="ratio", weight_matrix=weights).items():
        found |= _with_tests(f"weighted_kappa_{suffix}", pair, matrix)
    found |= _spread_out("scott_pi", two_raters.scott_pi(pair))
    for name, estimate in (
        ("kappa_max", cohen.kappa_max(pair)),
        ("pabak", two_raters.pabak(pair)),
        ("prevalence_index", two_raters.prevalence_index(pair)),
        ("bias_index", two_raters.bias_index(pair)),
    ):
        found |= _spread_out(name, estimate, interval=False)
    for name, estimate in (
        ("gwet_ac1", two_raters.gwet_ac(pair)),
        ("brennan_prediger", two_raters.brennan_prediger(pair)),
        ("percent_agreement", two_raters.percent_agreement(pair)),
    ):
        found |= _valued(f"{name}.se_table", estimate.se, estimate.why_no_interval())
    found |= _by_category("cohen_kappa_category", cohen.category_kappas(pair, interval=False))
    return found | _correlations(pair, values) | _marginal_tests(pair)


def _with_tests(
    name: str, pair: npt.NDArray[np.int64], weights: npt.ArrayLike | None
) -> dict[str, Any]:
    """Kappa with both intervals, t (irrCAC) and normal (SAS, vcd), and its standard error under
    chance."""
    estimate = cohen.kappa(pair, weights)
    why = estimate.why_no_interval()
    se0 = cohen.standard_error_under_chance(pair, weights) if why is None else None
    return {
        **_spread_out(name, estimate),
        **_valued(f"{name}.ci_low_z", estimate.value - _Z * estimate.se, why),
        **_valued(f"{name}.ci_high_z", np.minimum(estimate.value + _Z * estimate.se, 1), why),
        **_valued(f"{name}.se0", se0, why),
    }


def _correlations(pair: npt.NDArray[np.int64], values: npt.NDArray[np.float64]) -> dict[str, Any]:
    return {
        **_spread_out("pearson", correlation.pearson(pair, values), interval=False),
        **_spread_out("spearman", correlation.spearman(pair), interval=False),
        **_spread_out("kendall_tau_b", correlation.kendall_tau_b(pair), interval=False),
        **_spread_out("lin_ccc", correlation.lin_ccc(pair, values), interval=False),
    }


def _marginal_tests(pair: npt.NDArray[np.int64]) -> dict[str, Any]:
    found = _tested("stuart_maxwell", marginal.stuart_maxwell(pair)) | _tested(
        "bowker", marginal.bowker(pair)
    )
    if len(pair) != 2:
        return found | _valued("mcnemar.chi2", None, "needs_2x2")
    plain, corrected = marginal.mcnemar(pair), marginal.mcnemar(pair, corrected=True)
    reason = REASONS[int(plain.reason)]
    return {
        **found,
        **_valued("mcnemar.chi2", plain.chi2, reason),
        **_valued("mcnemar.p", plain.p, reason),
        **_valued("mcnemar.chi2_cc", corrected.chi2, reason),
        **_valued("mcnemar.p_cc", corrected.p, reason),
        **_valued("mcnemar.p_exact", marginal.mcnemar_exact(pair), reason),
    }


def _tested(name: str, test: Test) -> dict[str, Any]:
    reason = REASONS[int(test.reason)]
    found = _valued(f"{name}.chi2", test.chi2, reason) | _valued(f"{name}.p", test.p, reason)
    return found | (
        {f"{name}.df": int(test.df)} if reason is None else _valued(f"{name}.df", None, reason)
    )


def _pairwise(
    pairs: PairTables, values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64] | None
) -> dict[str, Any]:
    """`pairwise`: "1-2" -> the pair's coefficients (raters count from 1); light_kappa: mean of the
    defined kappas."""
    kappas = {"cohen_kappa": cohen.kappa(pairs.tables, interval=False)}
    for suffix, matrix in weightings(len(values), scale="ratio", weight_matrix=weights).items():
        kappas[f"weighted_kappa_{suffix}"] = cohen.kappa(pairs.tables, matrix, interval=False)
    columns = {
        **kappas,
        "pearson": correlation.pearson(pairs.tables, values),
        "spearman": correlation.spearman(pairs.tables),
        "kendall_tau_b": correlation.kendall_tau_b(pairs.tables),
    }
    found: dict[str, Any] = {"pairwise": {}}
    ends: tuple[Ints, Ints] = (pairs.rater_a, pairs.rater_b)
    for place, (a, b, table) in enumerate(zip(*ends, pairs.tables, strict=True)):
        entry: dict[str, Any] = {"n_pairs": int(table.sum())}
        for name, estimate in columns.items():
            entry |= _valued(name, estimate.value[place], REASONS[int(estimate.reason[place])])
        found["pairwise"][f"{a + 1}-{b + 1}"] = entry
    for suffix, name in (
        ("", "cohen_kappa"),
        *((n.removeprefix("weighted_kappa"), n) for n in kappas if n != "cohen_kappa"),
    ):
        mean, _ = mean_pairwise(kappas[name])
        found |= _spread_out(f"light_kappa{suffix}", mean, interval=False)
    return found


def _complete_items(rated: RatedItems, values: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Statistics of the items that all raters rated."""
    codes = rated.complete()
    found = _spread_out("kendall_w", kendall_w(codes), interval=False)
    found["icc_n_items"] = len(codes)
    for name, one in icc(values[codes]).items():
        found |= _icc_entries(name, vars(one))
    return found


def _icc_entries(name: str, one: Mapping[str, Any]) -> dict[str, Any]:
    found = _valued(name, one["value"], one["reason"])
    for part in ("F", "df1", "df2", "p", "ci_low", "ci_high"):
        found |= _valued(f"{name}.{part}", one[part], one.get(f"{part}_reason") or one["reason"])
    return found
