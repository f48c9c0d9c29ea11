"""What the pages call things: coefficients, reasons and weightings in the reader's language."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from metrics.agreement import bands

WEIGHTS: dict[str, Promise] = {
    "none": _("none"),
    "linear": _("linear"),
    "quadratic": _("quadratic"),
    "custom": _("custom"),
}

PERIODS: dict[str, Promise] = {"day": _("day"), "week": _("week"), "month": _("month")}

_BASE: dict[str, Promise] = {
    "fleiss_kappa": _("Fleiss’ kappa"),
    "fleiss_kappa_gwet": _("Fleiss’ kappa, margins by item"),
    "krippendorff_alpha_nominal": _("Krippendorff’s alpha, nominal"),
    "krippendorff_alpha_ordinal": _("Krippendorff’s alpha, ordinal"),
    "krippendorff_alpha_interval": _("Krippendorff’s alpha, interval"),
    "krippendorff_alpha_ratio": _("Krippendorff’s alpha, ratio"),
    "gwet_ac1": _("Gwet’s AC1"),
    "gwet_ac2": _("Gwet’s AC2"),
    "brennan_prediger": _("Brennan-Prediger"),
    "percent_agreement": _("Percent agreement"),
    "mean_pairwise_kappa": _("Mean pairwise kappa"),
    "vs_peers": _("Kappa with peers"),
    "vs_peers_percent": _("Percent agreement with peers"),
    "vs_peers_bias": _("Bias against peers"),
    "cohen_kappa": _("Cohen’s kappa"),
    "mean_difference": _("Mean difference"),
}

REASONS: dict[str, Promise] = {
    "single_category": _(
        "all ratings are in one category, so there is nothing beyond chance to measure"
    ),
    "no_pairable_items": _("no item has two ratings that could be compared"),
    "too_few_items": _("too few items"),
    "needs_two_raters": _("two raters are needed"),
    "needs_2x2": _("only defined for two categories"),
    "zero_variance": _("the ratings do not vary"),
    "zero_error_variance": _("the ratings do not vary within items"),
    "below_range": _("below the range of this statistic"),
    "needs_complete_items": _("needs items that every rater has rated"),
    "no_discordant_pairs": _("the two never differ"),
    "needs_bootstrap": _("no interval by formula"),
}
NOT_COUNTED = _("not counted yet")


def coefficient(name: str) -> str | Promise:
    """The name of a coefficient for people; one that has no words here keeps its own name."""
    if name in _BASE:
        return _BASE[name]
    base, _sep, weights = name.rpartition("_")
    if base in _BASE and weights in WEIGHTS:
        return format_lazy(
            pgettext_lazy("coefficient, weights", "{}, {}"), _BASE[base], _WEIGHTED[weights]
        )
    return name


_WEIGHTED: dict[str, Promise] = {
    "none": _("no weights"),
    "linear": _("linear weights"),
    "quadratic": _("quadratic weights"),
    "custom": _("custom weights"),
}


def reason(name: str | None) -> str | Promise:
    """Why a value is undefined, in plain words."""
    if name is None:
        return NOT_COUNTED
    return REASONS.get(name, name)


# The words of the bands of metrics.agreement.bands, scheme landis_koch.
_BANDS: dict[str, Promise] = {
    "poor": _("poor"),
    "slight": _("slight"),
    "fair": _("fair"),
    "moderate": _("moderate"),
    "substantial": _("substantial"),
    "almost_perfect": _("almost perfect"),
}


def band(found: bands.Band | None) -> str | Promise:
    """What a chance-corrected coefficient in this band is called; empty for an undefined one."""
    return "" if found is None else _BANDS[found.name]


TESTS: dict[str, Promise] = {
    "stuart_maxwell": _("Stuart-Maxwell: both use the categories equally often"),
    "bowker": _("Bowker: disagreements go both ways equally often"),
    "mcnemar": _("McNemar, corrected for continuity"),
    "mcnemar_exact": _("McNemar, exact"),
}
