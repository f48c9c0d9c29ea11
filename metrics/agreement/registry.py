"""The one list of coefficients: batch, report(), pages, API, command line and handbook ask it.

Adding a coefficient: its formula and its declaration in a file of coefficients/, and its name here.
"""

from collections.abc import Collection, Iterator

import numpy.typing as npt

from .coefficients import (
    brennan_prediger,
    cohen,
    conger,
    correlation,
    fleiss,
    gwet,
    kendall,
    krippendorff,
    light,
    marginal_tests,
    percent,
    two_raters,
)
from .coefficients.declaration import Coefficient, Formula, Values
from .coefficients.groups import peers
from .coefficients.intraclass import icc
from .glossary import OTHERS
from .scales import SCALES, scale_type
from .weights import WEIGHTINGS, applicable, weighted

_ALL = (
    percent.PERCENT_AGREEMENT,
    fleiss.FLEISS_KAPPA,
    fleiss.FLEISS_KAPPA_GWET,
    fleiss.FLEISS_KAPPA_CATEGORY,
    conger.CONGER_KAPPA,
    light.LIGHT_KAPPA,
    gwet.GWET_AC1,
    brennan_prediger.BRENNAN_PREDIGER,
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
    kendall.KENDALL_W,
    *icc.ICCS,
    marginal_tests.MCNEMAR,
    marginal_tests.BOWKER,
    marginal_tests.STUART_MAXWELL,
)
COEFFICIENTS: dict[str, Coefficient] = {entry.name: entry for entry in _ALL}

# By the name without weights: what each coefficient and each mean of them is called, and says.
SAID: dict[str, tuple[str, str]] = {
    **{entry.key: (entry.called, entry.says) for entry in _ALL},
    **peers.SAID,
    **OTHERS,
}

_ENTRIES = {name: entry for entry in _ALL for name in entry.names(WEIGHTINGS)}
# Two raters' kappa is under weights what a headline calls it, too.
_ENTRIES |= {weighted("cohen_kappa", name): cohen.COHEN_KAPPA for name in WEIGHTINGS}

# A rater against the others, from peer tables; not in the report.
PEERS = peers.FORMULAS
# Two raters over time, from their tables: on every scale, and on ordered ones.
PAIR_TREND = {"cohen_kappa": Formula(cohen.kappa, weights=True)}
PAIR_TREND_ORDERED = {
    "mean_difference": Formula(two_raters.mean_difference, values=Values.OR_RANKS)
}
# Light's kappa, of all pairs and of each rater's, where it is made of sums of stored kappas.
MEAN_PAIRWISE = "mean_pairwise_kappa"
# The same mean with each pair counted by the items that both rated (coefficients.light).
MEAN_BY_ITEMS = "mean_pairwise_kappa_by_items"

# Where the pages show them, in the order of the page: each of the first can be the headline and the
# line of the trend, on a scale where it makes sense.
HEADLINES = (
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


def beside(scale: str) -> list[str]:
    """The coefficients that stand beside the headline: alpha is that of the scale, too."""
    own_alpha = f"krippendorff_alpha_{scale_type(scale).metric}"
    names = ["fleiss_kappa", "krippendorff_alpha_nominal", own_alpha]
    return list(dict.fromkeys([*names, "gwet_ac1", "percent_agreement"]))


def pattern_forms(
    *, scale: str, values: npt.ArrayLike | None = None, custom: bool = False
) -> dict[str, tuple[Coefficient, str]]:
    """Name -> coefficient and weighting of all that can be computed of patterns on a scale with
    these numbers; `custom`: there is a matrix of weights."""
    kind = scale_type(scale)
    weightings = applicable(ordered=kind.ordered, custom=custom)
    found = {}
    for entry in COEFFICIENTS.values():
        formula = entry.of_patterns
        if formula is None or entry.told == "categories":
            continue
        if entry.computable(formula, kind, values):
            for name, weighting in entry.forms(formula, weightings).items():
                found[name] = entry, weighting
    return found


def headlines(
    *, scale: str, values: npt.ArrayLike | None = None, custom: bool = False
) -> list[str]:
    """The coefficients that can stand as the headline and the trend on such a scale."""
    forms = pattern_forms(scale=scale, values=values, custom=custom)
    found = []
    for name in HEADLINES:
        if name in forms and forms[name][0].makes_sense(SCALES[scale]):
            found.append(name)
    return found


def bootstrapped(scale: str) -> list[str]:
    """The coefficients of patterns on such a scale that only the bootstrap gives an interval."""
    forms = pattern_forms(scale=scale)
    return [name for name, (entry, _weighting) in forms.items() if entry.bootstrapped]


def peer_names(weightings: Collection[str]) -> list[str]:
    """The coefficients of a rater against the others under these weightings."""
    return [name for base, formula in PEERS.items() for name in formula.forms(base, weightings)]


def mean_names(weightings: Collection[str]) -> list[str]:
    """The means of kappas over pairs under these weightings."""
    return [weighted(MEAN_PAIRWISE, weighting) for weighting in weightings]


def listed(*, scale: str, custom: bool) -> Iterator[tuple[str, Coefficient]]:
    """Name and coefficient of everything in a report that makes sense on such a scale; `custom`:
    there is a matrix of weights."""
    kind = scale_type(scale)
    weightings = applicable(ordered=kind.ordered, custom=custom)
    for entry in COEFFICIENTS.values():
        if entry.makes_sense(kind):
            for name in entry.names(weightings):
                yield name, entry


def entry_of(name: str) -> Coefficient | None:
    """The coefficient of that name, also under weights; None for what no entry makes."""
    return _ENTRIES.get(name)


def report_names(name: str) -> list[str]:
    """The keys of report() that an entry of COEFFICIENTS stands for, without a custom matrix."""
    return COEFFICIENTS[name].names(applicable(ordered=True, custom=False))
