"""What the pages call things: coefficients, reasons and weightings in the reader's language."""

from __future__ import annotations

from collections.abc import Collection

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from metrics.agreement import glossary, registry
from metrics.agreement.explain import bands

WEIGHTS: dict[str, Promise] = {
    "none": _("none"),
    "linear": _("linear"),
    "quadratic": _("quadratic"),
    "custom": _("custom"),
}

PERIODS: dict[str, Promise] = {"day": _("day"), "week": _("week"), "month": _("month")}

REASONS: dict[str, Promise] = {
    "not_counted": _("no rating of it has been counted"),
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
    "too_many_items": _("too many items to be computed"),
    "no_gold_ratings": _("no answer on a gold item"),
    "no_repeats": _("nothing was rated twice"),
    "too_short": _("too few compared items before any onset"),
    "no_peers": _("nobody else rated the same items"),
    "cannot_tell_who": _("two raters only: which of them moved cannot be told"),
    "tied": _("tied"),
    "no_scores": _("no item or category has such a number"),
    "equal_scores": _("all categories have the same score"),
    "unscored_category": _("a category is used by no item with a score"),
}
NOT_COUNTED = _("not counted yet")


def coefficient(name: str) -> str | Promise:
    """The name of a coefficient for people; one that has no words here keeps its own name."""
    if called := _called(name):
        return called
    base, _sep, weights = name.rpartition("_")
    called = _called(base)
    if called and weights in WEIGHTS:
        return format_lazy(
            pgettext_lazy("coefficient, weights", "{}, {}"), called, _WEIGHTED[weights]
        )
    return name


def _called(name: str) -> Promise | None:
    said = registry.SAID.get(name)
    called = said[0] if said else glossary.FORMS.get(name)
    return _(called) if called else None


_WEIGHTED: dict[str, Promise] = {
    "none": _("no weights"),
    "linear": _("linear weights"),
    "quadratic": _("quadratic weights"),
    "custom": _("custom weights"),
}


def on_scores(name: str) -> str | Promise:
    """A coefficient whose weights come from scores."""
    return format_lazy(pgettext_lazy("coefficient", "{}, weights of the scores"), _called(name))


def reason(name: str | None) -> str | Promise:
    """Why a value is undefined, in plain words."""
    if name is None:
        return NOT_COUNTED
    return REASONS.get(name, name)


# Why a coefficient is read first (metrics.agreement.headline).
_WHYS: dict[str, Promise] = {
    "two_raters": _("Two raters: agreement between these two, beyond what their own habits give."),
    "two_raters_weighted": _(
        "Two raters and categories in an order: near misses count as partly agreed."
    ),
    "nominal": _("Categories without an order and any raters: the same category or not."),
    "weighted": _("With the agreement weights that were declared for this question."),
    "ordinal": _("Categories in an order: near misses count as partly agreed."),
    "complete": _("Numbers, and everybody rated every item: agreement on the value itself."),
    "incomplete": _("Numbers, and not everybody rated every item: alpha takes what there is."),
}


def why(name: str, coefficient: str) -> str | Promise:
    """Why a coefficient is read first, in a sentence."""
    last = coefficient.rpartition("_")[2]
    if last == "custom":
        return _WHYS["weighted"]
    if name == "two_raters" and last in WEIGHTS:
        return _WHYS["two_raters_weighted"]
    return _WHYS[name]


# Whose agreement it is.
GROUPS: dict[str, Promise] = {
    "people": _("People with people"),
    "between": _("People with models"),
    "models": _("Models with models"),
    "all": _("All raters together"),
}


# The words of the bands of metrics.agreement.explain.bands.
_BANDS: dict[str, Promise] = {
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


def band(found: bands.Band | None) -> str | Promise:
    """What a chance-corrected coefficient in this band is called; empty for an undefined one."""
    return "" if found is None else _BANDS[found.name]


def all_bands() -> Collection[Promise]:
    return _BANDS.values()


def explained(name: str) -> tuple[str | Promise, str]:
    """What a coefficient, or a column or sign of glossary.TERMS, is called and what it says, in the
    words of docs/statistics.md."""
    if name in glossary.TERMS:
        title, text = glossary.TERMS[name]
        return gettext(title), gettext(text)
    name = plain(name)
    called, text = registry.SAID[name]
    return gettext(called), gettext(text)


def plain(name: str) -> str:
    """The name of a coefficient without its weights, under which its words are found."""
    name = name.removesuffix(".chi2")
    if name in registry.SAID or name in glossary.TERMS:
        return name
    base, _sep, weights = name.rpartition("_")
    if base == "gwet_ac2":
        return "gwet_ac1"
    if base == "cohen_kappa":
        return "weighted_kappa"
    return base if weights in WEIGHTS else name


def judged(name: str, value: float | None, scheme: str) -> tuple[str | Promise, bool]:
    """What a coefficient of this size is called in a scheme, and whether the scheme's words were
    made for another one; empty for what is not corrected for chance."""
    if value is None or not _judged(name):
        return "", False
    return band(bands.band_of(value, scheme)), not bands.fits(name, scheme)


def _judged(name: str) -> bool:
    if name.startswith((registry.MEAN_PAIRWISE, "icc")):
        return True
    entry = registry.entry_of(name)
    return entry is not None and entry.corrected


# Rules about missing ratings (metrics.agreement.explain.missing_ratings).
POLICIES: dict[str, Promise] = {
    "available": _("Available ratings, all of them in what chance gives"),
    "by_item": _("Available ratings, each item once in what chance gives"),
    "complete": _("Complete items only"),
    "paired": _("Items with two ratings or more"),
}
