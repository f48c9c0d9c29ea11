"""Advice on coefficients: what changes the value, and when to distrust it.

Shown in the panel of a value and in the glossary. The explanations themselves are in
metrics.agreement, because the handbook prints them.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from . import display_names

CHANCE = _("chance")


@dataclass(frozen=True)
class CoefficientAdvice:
    """Advice on a coefficient whose scale has 1 for full agreement.

    ``moves``: what changes the value. ``zero``: the meaning of 0.
    """

    moves: Promise
    distrust: Promise
    zero: Promise = CHANCE


_ALPHA = CoefficientAdvice(
    _(
        "Disagreement among ratings of the same item, compared with disagreement among all "
        "ratings. Items with one rating don't count."
    ),
    _(
        "If nearly all ratings are in one category, few items have two ratings, or a few "
        "raters gave most ratings."
    ),
)
_ICC = CoefficientAdvice(
    _(
        "How much items differ compared with ratings of one item. If items are alike, it is "
        "low however well raters agree."
    ),
    _("With few raters or items, or to compare samples whose items vary differently."),
)
_MEAN_PAIRWISE = CoefficientAdvice(
    _("The kappas of all rater pairs: one rater far from all others lowers many of them."),
    _(
        "If many pairs share few items. Pairs share raters, so an interval that ignores this "
        "would be too narrow."
    ),
)
ADVICE: dict[str, CoefficientAdvice] = {
    "percent_agreement": CoefficientAdvice(
        _(
            "Only how often two ratings of an item are the same. It is higher with fewer "
            "categories and if one prevails."
        ),
        _(
            "On its own: if two raters give 95 of 100 items the same category without looking, "
            "they agree on about 90."
        ),
        _("never the same"),
    ),
    "fleiss_kappa": CoefficientAdvice(
        _(
            "How often ratings of an item agree and how unequally categories are used: it "
            "falls if one category prevails, though raters do nothing worse."
        ),
        _(
            "If nearly all ratings are in one category (compare Gwet’s AC1), if harder items "
            "got more ratings, and with fewer than 30 items."
        ),
    ),
    "cohen_kappa": CoefficientAdvice(
        _(
            "How often the two raters agree and how unequally they use the categories: at "
            "equal agreement, kappa is lower if one category prevails."
        ),
        _(
            "With few shared items, if nearly all answers are in one category, or if the two "
            "raters use categories differently: that raises kappa at the same agreement."
        ),
    ),
    "weighted_kappa": CoefficientAdvice(
        _(
            "How far apart answers are: with quadratic weights, a few large differences cost "
            "more than many near misses."
        ),
        _(
            "With few shared items, if steps between categories are unequal, or if near misses "
            "matter: also check kappa without weights."
        ),
    ),
    "gwet_ac1": CoefficientAdvice(
        _(
            "Mostly how often two ratings of an item agree: it assumes little chance and "
            "hardly falls if one category prevails."
        ),
        _(
            "If it alone is high. If kappa and alpha are far below it, raters may disagree on "
            "rare categories, which often matter most."
        ),
    ),
    "vs_peers": CoefficientAdvice(
        _(
            "How often the rater answers like other raters of the same items. The others’ "
            "mistakes affect it, too."
        ),
        _("With fewer than 30 shared items, or if many others make the same mistake."),
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

WEIGHTING_ADVICE: dict[str, Promise] = {
    "linear": _(
        "Linear weights: with four categories, one step apart counts as 0.67 agreed, two as "
        "0.33, three as 0."
    ),
    "quadratic": _(
        "Quadratic weights: with four categories, one step apart counts as 0.89 agreed, two as "
        "0.56, three as 0."
    ),
    "custom": _("Custom weights: set by the question."),
}


def find_advice(name: str) -> CoefficientAdvice | None:
    """Return the advice on a coefficient, whatever its weights, or None."""
    return ADVICE.get(display_names.strip_weights(name))


def find_weighting_advice(name: str) -> Promise | None:
    """Return what the weights in a coefficient's name mean, or None."""
    return WEIGHTING_ADVICE.get(name.rpartition("_")[2])
