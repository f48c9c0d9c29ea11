"""Every coefficient that makes sense for a scale in one call, sharing the sums under them."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .coefficients.conger import RatedItems
from .coefficients.declaration import Formula
from .counts.sums import PatternSums, pattern_sums
from .estimate import Estimate, Floats
from .registry import COEFFICIENTS, PAIR_TREND, PAIR_TREND_ORDERED, PEERS, pattern_forms
from .scales import scale_type
from .weights import NONE, weightings


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
    """Patterns (P, k) and numbers of items (..., P) -> name -> Estimate (...).

    Weighted forms carry the suffix _linear, _quadratic, _custom; alpha interval and ratio need
    values, alpha ratio values >= 0. `names` limits the work to these names. ValueError for an
    unknown scale or name.
    """
    sums = pattern_sums(counts, n_items)
    forms = pattern_forms(scale=scale, values=values, custom=weight_matrix is not None)
    unknown = sorted(set(names or ()) - forms.keys())
    if unknown:
        raise ValueError(f"unknown for this scale: {', '.join(unknown)}; one of {', '.join(forms)}")
    weights = weightings(sums.k, weight_matrix, ordered=scale_type(scale).ordered)
    found = {}
    for name, (entry, weighting) in forms.items():
        if entry.of_patterns is not None and (names is None or name in names):
            matrix = None if weighting == NONE else weights[weighting]
            found[name] = of_patterns(entry.of_patterns, sums, matrix, values, interval=interval)
    return found


def of_patterns(
    formula: Formula,
    sums: PatternSums,
    weights: npt.ArrayLike | None,
    values: npt.ArrayLike | None,
    *,
    interval: bool = True,
) -> Estimate:
    """One formula of patterns on prepared sums; weights None: none."""
    options = formula.options(weights, values)
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
    """Tables (..., k, k) of pairs of raters -> name -> Estimate (...); the per-category kappa is
    (..., k)."""
    kind = scale_type(scale)
    weights = weightings(np.shape(tables)[-1], weight_matrix, ordered=kind.ordered)
    found = {}
    for entry in COEFFICIENTS.values():
        formula = entry.of_table
        if formula is None or entry.told in ("test", "2x2 test"):
            continue
        if entry.computable(formula, kind, values):
            for name, weighting in entry.forms(formula, weights).items():
                matrix = None if weighting == NONE else weights[weighting]
                found[name] = formula.function(tables, **formula.options(matrix, values))
    return found


def rating_coefficients(
    rated: RatedItems,
    *,
    scale: str,
    values: npt.ArrayLike | None = None,
    weight_matrix: npt.ArrayLike | None = None,
) -> dict[str, Estimate]:
    """What needs to know who rated what, of all raters together: name -> Estimate ()."""
    kind = scale_type(scale)
    weights = weightings(rated.counts.shape[1], weight_matrix, ordered=kind.ordered)
    found = {}
    for entry in COEFFICIENTS.values():
        formula = entry.of_ratings
        if formula is None or not entry.makes_sense(kind):
            continue
        for name, weighting in entry.forms(formula, weights).items():
            matrix = None if weighting == NONE else weights[weighting]
            found[name] = formula.function(rated, **formula.options(matrix, values))
    return found


def peer_coefficients(
    tables: npt.ArrayLike,
    moments: npt.ArrayLike | None,
    n_items: npt.ArrayLike,
    *,
    weights: Mapping[str, Floats],
    values: npt.ArrayLike | None = None,
    names: Collection[str] | None = None,
) -> dict[str, Estimate]:
    """Raters against the others: tables (G, k, k), moments (G, k, k, k) or None, items (G,) ->
    name -> Estimate (G,), all or those named; weights: name -> matrix (k, k)."""
    return _each(PEERS, (tables, moments, n_items), weights, values, names=names)


def pair_trend(
    tables: npt.ArrayLike,
    *,
    scale: str,
    weights: Mapping[str, Floats],
    values: npt.ArrayLike | None = None,
) -> dict[str, Estimate]:
    """Two raters over time: tables (T, k, k) -> name -> Estimate (T,)."""
    chosen = PAIR_TREND | (PAIR_TREND_ORDERED if scale_type(scale).ordered else {})
    return _each(chosen, (tables,), weights, values)


def _each(
    formulas: Mapping[str, Formula],
    counts: tuple[Any, ...],
    weights: Mapping[str, Floats],
    values: npt.ArrayLike | None,
    *,
    names: Collection[str] | None = None,
) -> dict[str, Estimate]:
    found = {}
    for base, formula in formulas.items():
        for name, weighting in formula.forms(base, weights).items():
            if names is None or name in names:
                options = formula.options(weights[weighting], values)
                found[name] = formula.function(*counts, **options)
    return found
