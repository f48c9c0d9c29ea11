"""What a report says in sentences: what must not be claimed from it, a paragraph for a methods
section in each language, and whom to cite."""

from __future__ import annotations

import datetime
from typing import Any

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.agreement import registry
from metrics.agreement.explain import bands
from metrics.agreement.headline import CHOSEN, COHEN, in_report
from metrics.agreement.weights import NONE, WEIGHTINGS
from metrics.views.common import display_names
from metrics.views.common.number_formats import figure, interval, whole
from projects.models import BandScheme, Scale, Weights

from . import random_sample_texts

Facts = dict[str, Any]
ENOUGH = 30  # items: with fewer an interval by formula is too narrow or too wide


def by_ratings(facts: Facts) -> dict[int, int]:
    """Number of ratings -> items that have so many, of those whose agreement it is; 0 too, where
    there are any."""
    counted = facts["details"]["by_ratings"].items()
    found = {int(number): items for number, items in counted if int(number) > 0}
    nothing = facts["n_items"] - sum(found.values())
    return found | ({0: nothing} if nothing > 0 else {})


def in_registry(name: str) -> Any:
    """What the registry says of the coefficient of this name; of a weighted one, of its base."""
    known = registry.COEFFICIENTS
    name = in_report(name)
    if name in known:
        return known[name]
    return known[name.rpartition("_")[0]]


# --- what must not be claimed


def cautions(facts: Facts) -> list[str]:
    """What must not be claimed of these facts, the most important first."""
    value = facts["headline"]["value"]
    if value["value"] is None:
        why = display_names.reason(value["reason"])
        return [_("Any size of agreement: the value is undefined, %(why)s.") % {"why": why}]
    return [
        *_of_size(facts),
        *_of_whom(facts),
        *_of_items(facts),
        *_of_choice(facts),
        _("That the answers are right: raters can agree on a wrong one. Gold answers tell that."),
    ]


def _of_size(facts: Facts) -> list[str]:
    name, value = facts["headline"]["name"], facts["headline"]["value"]
    scheme, found = facts["band_scheme"], []
    if value["low"] is None:
        found.append(_("How sure it is: there is no interval."))
    elif value["n_items"] < ENOUGH:
        found.append(
            ngettext(
                "That the interval is exact: it rests on %(n)s item, and such intervals hold from "
                "about %(enough)s on.",
                "That the interval is exact: it rests on %(n)s items, and such intervals hold from "
                "about %(enough)s on.",
                value["n_items"],
            )
            % {"n": whole(value["n_items"]), "enough": ENOUGH}
        )
    if name == "percent_agreement":
        return [*found, _("Agreement beyond chance: percent agreement holds what chance gives.")]
    if value["low"] is not None:
        low, high = (bands.band_of(value[end], scheme) for end in ("low", "high"))
        if low != high:
            told = {"low": display_names.band(low), "high": display_names.band(high)}
            found.append(
                _("That it is in one band: the interval reaches from %(low)s to %(high)s.") % told
            )
    if not bands.fits(name, scheme):
        found.append(
            _("That %(scheme)s’s words fit this coefficient: they were made for another.")
            % {"scheme": BandScheme(scheme).label}
        )
    bar = facts["bar"]
    if bar is not None and (value["value"] if value["low"] is None else value["low"]) < bar:
        found.append(
            _("That the bar of %(bar)s is reached: the interval does not lie above it.")
            % {"bar": figure(bar)}
        )
    return found


def _of_whom(facts: Facts) -> list[str]:
    first = facts["headline"]
    if first["of"] == "models":
        return [_("Anything of people: only models rated.")]
    if first["of"] == "all" and first["n_models"]:
        return [_("That people agree so: models’ ratings are mixed in.")]
    if first["name"].startswith(COHEN):
        return [_("Anything of other raters: it compares these two.")]
    return []


def _of_items(facts: Facts) -> list[str]:
    counts = by_ratings(facts)
    lacking = counts.get(0, 0) + counts.get(1, 0)
    found = []
    if lacking:
        found.append(
            ngettext(
                "Anything of the %(n)s item with fewer than two ratings: it may be easier or "
                "harder than the others.",
                "Anything of the %(n)s items with fewer than two ratings: they may be easier or "
                "harder than the others.",
                lacking,
            )
            % {"n": whole(lacking)}
        )
    if facts["headline"]["name"].startswith("icc"):
        found.append(
            _(
                "That it holds for other items: an intraclass correlation grows with how much the "
                "items differ."
            )
        )
    elif facts["headline"]["name"] != "percent_agreement":
        found.append(
            _(
                "That these raters are better or worse than those of a study with other items: "
                "the value moves with how common each category is."
            )
        )
    return found


def _of_choice(facts: Facts) -> list[str]:
    if facts["headline"]["why"] != CHOSEN:
        return []
    return [_("That the coefficient was fixed before the ratings, unless it was: a lead chose it.")]


# --- for a methods section


def methods(facts: Facts) -> list[tuple[str, str]]:
    """Language and paragraph."""
    found = []
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            found.append((language, _paragraph(facts)))
    return found


def _paragraph(facts: Facts) -> str:
    gap = "" if (translation.get_language() or "").startswith("zh") else " "
    numbers = [_value(facts), random_sample_texts.sentence(facts["headline"]), _left_out(facts)]
    return gap.join(filter(None, [_who(facts), _scale(facts), *numbers, _software(facts)]))


def _who(facts: Facts) -> str:
    told = {
        "question": facts["question"]["text"],
        "ratings": whole(facts["n_ratings"]),
        "items": whole(facts["n_rated"]),
        "people": whole(facts["n_people"]),
        "models": whole(facts["n_models"]),
        "day": datetime.datetime.fromisoformat(facts["as_of"]).date().isoformat(),
    }
    if facts["n_models"]:
        return (
            _(
                "%(people)s human and %(models)s model raters gave %(ratings)s ratings of "
                "%(items)s items (“%(question)s”; state of %(day)s, UTC)."
            )
            % told
        )
    said = ngettext(
        "%(people)s human rater gave %(ratings)s ratings of %(items)s items (“%(question)s”; "
        "state of %(day)s, UTC).",
        "%(people)s human raters gave %(ratings)s ratings of %(items)s items (“%(question)s”; "
        "state of %(day)s, UTC).",
        facts["n_people"],
    )
    return said % told


def _scale(facts: Facts) -> str:
    declared = facts["declared"]
    told = {
        "scale": Scale(declared["scale"]).label,
        "k": len(declared["categories"]),
        "labels": ", ".join(category["label"] for category in declared["categories"]),
        "weights": Weights(declared["weights"]).label,
    }
    if declared["weights"] == NONE:
        return _("The scale was %(scale)s with %(k)s categories (%(labels)s).") % told
    return (
        _(
            "The scale was %(scale)s with %(k)s categories (%(labels)s) and declared agreement "
            "weights: %(weights)s."
        )
        % told
    )


def _value(facts: Facts) -> str:
    first = facts["headline"]
    value = first["value"]
    told = {
        "coefficient": display_names.coefficient(first["name"]),
        "whose": _WHOSE[first["of"]](),
        "source": in_registry(first["name"]).source,
        "value": figure(value["value"], 3),
        "interval": interval(value),
        "how": _how(first["name"], value),
        "items": whole(value["n_items"]),
        "why": display_names.reason(value["reason"]) if value["value"] is None else "",
    }
    if value["value"] is None:
        return (
            _("Agreement of %(whose)s as %(coefficient)s (%(source)s) is undefined: %(why)s.")
            % told
        )
    if value["low"] is None:
        return _("Agreement of %(whose)s was %(coefficient)s = %(value)s (%(source)s).") % told
    return (
        _(
            "Agreement of %(whose)s was %(coefficient)s = %(value)s (%(source)s), 95 %% confidence "
            "interval %(interval)s by %(how)s, on %(items)s items."
        )
        % told
    )


_WHOSE = {
    "people": lambda: _("the people"),
    "models": lambda: _("the models"),
    "all": lambda: _("all raters together"),
}


def _how(name: str, value: dict[str, Any]) -> str:
    """How the interval was made."""
    if "bootstrap" in value:
        return _("the percentile bootstrap over items (%(n)s replicates)") % {
            "n": whole(value["bootstrap"])
        }
    if name.startswith("icc"):
        return _("the F distribution")
    return _("the analytic standard error and the t distribution")


def _left_out(facts: Facts) -> str:
    counts = by_ratings(facts)
    lacking = counts.get(0, 0) + counts.get(1, 0)
    if not lacking:
        return ""
    return ngettext(
        "%(n)s item with fewer than two ratings was not compared (available cases).",
        "%(n)s items with fewer than two ratings were not compared (available cases).",
        lacking,
    ) % {"n": whole(lacking)}


def _software(facts: Facts) -> str:
    return _("Computed with Concord; SHA-256 of the ratings %(hash)s.") % {
        "hash": f"{facts['hash'][:16]}…"
    }


def references(facts: Facts) -> list[str]:
    """Of the coefficients told and of the words for their size."""
    first = facts["headline"]["name"]
    names = [first, *facts["beside"]]
    found = [in_registry(name).source for name in names]
    if any(name.rpartition("_")[2] in WEIGHTINGS for name in names):
        found.append("Cohen 1968, Psychological Bulletin 70, 213-220")
    if first != "percent_agreement":
        found.append(bands.SOURCES[facts["band_scheme"]])
    return sorted(set(found))


def as_json(facts: Facts) -> Facts:
    """The facts, and in English what a report says of them."""
    with translation.override("en"):
        claims = cautions(facts)
    paragraphs = {language: str(text) for language, text in methods(facts)}
    return facts | {
        "must_not_be_claimed": claims,
        "methods": paragraphs,
        "references": references(facts),
    }
