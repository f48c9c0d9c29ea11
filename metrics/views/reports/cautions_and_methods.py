"""Texts of a report: cautions, methods paragraph and references."""

from __future__ import annotations

import datetime
from typing import Any

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from core.text import get_list_separator, get_sentence_separator, lower_first
from metrics.agreement import registry
from metrics.agreement.explain import bands
from metrics.agreement.headline import COHEN, LEAD_CHOICE, get_report_key, get_unweighted_name
from metrics.agreement.weights import WEIGHTINGS
from metrics.reports import ReportFacts
from metrics.results.stored_values import Value
from metrics.views.common import display_names, headline_texts
from metrics.views.common.headline_texts import format_cluster_note
from metrics.views.common.number_formats import (
    format_count,
    format_interval,
    format_number,
)
from projects.models import BandScheme, Scale

MIN_ITEMS = 30  # with fewer items, an analytic interval is too narrow or too wide
FLEISS_CUZICK = "Fleiss & Cuzick 1979, Applied Psychological Measurement 3, 537-542"
DONNER_ELIASZIW = "Donner & Eliasziw 1992, Statistics in Medicine 11, 1511-1519"
GWET = "Gwet 2021, Handbook of Inter-Rater Reliability, 5th ed., vol. 1"


def count_items_by_ratings(facts: ReportFacts) -> dict[int, int]:
    """Return {number of ratings by the headline's raters: number of items}.

    The key 0 is included if any item has no rating.
    """
    stored_counts = facts["details"]["by_ratings"].items()
    item_counts = {int(number): items for number, items in stored_counts if int(number) > 0}
    n_unrated = facts["n_items"] - sum(item_counts.values())
    return item_counts | ({0: n_unrated} if n_unrated > 0 else {})


def get_registry_entry(name: str) -> Any:
    """Return the registry entry of a coefficient; for a weighted one, of its unweighted form."""
    coefficients = registry.COEFFICIENTS
    name = get_report_key(name)
    if name in coefficients:
        return coefficients[name]
    return coefficients[name.rpartition("_")[0]]


# --- limits of the claims


def list_cautions(facts: ReportFacts) -> list[str]:
    """Return the conclusions that the facts do not allow, the most important first."""
    value = facts["headline"]["value"]
    if value["value"] is None:
        why = display_names.get_undefined_reason(value["reason"])
        return [_("Any degree of agreement: %(why)s.") % {"why": why}]
    return [
        *_list_size_cautions(facts),
        *_list_rater_cautions(facts),
        *_list_item_cautions(facts),
        *_list_choice_cautions(facts),
        _("Right answers: raters may share mistakes."),
    ]


def _list_size_cautions(facts: ReportFacts) -> list[str]:
    caution_texts = _list_interval_cautions(facts)
    if facts["headline"]["name"] == "percent_agreement":
        return [*caution_texts, _("Agreement beyond chance.")]
    caution_texts += _list_band_cautions(facts)
    value, bar = facts["headline"]["value"], facts["bar"]
    lower_end = value["value"] if value["low"] is None else value["low"]
    if bar is not None and lower_end is not None and lower_end < bar:
        target = format_number(bar)
        caution_texts.append(_("Reaching the target of %(bar)s.") % {"bar": target})
    return caution_texts


def _list_interval_cautions(facts: ReportFacts) -> list[str]:
    value, caution_texts = facts["headline"]["value"], []
    if value["low"] is None:
        caution_texts.append(_("Its uncertainty: there is no interval."))
    elif (n_items := value["n_items"] or 0) < MIN_ITEMS:
        caution_texts.append(
            ngettext(
                "An exact interval: that needs about %(enough)s items, not %(n)s.",
                "An exact interval: that needs about %(enough)s items, not %(n)s.",
                n_items,
            )
            % {"n": format_count(n_items), "enough": MIN_ITEMS}
        )
    cluster = facts.get("cluster")
    if cluster is not None and (cluster["n_clusters"] or 0) > 1 and not cluster["reliable"]:
        caution_texts.append(
            _("An exact interval: only %(n)s clusters.")
            % {"n": format_count(cluster["n_clusters"])}
        )
    return caution_texts


def _list_band_cautions(facts: ReportFacts) -> list[str]:
    headline, scheme, caution_texts = facts["headline"], facts["band_scheme"], []
    value = headline["value"]
    if value["low"] is not None:
        low, high = (bands.find_band(value[end], scheme) for end in ("low", "high"))
        if low != high:
            params = {
                "low": display_names.get_band_name(low),
                "high": display_names.get_band_name(high),
            }
            caution_texts.append(
                _("A single band: the interval reaches from %(low)s to %(high)s.") % params
            )
    if not bands.is_designed_for(headline["name"], scheme):
        caution_texts.append(
            _("That labels of %(scheme)s fit: they are for another coefficient.")
            % {"scheme": BandScheme(scheme).label}
        )
    return caution_texts


def _list_rater_cautions(facts: ReportFacts) -> list[str]:
    headline = facts["headline"]
    if headline["population"] == "models":
        return [_("People’s agreement: only models rated.")]
    if headline["population"] == "all" and headline["n_models"]:
        return [_("People’s agreement: models are included.")]
    if headline["name"].startswith(COHEN):
        return [_("Raters other than these two.")]
    return []


def _list_item_cautions(facts: ReportFacts) -> list[str]:
    counts = count_items_by_ratings(facts)
    n_not_comparable = counts.get(0, 0) + counts.get(1, 0)
    caution_texts = []
    if n_not_comparable:
        caution_texts.append(
            ngettext(
                "The %(n)s item with fewer than two ratings.",
                "The %(n)s items with fewer than two ratings.",
                n_not_comparable,
            )
            % {"n": format_count(n_not_comparable)}
        )
    if facts["headline"]["name"].startswith("icc"):
        caution_texts.append(_("Agreement on other items: it is higher if items differ more."))
    elif facts["headline"]["name"] != "percent_agreement":
        caution_texts.append(
            _("Better or worse raters than elsewhere: the value depends on category frequencies.")
        )
    return caution_texts


def _list_choice_cautions(facts: ReportFacts) -> list[str]:
    if facts["headline"]["why"] != LEAD_CHOICE:
        return []
    return [_("That the coefficient was chosen beforehand.")]


# --- methods section


def build_methods(facts: ReportFacts) -> list[tuple[str, str]]:
    """Return (language, methods paragraph) for each language."""
    paragraphs = []
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            paragraphs.append((language, _build_methods_paragraph(facts)))
    return paragraphs


def _build_methods_paragraph(facts: ReportFacts) -> str:
    numbers = [
        _describe_estimate(facts),
        headline_texts.describe_unweighted(get_unweighted(facts)),
        format_cluster_note(facts.get("cluster")),
        headline_texts.describe_random_sample(facts["headline"]),
        _describe_missing_ratings(facts),
        _describe_rater_effects(facts["headline"]["name"]),
    ]
    return get_sentence_separator().join(
        filter(
            None,
            [_describe_raters(facts), _describe_scale(facts), *numbers, _describe_software(facts)],
        )
    )


def _describe_raters(facts: ReportFacts) -> str:
    params = {"people": format_count(facts["n_people"]), "models": format_count(facts["n_models"])}
    if facts["n_models"]:
        raters = _("%(people)s human and %(models)s model raters") % params
    else:
        raters = ngettext("%(people)s human rater", "%(people)s human raters", facts["n_people"])
        raters %= params
    return _(
        "%(raters)s gave %(ratings)s ratings of %(items)s items (“%(question)s”; state of %(day)s,"
        " UTC)."
    ) % {
        "raters": raters,
        "question": facts["question"]["text"],
        "ratings": format_count(facts["n_ratings"]),
        "items": format_count(facts["n_rated"]),
        "day": datetime.datetime.fromisoformat(facts["as_of"]).date().isoformat(),
    }


def _describe_scale(facts: ReportFacts) -> str:
    declared = facts["declared"]
    params = {
        "scale": Scale(declared["scale"]).label,
        "k": len(declared["categories"]),
        "labels": get_list_separator().join(
            category["label"] for category in declared["categories"]
        ),
        "weights": Scale(declared["scale"]).describe_weights(declared["weights"]),
    }
    return (
        _("The scale was %(scale)s with %(k)s categories (%(labels)s); weights: %(weights)s.")
        % params
    )


def _describe_estimate(facts: ReportFacts) -> str:
    headline = facts["headline"]
    value = headline["value"]
    params = {
        "coefficient": display_names.get_coefficient_name(headline["name"]),
        "whose": _GROUP_NAMES[headline["population"]](),
        "source": _("; ").join(_list_sources(facts, headline["name"])),
        "value": format_number(value["value"], 3),
        "interval": format_interval(value),
        "how": _describe_interval_method(headline["name"], value),
        "items": format_count(value["n_items"]),
        "why": display_names.get_undefined_reason(value["reason"])
        if value["value"] is None
        else "",
    }
    if value["value"] is None:
        return (
            _("Agreement among %(whose)s as %(coefficient)s (%(source)s) is undefined: %(why)s.")
            % params
        )
    text = _("Agreement among %(whose)s was %(coefficient)s = %(value)s (%(source)s).") % params
    if value["low"] is None:
        return text
    interval = _("95%% confidence interval: %(interval)s by %(how)s, on %(items)s items.")
    return get_sentence_separator().join((text, interval % params))


_GROUP_NAMES = {
    "people": lambda: pgettext("in a sentence", "people"),
    "models": lambda: _("models"),
    "all": lambda: lower_first(_("All raters together")),
}


def _describe_interval_method(name: str, value: Value) -> str:
    """Return the sentence on how the interval of the coefficient ``name`` was computed."""
    if "bootstrap" in value:
        return _("percentile bootstrap over items (%(n)s replicates)") % {
            "n": format_count(value["bootstrap"])
        }
    if name.startswith("icc"):
        return _("the F distribution")
    return _("the score method (%(source)s)") % {"source": DONNER_ELIASZIW}


def get_unweighted(facts: ReportFacts) -> tuple[str, Value] | None:
    """Return (name, Value) of the headline without weights; None if weights change nothing."""
    headline = facts["headline"]
    if "unweighted" not in headline:
        return None
    return get_unweighted_name(headline["name"]), headline["unweighted"]


def _describe_missing_ratings(facts: ReportFacts) -> str:
    counts = count_items_by_ratings(facts)
    n_not_comparable = counts.get(0, 0) + counts.get(1, 0)
    if not n_not_comparable:
        return ""
    sentence = ngettext(
        "%(n)s item with fewer than two ratings was not compared.",
        "%(n)s items with fewer than two ratings were not compared.",
        n_not_comparable,
    ) % {"n": format_count(n_not_comparable)}
    if not facts["headline"]["name"].startswith(headline_texts.CHANCE_WITH_SINGLES):
        return sentence
    return f"{sentence} {headline_texts.describe_single_ratings(counts.get(1, 0))}".strip()


def _describe_rater_effects(name: str) -> str:
    """Return the sentence on whether raters were fixed or a random sample."""
    if name.startswith("icc") and not name.startswith("icc3"):
        return _("Raters and items were random samples.")
    return _("Raters were fixed, items a random sample.")


def _describe_software(facts: ReportFacts) -> str:
    return _("Computed with Concord; SHA-256 of the ratings %(hash)s.") % {
        "hash": f"{facts['hash'][:16]}…"
    }


def _list_sources(facts: ReportFacts, name: str) -> list[str]:
    """Return the sources of a coefficient in the variant that was computed.

    Fleiss 1971 covers neither weights nor unequal numbers of ratings.
    """
    sources = [get_registry_entry(name).source]
    if not name.startswith("fleiss_kappa"):
        return sources
    numbers = {number for number, n in count_items_by_ratings(facts).items() if number >= 2 and n}
    if len(numbers) > 1:
        sources.append(FLEISS_CUZICK)
    if len(numbers) > 1 or name.rpartition("_")[2] in WEIGHTINGS:
        sources.append(GWET)
    return sources


def list_references(facts: ReportFacts) -> list[str]:
    """Return the sources of the coefficients and of the band scheme."""
    headline_name = facts["headline"]["name"]
    names = [headline_name, *facts["other_coefficients"]]
    sources = [source for name in names for source in _list_sources(facts, name)]
    if any(name.rpartition("_")[2] in WEIGHTINGS for name in names):
        sources.append("Cohen 1968, Psychological Bulletin 70, 213-220")
    if headline_name != "percent_agreement":
        sources.append(bands.SOURCES[facts["band_scheme"]])
    return sorted(set(sources))


def build_json(facts: ReportFacts) -> dict[str, object]:
    """Return the facts with the texts of the report, cautions in English."""
    with translation.override("en"):
        claims = list_cautions(facts)
    paragraphs = {language: str(text) for language, text in build_methods(facts)}
    return {
        **facts,
        "must_not_be_claimed": claims,
        "methods": paragraphs,
        "references": list_references(facts),
    }
