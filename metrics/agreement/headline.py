"""The headline coefficient and the reason for it: one table for pages, API and command line.

TABLE is the text that handbook and pages print; ROWS are the rules. `others` in the interval and
ratio rows includes two raters where no weights are declared. The lead of a project may choose
another coefficient (`choice`).

Single periods have counts of patterns only, which do not tell who rated what. Where the headline
needs that, `trend_name` is the nearest pattern coefficient (Fleiss' kappa of two raters is Scott's
pi; for ICC(A,1) it is alpha). It is used for more than two raters only.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy.typing as npt

from .glossary import gettext_noop
from .registry import list_headline_names
from .scales import SCALES, ScaleType, get_scale_type
from .weights import CUSTOM, UNWEIGHTED, WEIGHTINGS, get_weighted_name

COHEN = "cohen_kappa"
FLEISS = "fleiss_kappa"
ICC_AGREEMENT = "icc2"
ICC_CONSISTENCY = "icc3"
ICCS = ICC_AGREEMENT, ICC_CONSISTENCY
LEAD_CHOICE = "chosen"


@dataclass(frozen=True)
class Headline:
    """The headline coefficient of a question, and the reason for it.

    name: of the coefficient; reason: that of its row of ROWS, or LEAD_CHOICE; trend_name:
    coefficient shown in a trend; companions: coefficients shown next to it.
    """

    name: str
    reason: str
    trend_name: str
    companions: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeadlineFacts:
    """Properties of a question that determine its headline.

    weights: the declared weights, or `none`; complete: whether all raters rated each item that has
    a rating.
    """

    scale: str
    n_raters: int
    weights: str = UNWEIGHTED
    complete: bool = False

    @property
    def scale_type(self) -> ScaleType:
        """The type of the question's scale, which says whether it has an order and numbers."""
        return get_scale_type(self.scale)

    @property
    def weighting(self) -> str:
        """The weighting of kappa: the declared one, quadratic on ordered scales if none is.

        Weights by rank do not apply where categories have no order.
        """
        if self.scale_type.ordered:
            return self.weights if self.weights != UNWEIGHTED else "quadratic"
        return self.weights if self.weights == CUSTOM else UNWEIGHTED

    @property
    def alpha_name(self) -> str:
        """The name of Krippendorff's alpha with the metric of the scale."""
        return f"krippendorff_alpha_{self.scale_type.metric}"


@dataclass(frozen=True)
class HeadlineRule:
    """A rule for the headline: reason, condition, and functions for its name and companions."""

    reason: str
    applies: Callable[[HeadlineFacts], bool]
    get_name: Callable[[HeadlineFacts], str]
    list_companions: Callable[[HeadlineFacts], tuple[str, ...]] = lambda _facts: ()


def _is_two_rater_rule_applicable(facts: HeadlineFacts) -> bool:
    """Return whether there are two raters, and weights are declared or the scale is not numeric."""
    has_weights = facts.weights != UNWEIGHTED
    return facts.n_raters == 2 and (has_weights or not facts.scale_type.numeric)


ROWS = (
    HeadlineRule(
        "two_raters",
        _is_two_rater_rule_applicable,
        lambda facts: get_weighted_name(COHEN, facts.weighting),
    ),
    HeadlineRule(
        "nominal",
        lambda facts: not facts.scale_type.ordered,
        lambda facts: get_weighted_name(FLEISS, facts.weighting),
    ),
    HeadlineRule(
        "ordinal",
        lambda facts: not facts.scale_type.numeric,
        lambda facts: get_weighted_name(FLEISS, facts.weighting),
        lambda facts: (facts.alpha_name,),
    ),
    HeadlineRule(
        "complete",
        lambda facts: facts.complete,
        lambda _facts: ICC_AGREEMENT,
        lambda facts: (ICC_CONSISTENCY, facts.alpha_name),
    ),
    HeadlineRule("incomplete", lambda _facts: True, lambda facts: facts.alpha_name),
)


@dataclass(frozen=True)
class HeadlineTableRow:
    """A row of the headline table in words, for the rule with this `reason` on these `scales`."""

    reason: str
    scales: tuple[str, ...]
    raters: str
    complete: str
    coefficient: str


def _list_scales(*, ordered: bool, numeric: bool) -> tuple[str, ...]:
    properties = ordered, numeric
    return tuple(
        name for name, scale in SCALES.items() if (scale.ordered, scale.numeric) == properties
    )


_UNORDERED = _list_scales(ordered=False, numeric=False)
_RANKED = _list_scales(ordered=True, numeric=False)
_NUMERIC = _list_scales(ordered=True, numeric=True)
_ANY_TEXT, _MORE_TEXT = gettext_noop("any"), gettext_noop("three or more")
_TWO_TEXT = gettext_noop("two")
TABLE = (
    HeadlineTableRow("two_raters", _UNORDERED, _TWO_TEXT, _ANY_TEXT,
         gettext_noop("Cohen’s kappa; custom weights if set")),
    HeadlineTableRow("two_raters", _RANKED, _TWO_TEXT, _ANY_TEXT,
         gettext_noop("weighted kappa; quadratic by default")),
    HeadlineTableRow("two_raters", _NUMERIC, _TWO_TEXT, _ANY_TEXT,
         gettext_noop("weighted kappa if weights are declared")),
    HeadlineTableRow("nominal", _UNORDERED, _MORE_TEXT, _ANY_TEXT,
         gettext_noop("Fleiss’ kappa; custom weights if set")),
    HeadlineTableRow("ordinal", _RANKED, _MORE_TEXT, _ANY_TEXT,
         gettext_noop("Fleiss’ kappa; quadratic by default")),
    HeadlineTableRow("complete", _NUMERIC, _MORE_TEXT, gettext_noop("yes"),
         gettext_noop("ICC(A,1), also ICC(C,1)")),
    HeadlineTableRow("incomplete", _NUMERIC, _MORE_TEXT, gettext_noop("no"),
         gettext_noop("Krippendorff’s alpha for the scale")),
)  # fmt: skip


def choose_headline(facts: HeadlineFacts, *, choice: str = "") -> Headline:
    """Return the headline of a question with these properties.

    choice: the coefficient that the lead chose, "" for none.
    """
    rule = next(rule for rule in ROWS if rule.applies(facts))
    name = choice or rule.get_name(facts)
    reason = LEAD_CHOICE if choice else rule.reason
    unweighted_name = get_unweighted_name(name)
    companions = (unweighted_name, *rule.list_companions(facts))
    return Headline(
        name,
        reason,
        get_trend_name(name, facts),
        tuple(companion for companion in companions if companion != name),
    )


def get_trend_name(name: str, facts: HeadlineFacts) -> str:
    """Return the pattern coefficient that replaces the coefficient `name` in a trend.

    It is `name` itself where patterns suffice.
    """
    if name in ICCS:
        return facts.alpha_name
    if name.startswith(COHEN):
        return FLEISS + name.removeprefix(COHEN)
    return name


def list_headline_choices(
    scale: str, *, values: npt.ArrayLike | None = None, custom: bool = False
) -> list[str]:
    """Return the names of the coefficients from which a lead can choose on such a scale.

    values (k,): numbers of the categories or None; custom: whether there is a matrix of weights.
    """
    scale_properties = get_scale_type(scale)
    names = list_headline_names(scale=scale, values=values, custom=custom)
    for weighting in WEIGHTINGS:
        if get_weighted_name(FLEISS, weighting) in names:
            names.append(get_weighted_name(COHEN, weighting))
    return [*names, *ICCS] if scale_properties.numeric else names


def get_weighting(name: str) -> str:
    """Return the weighting in a coefficient's name, such as quadratic in cohen_kappa_quadratic.

    `none` for an unweighted kappa, and for other coefficients.
    """
    suffix = name.rpartition("_")[2]
    return suffix if suffix in WEIGHTINGS and name.startswith((COHEN, FLEISS)) else UNWEIGHTED


def get_unweighted_name(name: str) -> str:
    """Return the name of the coefficient without weights, unchanged if it has none."""
    return name.removesuffix(f"_{get_weighting(name)}")


def get_report_key(name: str) -> str:
    """Return the key under which report() has the coefficient with this name in a headline."""
    suffix = name.removeprefix(COHEN)
    return f"weighted_kappa{suffix}" if name.startswith(COHEN) and suffix else name
