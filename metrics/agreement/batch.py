"""Every coefficient that makes sense for a scale in one call, sharing the sums under them."""

from collections.abc import Callable, Collection

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients import cohen, correlation, two_raters
from metrics.agreement.coefficients.brennan_prediger import brennan_prediger
from metrics.agreement.coefficients.fleiss import fleiss_kappa, fleiss_kappa_gwet
from metrics.agreement.coefficients.gwet import gwet_ac
from metrics.agreement.coefficients.krippendorff import krippendorff_alpha
from metrics.agreement.coefficients.percent import percent_agreement
from metrics.agreement.counts.sums import PatternSums, pattern_sums

from .estimate import Estimate
from .weights import linear, quadratic

SCALES = ("nominal", "ordinal", "interval", "ratio")
_WEIGHTED = {
    "percent_agreement": percent_agreement,
    "fleiss_kappa": fleiss_kappa,
    "fleiss_kappa_gwet": fleiss_kappa_gwet,
    "gwet_ac2": gwet_ac,
    "brennan_prediger": brennan_prediger,
}


def weightings(
    k: int, *, scale: str, weight_matrix: npt.ArrayLike | None = None
) -> dict[str, npt.ArrayLike]:
    """Suffix -> weights that make sense: linear and quadratic from ordinal up, custom when a matrix
    is given."""
    if scale not in SCALES:
        raise ValueError(f"unknown scale {scale!r}; one of {', '.join(SCALES)}")
    known: dict[str, npt.ArrayLike] = {}
    if scale != "nominal":
        known |= {"linear": linear(k), "quadratic": quadratic(k)}
    if weight_matrix is not None:
        known["custom"] = weight_matrix
    return known


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
    values, alpha ratio values >= 0. `names` limits the work to these names.
    """
    sums = pattern_sums(counts, n_items)
    makers = _makers(sums, scale, values, weight_matrix)
    if names is not None:
        unknown = sorted(set(names) - makers.keys())
        if unknown:
            raise ValueError(
                f"unknown for this scale: {', '.join(unknown)}; one of {', '.join(makers)}"
            )
        makers = {name: maker for name, maker in makers.items() if name in names}
    return {name: maker(interval) for name, maker in makers.items()}


def _makers(
    sums: PatternSums, scale: str, values: npt.ArrayLike | None, weight_matrix: npt.ArrayLike | None
) -> dict[str, Callable[[bool], Estimate]]:
    """Name -> function of `interval`."""

    def weighted(
        function: Callable[..., Estimate], weights: npt.ArrayLike | None
    ) -> Callable[[bool], Estimate]:
        return lambda interval: function(
            sums.counts, sums.n_items, weights=weights, interval=interval, sums=sums
        )

    def alpha(metric: str) -> Callable[[bool], Estimate]:
        return lambda interval: krippendorff_alpha(
            sums.counts, sums.n_items, metric=metric, values=values, interval=interval, sums=sums
        )

    makers = {
        "percent_agreement": weighted(percent_agreement, None),
        "fleiss_kappa": weighted(fleiss_kappa, None),
        "fleiss_kappa_gwet": weighted(fleiss_kappa_gwet, None),
        "gwet_ac1": weighted(gwet_ac, None),
        "brennan_prediger": weighted(brennan_prediger, None),
    }
    for suffix, matrix in weightings(sums.k, scale=scale, weight_matrix=weight_matrix).items():
        makers |= {
            f"{name}_{suffix}": weighted(function, matrix) for name, function in _WEIGHTED.items()
        }
    metrics = ["nominal"]
    if scale != "nominal":
        metrics += ["ordinal", *(["interval"] if values is not None else [])]
        metrics += ["ratio"] if values is not None and np.min(values) >= 0 else []
    return makers | {f"krippendorff_alpha_{metric}": alpha(metric) for metric in metrics}


def table_coefficients(
    tables: npt.ArrayLike,
    *,
    scale: str,
    values: npt.ArrayLike | None = None,
    weight_matrix: npt.ArrayLike | None = None,
) -> dict[str, Estimate]:
    """Tables (..., k, k) of pairs of raters -> name -> Estimate (...); the per-category kappa is
    (..., k)."""
    k = np.shape(tables)[-1]
    found = {
        "percent_agreement": two_raters.percent_agreement(tables),
        "cohen_kappa": cohen.kappa(tables),
        "kappa_max": cohen.kappa_max(tables),
        "scott_pi": two_raters.scott_pi(tables),
        "gwet_ac1": two_raters.gwet_ac(tables),
        "pabak": two_raters.pabak(tables),
        "prevalence_index": two_raters.prevalence_index(tables),
        "bias_index": two_raters.bias_index(tables),
        "cohen_kappa_category": cohen.category_kappas(tables),
    }
    for suffix, matrix in weightings(k, scale=scale, weight_matrix=weight_matrix).items():
        found[f"weighted_kappa_{suffix}"] = cohen.kappa(tables, matrix)
    if scale != "nominal":
        found |= {
            "pearson": correlation.pearson(tables, values),
            "spearman": correlation.spearman(tables),
            "kendall_tau_b": correlation.kendall_tau_b(tables),
            "lin_ccc": correlation.lin_ccc(tables, values),
        }
    return found
