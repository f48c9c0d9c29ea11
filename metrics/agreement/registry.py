"""Registry of all coefficients, for scale_coefficients, report(), pages, API, command and handbook.

To add a coefficient, write its formula and declaration in a module of coefficients/ and list its
name here.
"""

from collections.abc import Collection, Iterator

import numpy.typing as npt

from .coefficients import (
    cohen,
    conger,
    correlation,
    fleiss,
    groups,
    gwet,
    krippendorff,
    marginal_tests,
    two_raters,
)
from .coefficients.declaration import CategoryValues, Coefficient, Formula
from .coefficients.intraclass import icc
from .glossary import MEAN_TEXTS
from .scales import SCALES, get_scale_type
from .weights import WEIGHTINGS, get_weighted_name, list_applicable_weightings

_ALL = (
    gwet.PERCENT_AGREEMENT,
    fleiss.FLEISS_KAPPA,
    fleiss.FLEISS_KAPPA_GWET,
    fleiss.FLEISS_KAPPA_CATEGORY,
    conger.CONGER_KAPPA,
    cohen.LIGHT_KAPPA,
    gwet.GWET_AC1,
    gwet.BRENNAN_PREDIGER,
    krippendorff.KRIPPENDORFF_NOMINAL,
    krippendorff.KRIPPENDORFF_ORDINAL,
    krippendorff.KRIPPENDORFF_INTERVAL,
    krippendorff.KRIPPENDORFF_RATIO,
    cohen.COHEN_KAPPA,
    cohen.WEIGHTED_KAPPA,
    cohen.COHEN_KAPPA_CATEGORY,
    cohen.KAPPA_MAX,
    two_raters.SCOTT_PI,
    two_raters.PABAK,
    two_raters.PREVALENCE_INDEX,
    two_raters.BIAS_INDEX,
    correlation.PEARSON,
    correlation.SPEARMAN,
    correlation.KENDALL_TAU_B,
    correlation.LIN_CCC,
    correlation.KENDALL_W,
    *icc.ICCS,
    marginal_tests.MCNEMAR,
    marginal_tests.BOWKER,
    marginal_tests.STUART_MAXWELL,
)
COEFFICIENTS: dict[str, Coefficient] = {entry.name: entry for entry in _ALL}

# Name without weights -> label and description of each coefficient and each mean of coefficients.
COEFFICIENT_TEXTS: dict[str, tuple[str, str]] = {
    **{entry.key: (entry.label, entry.description) for entry in _ALL},
    **groups.PEER_TEXTS,
    **MEAN_TEXTS,
}

_COEFFICIENT_BY_NAME = {name: entry for entry in _ALL for name in entry.list_names(WEIGHTINGS)}
# A headline names the weighted kappa of two raters cohen_kappa_..., report() weighted_kappa_...
_COEFFICIENT_BY_NAME |= {
    get_weighted_name("cohen_kappa", name): cohen.COHEN_KAPPA for name in WEIGHTINGS
}

# Coefficients of one rater against the others, from peer tables; not in the report.
PEER_FORMULAS = groups.PEER_FORMULAS
# Trends of two raters from their tables, on every scale and on ordered scales.
PAIR_TREND_FORMULAS = {"cohen_kappa": Formula(cohen.kappa, takes_weights=True)}
PAIR_TREND_ORDERED_FORMULAS = {
    "mean_difference": Formula(two_raters.mean_difference, category_values=CategoryValues.OPTIONAL)
}
# Light's kappa of all pairs and of each rater's pairs, computed from sums of stored kappas.
MEAN_PAIRWISE = "mean_pairwise_kappa"
# The same mean with each pair weighted by the number of shared items (coefficients.light).
MEAN_BY_ITEMS = "mean_pairwise_kappa_by_items"

# Coefficients that can be the headline and the trend, in page order, on scales where they are
# meaningful.
HEADLINE_NAMES = (
    "fleiss_kappa",
    "fleiss_kappa_linear",
    "fleiss_kappa_quadratic",
    "fleiss_kappa_custom",
    "krippendorff_alpha_nominal",
    "krippendorff_alpha_ordinal",
    "krippendorff_alpha_interval",
    "krippendorff_alpha_ratio",
    "gwet_ac1",
    "percent_agreement",
)


def list_secondary_names(scale: str) -> list[str]:
    """Return the names of the coefficients shown besides the headline on this scale."""
    own_alpha = f"krippendorff_alpha_{get_scale_type(scale).metric}"
    names = ["fleiss_kappa", "krippendorff_alpha_nominal", own_alpha]
    return list(dict.fromkeys([*names, "gwet_ac1", "percent_agreement"]))


def get_pattern_forms(
    *, scale: str, values: npt.ArrayLike | None = None, custom: bool = False
) -> dict[str, tuple[Coefficient, str]]:
    """Return name -> (coefficient, weighting) of all forms that patterns allow on a scale.

    values (k,): numbers of the categories, or None; custom: whether there is a matrix of weights.
    """
    scale_properties = get_scale_type(scale)
    weightings = list_applicable_weightings(ordered=scale_properties.ordered, custom=custom)
    forms = {}
    for entry in COEFFICIENTS.values():
        formula = entry.pattern_formula
        if formula is None or entry.report_format == "categories":
            continue
        if entry.is_computable_on(formula, scale_properties, values):
            for name, weighting in entry.get_forms(formula, weightings).items():
                forms[name] = entry, weighting
    return forms


def list_headline_names(
    *, scale: str, values: npt.ArrayLike | None = None, custom: bool = False
) -> list[str]:
    """Return the names of the coefficients that can be headline and trend on such a scale.

    values (k,): numbers of the categories, or None; custom: whether there is a matrix of weights.
    """
    forms = get_pattern_forms(scale=scale, values=values, custom=custom)
    names = []
    for name in HEADLINE_NAMES:
        if name in forms and forms[name][0].is_meaningful_on(SCALES[scale]):
            names.append(name)
    return names


def list_bootstrap_names(scale: str) -> list[str]:
    """Return the names of the pattern coefficients whose interval needs the bootstrap."""
    forms = get_pattern_forms(scale=scale)
    return [name for name, (entry, _weighting) in forms.items() if entry.needs_bootstrap]


def list_peer_names(weightings: Collection[str]) -> list[str]:
    """Return the names of the coefficients of a rater against the others under these weightings."""
    return [
        name
        for base, formula in PEER_FORMULAS.items()
        for name in formula.get_forms(base, weightings)
    ]


def list_mean_kappa_names(weightings: Collection[str]) -> list[str]:
    """Return the names of the mean pairwise kappa under each of these weightings."""
    return [get_weighted_name(MEAN_PAIRWISE, weighting) for weighting in weightings]


def iter_coefficients(*, scale: str, custom: bool) -> Iterator[tuple[str, Coefficient]]:
    """Yield name and coefficient of every form in a report that is meaningful on such a scale.

    custom: whether there is a matrix of weights.
    """
    scale_properties = get_scale_type(scale)
    weightings = list_applicable_weightings(ordered=scale_properties.ordered, custom=custom)
    for entry in COEFFICIENTS.values():
        if entry.is_meaningful_on(scale_properties):
            for name in entry.list_names(weightings):
                yield name, entry


def find_coefficient(name: str) -> Coefficient | None:
    """Return the coefficient with this name, which may carry a weighting; None if there is none."""
    return _COEFFICIENT_BY_NAME.get(name)


def list_report_names(name: str) -> list[str]:
    """Return the names in report() of a coefficient's forms, without custom weights."""
    return COEFFICIENTS[name].list_names(list_applicable_weightings(ordered=True, custom=False))
