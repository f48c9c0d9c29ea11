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
        "Disagreement among ratings of the same item, against disagreement among all ratings. An"
        " item with one rating does not count."
    ),
    _(
        "Where nearly all ratings are in one category, with few items that have two ratings, and"
        " where a few raters gave most of them."
    ),
)
_ICC = CoefficientAdvice(
    _(
        "How much items differ, compared with how much ratings of one item differ. If items are"
        " alike, it is low however well raters agree."
    ),
    _("With few raters or few items, and to compare samples whose items do not vary equally."),
)
_MEAN_PAIRWISE = CoefficientAdvice(
    _("The kappas of all pairs of raters: one rater far from all others pulls many of them down."),
    _(
        "With many pairs that share few items. Pairs share raters, so an interval that ignores this"
        " would be too narrow."
    ),
)
ADVICE: dict[str, CoefficientAdvice] = {
    "percent_agreement": CoefficientAdvice(
        _(
            "Only how often two ratings of an item are the same. It is higher with fewer"
            " categories, and where one of them prevails."
        ),
        _(
            "On its own: if two raters give one category to 95 of 100 items without looking, they"
            " agree on about 90."
        ),
        _("never the same"),
    ),
    "fleiss_kappa": CoefficientAdvice(
        _(
            "How often ratings of the same item agree, and how unequally categories are used: it"
            " falls where one category prevails, though raters do nothing worse."
        ),
        _(
            "Where nearly all ratings are in one category (compare Gwet’s AC1), where "
            "harder items got more ratings, and with fewer than 30 items."
        ),
    ),
    "cohen_kappa": CoefficientAdvice(
        _(
            "How often the two agree, and how unequally they use the categories: the same share of"
            " agreement gives a lower kappa where one category prevails."
        ),
        _(
            "With few shared items, where nearly all answers are in one category, and where the two"
            " use the categories differently, which makes kappa higher at the same agreement."
        ),
    ),
    "weighted_kappa": CoefficientAdvice(
        _(
            "How far answers lie apart, not only whether they differ: under quadratic weights a few"
            " that are far apart cost more than many near misses."
        ),
        _(
            "With few shared items, where steps between categories are not alike, and where near"
            " misses matter: see kappa without weights, too."
        ),
    ),
    "gwet_ac1": CoefficientAdvice(
        _(
            "Mostly how often two ratings of an item agree: it takes little for chance, and hardly"
            " falls where one category prevails."
        ),
        _(
            "Where it alone is high. If kappa and alpha are far below it, raters may not agree on"
            " the rare categories, which are often those that matter."
        ),
    ),
    "vs_peers": CoefficientAdvice(
        _(
            "How often the rater gives the same answer as other raters for the same "
            "items. The others’ mistakes affect it, too."
        ),
        _("With fewer than 30 shared items, and where many others make the same mistake."),
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
        "Linear weights: a miss costs by its steps. Of four categories one step off counts as 0.67"
        " agreed, two as 0.33, the far end as nothing."
    ),
    "quadratic": _(
        "Quadratic weights: a miss costs the square of its steps. Of four categories one step off"
        " counts as 0.89 agreed, two as 0.56, the far end as nothing."
    ),
    "custom": _("Custom weights: the question defines how much two answers agree."),
}


def find_advice(name: str) -> CoefficientAdvice | None:
    """Return the advice on a coefficient, whatever its weights, or None."""
    return ADVICE.get(display_names.strip_weights(name))


def find_weighting_advice(name: str) -> Promise | None:
    """Return what the weights in a coefficient's name mean, or None."""
    return WEIGHTING_ADVICE.get(name.rpartition("_")[2])
