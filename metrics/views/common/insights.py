"""What the stored counts say in plain sentences: the diagnoses of metrics.agreement, in the
reader's language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.agreement.explain import bands
from metrics.agreement.headline import FLEISS
from metrics.agreement.weights import NONE, weighted
from metrics.models import RaterReading, Reading, number_at
from metrics.scale import QuestionScale
from projects.models import Rater
from ratings.models import Assignment

from . import display_names
from .number_formats import figure, percent, whole


def sentences(
    found: list[dict[str, Any]], raters: list[Rater], scale: QuestionScale, *, scheme: str
) -> list[str]:
    """Stored findings, each {"name", "figures"}, in the reader's language and the words of a
    scheme."""
    keys = {rater.pk: rater.key for rater in raters}
    said = []
    for one in found:
        figures = one["figures"] | {"scheme": scheme}
        said.append(_SENTENCES[one["name"]](figures, scale.labels, keys))
    return said


def apart_below(reading: Reading) -> tuple[str, float | None]:
    """The coefficient of a rater against the others that goes with the headline, and the lower end
    of Fleiss' kappa under the same weights: who stays below it agrees less than all do."""
    weights = reading.headline.get("weights", NONE)
    whole = reading.of_all.get(weighted("fleiss_kappa", weights), {})
    return weighted("vs_peers", weights), whole.get("low")


def judged(reading: Reading, rater_id: int, n_ratings: int) -> bool:
    """Whether a rater can be compared with all: not who was asked half or more of so many ratings
    because others had left it in doubt. On that everybody agrees less."""
    if "drawn" not in reading.headline:
        return True
    asked = Assignment.objects.filter(rater=rater_id, planned=True).count()
    return 2 * asked < n_ratings


def raters_apart(readings: Mapping[int, Reading]) -> dict[int, list[str]]:
    """Question -> raters whose agreement with peers lies, interval and all, below the whole
    interval of the project, those of most harm (ratings x gap) first; people alone, unless models
    alone rate or the lead pools them."""
    floors: dict[str, dict[int, float]] = {}  # one query a weighting, not a question
    for question, reading in readings.items():
        name, floor = apart_below(reading)
        if floor is not None:
            floors.setdefault(name, {})[question] = floor
    found: dict[int, list[tuple[float, str]]] = {}
    for name, of_question in floors.items():
        rows = RaterReading.objects.filter(question__in=list(of_question))
        rows = rows.annotate(
            high=number_at(f"coefficients__{name}__high"),
            value=number_at(f"coefficients__{name}__value"),
            n_items=number_at(f"coefficients__{name}__n_items"),
        )
        rows = rows.filter(n_items__gte=bands.FEW_ITEMS)  # of few an interval may claim too much
        # Below the highest floor: which of them are below their own is told faster here.
        rows = rows.filter(high__lt=max(of_question.values()))
        columns = (
            "question_id",
            "rater",
            "rater__key",
            "rater__kind",
            "high",
            "value",
            "n_ratings",
        )
        for question, pk, key, kind, high, value, n in rows.order_by().values_list(*columns):
            of_people = readings[question].headline.get("of", "people") == "people"
            if high >= of_question[question] or (of_people and kind != Rater.Kind.HUMAN):
                continue
            if judged(readings[question], pk, n):
                harm = n * (of_question[question] - value)
                found.setdefault(question, []).append((-harm, key))
    return {question: [key for _harm, key in sorted(ones)] for question, ones in found.items()}


def apart_sentences(keys: list[str], project: int, query: str) -> list[SafeString]:
    """What there is to say of raters by their keys: one sentence, or none. Each name leads to its
    rater's page, under ``query``."""
    names = format_html_join(", ", "{}", ((_rater_link(key, project, query),) for key in keys[:3]))
    if len(keys) > 3:
        many = _("{n} raters agree less with the others than the project does, among them {names}.")
        page, question = reverse("raters", args=[project]), query.partition("&")[0]
        every = format_html('<a href="{}?{}">{}</a>', page, question, whole(len(keys)))
        return [format_html(many, n=every, names=names)]
    few = ngettext(
        "{names} agrees less with the others than the project does.",
        "{names} agree less with the others than the project does.",
        len(keys),
    )
    return [format_html(few, names=names)] if keys else []


def _rater_link(key: str, project: int, query: str) -> SafeString:
    page = reverse("rater", args=[project, key])
    return format_html('<a href="{}?{}">{}</a>', page, query, key)


Sentence = Callable[[dict[str, Any], list[str], dict[int, str]], str]


def _paradox(figures: dict[str, Any], labels: list[str], _names: dict[int, str]) -> str:
    return _(
        "Raters agree in %(observed)s of all comparisons, but %(share)s of the ratings are "
        "“%(label)s”, so much of "
        "that agreement is expected by chance: kappa is %(kappa)s, AC1 is %(ac1)s. Read both."
    ) % {
        "observed": percent(figures["percent_agreement"]),
        "share": percent(figures["share"]),
        "label": labels[figures["category"]],
        "kappa": figure(figures["fleiss_kappa"]),
        "ac1": figure(figures["gwet_ac1"]),
    }


def _unequal(figures: dict[str, Any], _labels: list[str], _names: dict[int, str]) -> str:
    return _(
        "Items have %(fewest)s to %(most)s ratings, and it matters how often each category is "
        "used, from which chance is reckoned: Fleiss’ kappa is %(pooled)s when all ratings count "
        "alike in that and %(by_item)s when all items do. Harder items may have got more ratings."
    ) % {
        "fewest": whole(figures["fewest_ratings"]),
        "most": whole(figures["most_ratings"]),
        "pooled": figure(figures["fleiss_kappa"], 3),
        "by_item": figure(figures["fleiss_kappa_gwet"], 3),
    }


def _singles(figures: dict[str, Any], _labels: list[str], _names: dict[int, str]) -> str:
    n = figures["single_items"]
    return ngettext(
        "%(n)s item has one rating: it tells how often a category is used, and so what chance "
        "gives, but nothing of agreement. Fleiss’ kappa is %(pooled)s with it and %(paired)s "
        "without; alpha leaves it out.",
        "%(n)s items have one rating: they tell how often a category is used, and so what chance "
        "gives, but nothing of agreement. Fleiss’ kappa is %(pooled)s with them and %(paired)s "
        "without; alpha leaves them out.",
        n,
    ) % {
        "n": whole(n),
        "pooled": figure(figures["fleiss_kappa"]),
        "paired": figure(figures["fleiss_kappa_paired"]),
    }


def _overlap(figures: dict[str, Any], _labels: list[str], _names: dict[int, str]) -> str:
    return _(
        "Only %(shared)s of %(rated)s rated items have two or more ratings: everything about "
        "agreement rests on these."
    ) % {"shared": whole(figures["shared_items"]), "rated": whole(figures["rated_items"])}


def _confused(figures: dict[str, Any], labels: list[str], _names: dict[int, str]) -> str:
    return _(
        "%(share)s of all disagreement is between “%(one)s” and “%(other)s”: the guidelines should "
        "draw the line "
        "between them more clearly."
    ) % {
        "share": percent(figures["share"]),
        "one": labels[figures["category_a"]],
        "other": labels[figures["category_b"]],
    }


def _bias(figures: dict[str, Any], labels: list[str], names: dict[int, str]) -> str:
    a, b = names.get(figures["rater_a"], "?"), names.get(figures["rater_b"], "?")
    more, less = (a, b) if figures["difference"] > 0 else (b, a)
    return _(
        "%(differing)s of %(tested)s pairs of raters use the categories unequally often. Clearest: "
        "%(more)s says "
        "“%(label)s” more often than %(less)s, by %(difference)s of the items both rated."
    ) % {
        "differing": whole(figures["differing_pairs"]),
        "tested": whole(figures["tested_pairs"]),
        "more": more,
        "less": less,
        "label": labels[figures["category"]],
        "difference": percent(abs(figures["difference"])),
    }


def _consistency(figures: dict[str, Any], _labels: list[str], _names: dict[int, str]) -> str:
    return _(
        "Raters put items in nearly the same order (mean correlation %(r)s) but on different "
        "levels (mean quadratic "
        "kappa %(kappa)s): they are consistent without agreeing."
    ) % {"r": figure(figures["mean_pearson"]), "kappa": figure(figures["mean_quadratic_kappa"])}


def _few(figures: dict[str, Any], _labels: list[str], _names: dict[int, str]) -> str:
    shared = figures["shared_items"]
    return ngettext(
        "It rests on %(n)s item with two or more ratings: with fewer than 30 it may be far off.",
        "It rests on %(n)s items with two or more ratings: with fewer than 30 it may be far off.",
        shared,
    ) % {"n": whole(shared)}


def _weightings(figures: dict[str, Any], _labels: list[str], _names: dict[int, str]) -> str:
    low, high = (bands.band_of(figures[end], figures["scheme"]) for end in ("low", "high"))
    told = {
        # Not told by what was stored before it could be another one.
        "name": display_names.coefficient(figures.get("coefficient", FLEISS)),
        "lowest": display_names.WEIGHTS[figures["lowest"]],
        "low": figure(figures["low"]),
        "highest": display_names.WEIGHTS[figures["highest"]],
        "high": figure(figures["high"]),
        "low_word": display_names.band(low),
        "high_word": display_names.band(high),
    }
    if low is high:
        said = _(
            "The conclusion does not depend on the weights: %(name)s is %(low)s to "
            "%(high)s under any of them, always “%(low_word)s”."
        )
    else:
        said = _(
            "The conclusion depends on the weights: %(name)s is %(low)s (“%(low_word)s”) with "
            "weights “%(lowest)s” and %(high)s (“%(high_word)s”) with weights “%(highest)s”."
        )
    return said % told


def _pairs(figures: dict[str, Any], _labels: list[str], _names: dict[int, str]) -> str:
    told = {"fleiss": figure(figures["fleiss"]), "pairs": figure(figures["pairs"])}
    if figures["pairs"] > figures["fleiss"]:
        said = _(
            "Fleiss’ kappa (%(fleiss)s) is below the mean over pairs (%(pairs)s): some raters "
            "are stricter than others. Fleiss’ speaks of any raters, the mean of these raters with "
            "their habits."
        )
    else:
        said = _(
            "Fleiss’ kappa (%(fleiss)s) is above the mean over pairs (%(pairs)s): pairs that "
            "share many items agree less, or rated harder ones. Fleiss’ speaks of any raters, the "
            "mean of these pairs."
        )
    return said % told


def _apart(figures: dict[str, Any], _labels: list[str], _names: dict[int, str]) -> str:
    return _(
        "Raters are consistent but apart: ICC(C,1) is %(consistency)s, ICC(A,1) %(agreement)s, and "
        "their means differ by up to %(apart)s. Where only the order counts, read the former."
    ) % {
        "consistency": figure(figures["consistency"]),
        "agreement": figure(figures["agreement"]),
        "apart": figure(figures["apart"], 1),
    }


_SENTENCES: dict[str, Sentence] = {
    "few_items": _few,
    "weightings": _weightings,
    "fleiss_and_pairs": _pairs,
    "consistent_apart": _apart,
    "prevalence_paradox": _paradox,
    "single_ratings": _singles,
    "unequal_numbers": _unequal,
    "little_overlap": _overlap,
    "confused_categories": _confused,
    "rater_bias": _bias,
    "consistency_only": _consistency,
}
