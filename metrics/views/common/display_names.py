"""Display names of coefficients, weightings, bands and reasons, in the reader's language."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext, pgettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from metrics.agreement import glossary, registry
from metrics.agreement.explain import bands

WEIGHTING_NAMES: dict[str, Promise] = {
    "none": _("none"),
    "linear": _("linear"),
    "quadratic": _("quadratic"),
    "custom": _("custom"),
}

PERIOD_NAMES: dict[str, Promise] = {"day": _("day"), "week": _("week"), "month": _("month")}

UNDEFINED_REASONS: dict[str, Promise] = {
    "not_counted": _("not counted yet"),
    "no_ratings": _("no ratings"),
    "single_category": _("all ratings are in one category"),
    "no_pairable_items": _("no item has comparable ratings"),
    "too_few_items": _("too few items"),
    "needs_two_raters": _("two raters are needed"),
    "needs_2x2": _("only defined for two categories"),
    "zero_variance": _("no variation"),
    "zero_error_variance": _("no variation within items"),
    "below_range": _("below the range of this statistic"),
    "needs_complete_items": _("needs items that all raters rated"),
    "no_discordant_pairs": _("the two never differ"),
    "needs_bootstrap": _("no interval by formula"),
    "too_many_items": _("too many items to compute"),
    "no_gold_ratings": _("no answer on a gold item"),
    "no_repeats": _("nothing was rated twice"),
    "too_short": _("too few items"),
    "no_peers": _("nobody else rated these items"),
    "cannot_tell_who": _("two raters: unclear who changed"),
    "tied": _("tied"),
    "no_scores": _("no item or category has this"),
    "equal_scores": _("all categories have the same score"),
    "unscored_category": _("a category has no item with a score"),
}
NOT_COUNTED_TEXT = _("not counted yet")


def get_coefficient_name(name: str) -> str | Promise:
    """Return the display name of a coefficient, or ``name`` itself if it has none."""
    if title := _find_title(name):
        return title
    base, _sep, weights = name.rpartition("_")
    title = _find_title(base)
    if title and weights in WEIGHTING_NAMES:
        separator = pgettext_lazy("phrases", ", ")
        return format_lazy("{}{}{}", title, separator, WEIGHTING_SUFFIXES[weights])
    return name


def _find_title(name: str) -> Promise | None:
    entry = registry.COEFFICIENT_TEXTS.get(name)
    title = entry[0] if entry else glossary.FORM_LABELS.get(name)
    return _(title) if title else None


WEIGHTING_SUFFIXES: dict[str, Promise] = {
    "none": _("no weights"),
    "linear": _("linear weights"),
    "quadratic": _("quadratic weights"),
    "custom": _("custom weights"),
}


def get_score_weighted_name(name: str) -> str | Promise:
    """Return the display name of a coefficient whose weights come from scores."""
    return format_lazy(pgettext_lazy("coefficient", "{}, weights of the scores"), _find_title(name))


def get_undefined_reason(name: str | None) -> str | Promise:
    """Return why a value is undefined, in plain words. ``name``: the stored reason."""
    if name is None:
        return NOT_COUNTED_TEXT
    return UNDEFINED_REASONS.get(name, name)


# Why a coefficient is the headline (metrics.agreement.headline).
_HEADLINE_REASONS: dict[str, Promise] = {
    "two_raters": _("Two raters."),
    "two_raters_weighted": _("Ordered categories: near misses get partial credit."),
    "nominal": _("Unordered categories, any raters."),
    "weighted": _("With the question’s weights."),
    "ordinal": _("Ordered categories: near misses get partial credit."),
    "complete": _("Numeric, complete."),
    "incomplete": _("Numeric, with missing ratings."),
}


def get_headline_reason(name: str, coefficient: str) -> str | Promise:
    """Return one sentence on why a coefficient is the headline.

    ``name``: the stored name of the reason.
    """
    weights = coefficient.rpartition("_")[2]
    if weights == "custom":
        return _HEADLINE_REASONS["weighted"]
    if name == "two_raters" and weights in WEIGHTING_NAMES:
        return _HEADLINE_REASONS["two_raters_weighted"]
    return _HEADLINE_REASONS[name]


# Groups of raters whose agreement is computed separately.
RATER_GROUP_NAMES: dict[str, Promise] = {
    "people": _("People with people"),
    "between": _("People with models"),
    "models": _("Models with models"),
    "all": _("All raters together"),
}


# Display names of the bands of metrics.agreement.explain.bands.
_BAND_NAMES: dict[str, Promise] = {
    "poor": _("poor"),
    "slight": _("slight"),
    "fair": _("fair"),
    "moderate": _("moderate"),
    "substantial": _("substantial"),
    "almost_perfect": _("almost perfect"),
    "fair_to_good": _("fair to good"),
    "excellent": _("excellent"),
    "good": _("good"),
    "very_good": _("very good"),
    "unreliable": _("unreliable"),
    "tentative": _("tentative"),
    "reliable": _("reliable"),
}


def get_band_name(band: bands.Band | None) -> str | Promise:
    """Return the display name of a band; empty for None."""
    return "" if band is None else _BAND_NAMES[band.name]


def get_explanation(name: str) -> tuple[str | Promise, str]:
    """Return the title and the explanation of a coefficient, or of a term in glossary.TERMS.

    The explanation is that of docs/statistics.md. Raises KeyError for an unknown name.
    """
    if name in glossary.TERMS:
        title, text = glossary.TERMS[name]
        context = glossary.TITLE_CONTEXTS.get(name)
        title = pgettext(context, title) if context else gettext(title)
        return title, gettext(text)
    name = strip_weights(name)
    coefficient_title, text = registry.COEFFICIENT_TEXTS[name]
    return gettext(coefficient_title), gettext(text)


def strip_weights(name: str) -> str:
    """Return the key of a coefficient's explanation: its name without its weights."""
    name = name.removesuffix(".chi2")
    if name in registry.COEFFICIENT_TEXTS or name in glossary.TERMS:
        return name
    base, _sep, weights = name.rpartition("_")
    if base == "gwet_ac2":
        return "gwet_ac1"
    if base == "cohen_kappa":
        return "weighted_kappa"
    return base if weights in WEIGHTING_NAMES else name


def get_band_and_mismatch(
    name: str, value: float | None, scheme: str
) -> tuple[str | Promise, bool]:
    """Return (band name, whether the scheme was made for another coefficient).

    The name is empty for an undefined value and for a coefficient without chance correction.
    """
    if value is None or not is_chance_corrected(name):
        return "", False
    return get_band_name(bands.find_band(value, scheme)), not bands.is_designed_for(name, scheme)


def is_chance_corrected(name: str) -> bool:
    if name.startswith((registry.MEAN_PAIRWISE, "icc")):
        return True
    entry = registry.find_coefficient(name)
    return entry is not None and entry.chance_corrected


# Policies for missing ratings (metrics.agreement.explain.headline_differences).
MISSING_POLICY_NAMES: dict[str, Promise] = {
    "available": _("All ratings; chance by rating"),
    "by_item": _("All ratings; chance by item"),
    "complete": _("Complete items only"),
    "paired": _("Items with two or more ratings"),
}
