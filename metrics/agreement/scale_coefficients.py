"""All coefficients that are meaningful on a scale, computed together from shared sums."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .coefficients.conger import RatedItems
from .coefficients.declaration import Formula
from .counts.pattern_sums import PatternSums, build_pattern_sums
from .counts.score_intervals import solve_together
from .estimate import Estimate, Floats
from .registry import (
    COEFFICIENTS,
    PAIR_TREND_FORMULAS,
    PAIR_TREND_ORDERED_FORMULAS,
    PEER_FORMULAS,
    get_pattern_forms,
)
from .scales import get_scale_type
from .weights import CUSTOM, UNWEIGHTED, build_weightings, get_weight_matrix


def pattern_coefficients(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    scale: str,
    values: npt.ArrayLike | None = None,
    weight_matrix: npt.ArrayLike | None = None,
    names: Collection[str] | None = None,
    interval: bool = True,
) -> dict[str, Estimate]:
    """Return name -> Estimate (...) of the coefficients on a scale, from patterns.

    counts (P, k): patterns; n_items (..., P): numbers of items; weight_matrix (k, k): custom
    weights, or None; names: compute these only, all when None; interval: False for values alone.
    Weighted forms carry the suffix _linear, _quadratic or _custom. Interval and ratio alpha need
    values (k,), ratio alpha values >= 0; they are left out otherwise. Raises ValueError for an
    unknown scale or name.
    """
    sums = build_pattern_sums(counts, n_items)
    forms = get_pattern_forms(scale=scale, values=values, custom=weight_matrix is not None)
    unknown = sorted(set(names or ()) - forms.keys())
    if unknown:
        raise ValueError(f"unknown for this scale: {', '.join(unknown)}; one of {', '.join(forms)}")
    selected = {
        name: (entry.pattern_formula, weighting)
        for name, (entry, weighting) in forms.items()
        if entry.pattern_formula is not None and (names is None or name in names)
    }
    matrices = {
        weighting: weight_matrix if weighting == CUSTOM else get_weight_matrix(weighting, sums.k)
        for weighting in {weighting for _formula, weighting in selected.values()} - {UNWEIGHTED}
    }
    estimates = {
        name: compute_pattern_formula(
            formula, sums, matrices.get(weighting), values, interval=interval
        )
        for name, (formula, weighting) in selected.items()
    }
    return _solve_limits(estimates)


def estimate_coefficient(
    name: str, counts: npt.ArrayLike, n_items: npt.ArrayLike, weights: npt.ArrayLike | None = None
) -> Estimate:
    """Return the Estimate (...) of the coefficient with this name, with the interval shown.

    counts (P, k): patterns; n_items (..., P): numbers of items. weights (k, k), or None, apply to a
    name without a weighting; names such as fleiss_kappa_linear imply theirs. Interval and ratio
    alpha take the numbers 1..k. Raises ValueError for a name that cannot be computed from patterns.
    """
    sums = build_pattern_sums(counts, n_items)
    values = np.arange(1.0, sums.k + 1)
    matrices = build_weightings(sums.k, weights)
    forms = {
        form: (entry.pattern_formula, weighting)
        for entry in COEFFICIENTS.values()
        if entry.pattern_formula is not None
        for form, weighting in entry.get_forms(entry.pattern_formula, matrices).items()
    }
    if name not in forms:
        raise ValueError(f"unknown coefficient {name!r}; one of {', '.join(forms)}")
    formula, weighting = forms[name]
    matrix = weights if weighting == UNWEIGHTED else matrices[weighting]
    return compute_pattern_formula(formula, sums, matrix, values)


def compute_pattern_formula(
    formula: Formula,
    sums: PatternSums,
    weights: npt.ArrayLike | None,
    values: npt.ArrayLike | None,
    *,
    interval: bool = True,
) -> Estimate:
    """Return the Estimate (...) of a formula from prepared sums.

    weights (k, k) and values (k,), or None, are passed on if the formula takes them.
    """
    options = formula.build_options(weights, values)
    estimate: Estimate = formula.function(
        sums.counts, sums.n_items, interval=interval, sums=sums, **options
    )
    return estimate


def table_coefficients(
    tables: npt.ArrayLike,
    *,
    scale: str,
    values: npt.ArrayLike | None = None,
    weight_matrix: npt.ArrayLike | None = None,
) -> dict[str, Estimate]:
    """Return name -> Estimate (...) from tables (..., k, k) of pairs of raters, without tests.

    values (k,): numbers of the categories, or None; weight_matrix (k, k): custom weights, or None.
    The kappas of single categories have the shape (..., k). Raises ValueError for an unknown scale.
    """
    scale_properties = get_scale_type(scale)
    weights = build_weightings(
        np.shape(tables)[-1], weight_matrix, ordered=scale_properties.ordered
    )
    estimates = {}
    for entry in COEFFICIENTS.values():
        formula = entry.table_formula
        if formula is None or entry.report_format in ("test", "2x2 test"):
            continue
        if entry.is_computable_on(formula, scale_properties, values):
            for name, weighting in entry.get_forms(formula, weights).items():
                matrix = None if weighting == UNWEIGHTED else weights[weighting]
                estimates[name] = formula.function(tables, **formula.build_options(matrix, values))
    return estimates


def compute_rating_coefficients(
    rated: RatedItems,
    *,
    scale: str,
    values: npt.ArrayLike | None = None,
    weight_matrix: npt.ArrayLike | None = None,
) -> dict[str, Estimate]:
    """Return name -> Estimate () of coefficients that need to know which rater gave a rating.

    These are, for example, Conger's kappa and Kendall's W. values (k,): numbers of the categories,
    or None; weight_matrix (k, k): custom weights, or None.
    """
    scale_properties = get_scale_type(scale)
    weights = build_weightings(
        rated.counts.shape[1], weight_matrix, ordered=scale_properties.ordered
    )
    estimates = {}
    for entry in COEFFICIENTS.values():
        formula = entry.ratings_formula
        if formula is None or not entry.is_meaningful_on(scale_properties):
            continue
        for name, weighting in entry.get_forms(formula, weights).items():
            matrix = None if weighting == UNWEIGHTED else weights[weighting]
            estimates[name] = formula.function(rated, **formula.build_options(matrix, values))
    return estimates


def compute_peer_coefficients(
    tables: npt.ArrayLike,
    moments: npt.ArrayLike | None,
    n_items: npt.ArrayLike,
    *,
    weights: Mapping[str, Floats],
    values: npt.ArrayLike | None = None,
    names: Collection[str] | None = None,
) -> dict[str, Estimate]:
    """Return name -> Estimate (G,) of G raters, each against all other raters of the same items.

    tables (G, k, k), moments (G, k, k, k) or None, n_items (G,): as in PeerTables; weights:
    weighting -> matrix (k, k); values (k,): numbers of the categories, ranks when None; names:
    compute these coefficients only, all when None.
    """
    return _apply_formulas(PEER_FORMULAS, (tables, moments, n_items), weights, values, names=names)


def compute_pair_trend(
    tables: npt.ArrayLike,
    *,
    scale: str,
    weights: Mapping[str, Floats],
    values: npt.ArrayLike | None = None,
) -> dict[str, Estimate]:
    """Return name -> Estimate (T,) of two raters in T periods, from their tables (T, k, k).

    weights: weighting -> matrix (k, k); values (k,): numbers of the categories, ranks when None.
    """
    formulas = PAIR_TREND_FORMULAS | (
        PAIR_TREND_ORDERED_FORMULAS if get_scale_type(scale).ordered else {}
    )
    return _apply_formulas(formulas, (tables,), weights, values)


def _apply_formulas(
    formulas: Mapping[str, Formula],
    counts: tuple[Any, ...],
    weights: Mapping[str, Floats],
    values: npt.ArrayLike | None,
    *,
    names: Collection[str] | None = None,
) -> dict[str, Estimate]:
    """Return name -> Estimate of each formula under each weighting that it takes.

    counts: positional arguments of the formulas; names: compute these only, all when None.
    """
    estimates = {}
    for base, formula in formulas.items():
        for name, weighting in formula.get_forms(base, weights).items():
            if names is None or name in names:
                options = formula.build_options(weights[weighting], values)
                estimates[name] = formula.function(*counts, **options)
    return _solve_limits(estimates)


def _solve_limits(estimates: dict[str, Estimate]) -> dict[str, Estimate]:
    """Solve the limits of estimates of one shape together, in place, and return the estimates."""
    solve_together([estimate.limits for estimate in estimates.values()])
    return estimates
