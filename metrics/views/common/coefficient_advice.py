"""Advice on coefficients: when to distrust the value.

It is shown in the panel of a value and in the glossary. The explanations themselves are in
metrics.agreement, because the handbook prints them.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from . import display_names

CHANCE = _("chance")


@dataclass(frozen=True)
class CoefficientAdvice:
    """Advice on a coefficient on whose scale 1 is full agreement.

    ``distrust``: when to distrust the value; ``zero``: the meaning of 0.
    """

    distrust: Promise
    zero: Promise = CHANCE


_ALPHA = CoefficientAdvice(
    _("One category prevails, few items have two ratings, or few raters dominate."),
)
_ICC = CoefficientAdvice(
    _("Few raters or items, or samples that vary differently."),
)
_MEAN_PAIRWISE = CoefficientAdvice(
    _("Many pairs share few items."),
)
ADVICE: dict[str, CoefficientAdvice] = {
    "percent_agreement": CoefficientAdvice(
        _("Two raters who blindly give 95 of 100 items the same category agree on about 90."),
        _("never the same"),
    ),
    "fleiss_kappa": CoefficientAdvice(
        _(
            "One category prevails (compare AC1), harder items got more ratings, or "
            "fewer than 30 items."
        ),
    ),
    "cohen_kappa": CoefficientAdvice(
        _("Few shared items, or one category prevails. Different habits raise it."),
    ),
    "weighted_kappa": CoefficientAdvice(
        _("Few shared items, unequal steps, or near misses that matter."),
    ),
    "gwet_ac1": CoefficientAdvice(
        _("If kappa and alpha are far below it, raters may disagree on rare categories."),
    ),
    "vs_peers": CoefficientAdvice(
        _("Fewer than 30 shared items, or a mistake that many share."),
    ),
    "mean_pairwise_kappa": _MEAN_PAIRWISE,
    "mean_pairwise_kappa_by_items": _MEAN_PAIRWISE,
    "krippendorff_alpha_nominal": _ALPHA,
    "krippendorff_alpha_ordinal": _ALPHA,
    "krippendorff_alpha_interval": _ALPHA,
    "krippendorff_alpha_ratio": _ALPHA,
    "icc2": _ICC,
    "icc3": _ICC,
}

_FOUR_CATEGORIES = _("Of four categories, one step apart counts {one}, two steps {two}.")
WEIGHTING_ADVICE: dict[str, Promise] = {
    "linear": format_lazy(_FOUR_CATEGORIES, one="0.67", two="0.33"),
    "quadratic": format_lazy(_FOUR_CATEGORIES, one="0.89", two="0.56"),
    "custom": _("The question’s own weights."),
}


def find_advice(name: str) -> CoefficientAdvice | None:
    """Return the advice on a coefficient, whatever its weights; None if there is none."""
    return ADVICE.get(display_names.strip_weights(name))


def find_weighting_advice(name: str) -> Promise | None:
    """Return the meaning of the weights in a coefficient's name; None without weights."""
    return WEIGHTING_ADVICE.get(name.rpartition("_")[2])
