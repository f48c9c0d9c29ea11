"""Insights: the stored findings of metrics.agreement as sentences in the reader's language.

Also the raters whose agreement with peers is clearly below that of all.
"""

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
from metrics.agreement.weights import UNWEIGHTED, get_weighted_name
from metrics.models import RaterResult, Result, build_number_expression
from metrics.scale import QuestionScale
from projects.models import Rater
from ratings.models import Assignment

from . import display_names
from .number_formats import format_count, format_number, format_percent


def build_sentences(
    findings: list[dict[str, Any]], raters: list[Rater], scale: QuestionScale, *, scheme: str
) -> list[str]:
    """Return the sentences of stored findings, in the words of a band scheme.

    Each finding is {"name", "figures"}.
    """
    rater_keys = {rater.pk: rater.key for rater in raters}
    sentences = []
    for finding in findings:
        figures = finding["figures"] | {"scheme": scheme}
        sentences.append(_SENTENCES[finding["name"]](figures, scale.labels, rater_keys))
    return sentences


def get_outlier_threshold(result: Result) -> tuple[str, float | None]:
    """Return (coefficient, threshold) below which a rater's agreement with peers is an outlier.

    The coefficient has the weights of the headline; the threshold is the lower end of the interval
    of Fleiss' kappa under the same weights, or None.
    """
    weights = result.headline.get("weights", UNWEIGHTED)
    kappa = result.all_coefficients.get(get_weighted_name("fleiss_kappa", weights), {})
    return get_weighted_name("vs_peers", weights), kappa.get("low")


def is_comparable(result: Result, rater_id: int, n_ratings: int) -> bool:
    """Return True if a rater can be compared with all raters.

    False if half or more of the rater's ratings were requested for uncertain items: all raters
    agree less on those.
    """
    if "sample" not in result.headline:
        return True
    n_requested = Assignment.objects.filter(rater=rater_id, planned=True).count()
    return 2 * n_requested < n_ratings


def list_outlier_raters(results: Mapping[int, Result]) -> dict[int, list[str]]:
    """Return {question id: keys of outlier raters}, those with the greatest impact first.

    A rater is an outlier if the interval of the agreement with peers lies below the interval of the
    project's. Impact: ratings x gap. Only people, unless only models rate or the lead pools them.
    """
    thresholds: dict[str, dict[int, float]] = {}  # by weighting: one query each, not one a question
    for question, result in results.items():
        name, threshold = get_outlier_threshold(result)
        if threshold is not None:
            thresholds.setdefault(name, {})[question] = threshold
    impacts: dict[int, list[tuple[float, str]]] = {}
    for name, threshold_by_question in thresholds.items():
        rows = RaterResult.objects.filter(question__in=list(threshold_by_question))
        rows = rows.annotate(
            high=build_number_expression(f"coefficients__{name}__high"),
            value=build_number_expression(f"coefficients__{name}__value"),
            n_items=build_number_expression(f"coefficients__{name}__n_items"),
        )
        rows = rows.filter(
            n_items__gte=bands.MIN_ITEMS_ZERO_WIDTH
        )  # an interval of fewer may be too narrow
        # The query uses the highest threshold; each question's own is faster to check in Python.
        rows = rows.filter(high__lt=max(threshold_by_question.values()))
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
            of_people = results[question].headline.get("population", "people") == "people"
            if high >= threshold_by_question[question] or (of_people and kind != Rater.Kind.HUMAN):
                continue
            if is_comparable(results[question], pk, n):
                impact = n * (threshold_by_question[question] - value)
                impacts.setdefault(question, []).append((-impact, key))
    return {
        question: [key for _impact, key in sorted(raters)] for question, raters in impacts.items()
    }


def build_outlier_sentences(keys: list[str], project: int, query: str) -> list[SafeString]:
    """Return at most one sentence about outlier raters, given by their keys.

    Each name links to the rater's page, with the query string ``query``.
    """
    names = format_html_join(
        ", ", "{}", ((_build_rater_link(key, project, query),) for key in keys[:3])
    )
    if len(keys) > 3:
        template = _(
            "{n} raters agree less with the others than the project does, among them {names}."
        )
        page, question = reverse("raters", args=[project]), query.partition("&")[0]
        count_link = format_html('<a href="{}?{}">{}</a>', page, question, format_count(len(keys)))
        return [format_html(template, n=count_link, names=names)]
    template_few = ngettext(
        "{names} agrees less with the others than the project does.",
        "{names} agree less with the others than the project does.",
        len(keys),
    )
    return [format_html(template_few, names=names)] if keys else []


def _build_rater_link(key: str, project: int, query: str) -> SafeString:
    page = reverse("rater", args=[project, key])
    return format_html('<a href="{}?{}">{}</a>', page, query, key)


SentenceBuilder = Callable[[dict[str, Any], list[str], dict[int, str]], str]


def _describe_prevalence_paradox(
    values: dict[str, Any], labels: list[str], _names: dict[int, str]
) -> str:
    return _(
        "Raters agree in %(observed)s of all comparisons, but %(share)s of the ratings are "
        "“%(label)s”, so much of "
        "that agreement is expected by chance: kappa is %(kappa)s, AC1 is %(ac1)s. Read both."
    ) % {
        "observed": format_percent(values["percent_agreement"]),
        "share": format_percent(values["share"]),
        "label": labels[values["category"]],
        "kappa": format_number(values["fleiss_kappa"]),
        "ac1": format_number(values["gwet_ac1"]),
    }


def _describe_unequal_numbers(
    values: dict[str, Any], _labels: list[str], _names: dict[int, str]
) -> str:
    return _(
        "Items have %(fewest)s to %(most)s ratings, and it matters how often each category is "
        "used, from which chance is reckoned: Fleiss’ kappa is %(pooled)s when all ratings count "
        "alike in that and %(by_item)s when all items do. Harder items may have got more ratings."
    ) % {
        "fewest": format_count(values["fewest_ratings"]),
        "most": format_count(values["most_ratings"]),
        "pooled": format_number(values["fleiss_kappa"], 3),
        "by_item": format_number(values["fleiss_kappa_gwet"], 3),
    }


def _describe_single_ratings(
    values: dict[str, Any], _labels: list[str], _names: dict[int, str]
) -> str:
    n = values["single_items"]
    return ngettext(
        "%(n)s item has one rating: it tells how often a category is used, and so what chance "
        "gives, but nothing of agreement. Fleiss’ kappa is %(pooled)s with it and %(paired)s "
        "without; alpha leaves it out.",
        "%(n)s items have one rating: they tell how often a category is used, and so what chance "
        "gives, but nothing of agreement. Fleiss’ kappa is %(pooled)s with them and %(paired)s "
        "without; alpha leaves them out.",
        n,
    ) % {
        "n": format_count(n),
        "pooled": format_number(values["fleiss_kappa"]),
        "paired": format_number(values["fleiss_kappa_paired"]),
    }


def _describe_little_overlap(
    values: dict[str, Any], _labels: list[str], _names: dict[int, str]
) -> str:
    return _(
        "Only %(shared)s of %(rated)s rated items have two or more ratings: everything about "
        "agreement rests on these."
    ) % {
        "shared": format_count(values["shared_items"]),
        "rated": format_count(values["rated_items"]),
    }


def _describe_confused_categories(
    values: dict[str, Any], labels: list[str], _names: dict[int, str]
) -> str:
    return _(
        "%(share)s of all disagreement is between “%(one)s” and “%(other)s”: the guidelines should "
        "draw the line "
        "between them more clearly."
    ) % {
        "share": format_percent(values["share"]),
        "one": labels[values["category_a"]],
        "other": labels[values["category_b"]],
    }


def _describe_rater_bias(values: dict[str, Any], labels: list[str], names: dict[int, str]) -> str:
    a, b = names.get(values["rater_a"], "?"), names.get(values["rater_b"], "?")
    more, less = (a, b) if values["difference"] > 0 else (b, a)
    return _(
        "%(differing)s of %(tested)s pairs of raters use the categories unequally often. Clearest: "
        "%(more)s says "
        "“%(label)s” more often than %(less)s, by %(difference)s of the items both rated."
    ) % {
        "differing": format_count(values["differing_pairs"]),
        "tested": format_count(values["tested_pairs"]),
        "more": more,
        "less": less,
        "label": labels[values["category"]],
        "difference": format_percent(abs(values["difference"])),
    }


def _describe_consistency_only(
    values: dict[str, Any], _labels: list[str], _names: dict[int, str]
) -> str:
    return _(
        "Raters put items in nearly the same order (mean correlation %(r)s) but on different "
        "levels (mean quadratic "
        "kappa %(kappa)s): they are consistent without agreeing."
    ) % {
        "r": format_number(values["mean_pearson"]),
        "kappa": format_number(values["mean_quadratic_kappa"]),
    }


def _describe_few_items(values: dict[str, Any], _labels: list[str], _names: dict[int, str]) -> str:
    shared = values["shared_items"]
    return ngettext(
        "It rests on %(n)s item with two or more ratings: with fewer than 30 it may be far off.",
        "It rests on %(n)s items with two or more ratings: with fewer than 30 it may be far off.",
        shared,
    ) % {"n": format_count(shared)}


def _describe_weightings(values: dict[str, Any], _labels: list[str], _names: dict[int, str]) -> str:
    low, high = (bands.find_band(values[end], values["scheme"]) for end in ("low", "high"))
    params = {
        # Findings stored by older releases have no name: it was always Fleiss' kappa.
        "name": display_names.get_coefficient_name(values.get("coefficient", FLEISS)),
        "lowest": display_names.WEIGHTING_NAMES[values["lowest"]],
        "low": format_number(values["low"]),
        "highest": display_names.WEIGHTING_NAMES[values["highest"]],
        "high": format_number(values["high"]),
        "low_word": display_names.get_band_name(low),
        "high_word": display_names.get_band_name(high),
    }
    if low is high:
        template = _(
            "The conclusion does not depend on the weights: %(name)s is %(low)s to "
            "%(high)s under any of them, always “%(low_word)s”."
        )
    else:
        template = _(
            "The conclusion depends on the weights: %(name)s is %(low)s (“%(low_word)s”) with "
            "weights “%(lowest)s” and %(high)s (“%(high_word)s”) with weights “%(highest)s”."
        )
    return template % params


def _describe_fleiss_and_pairs(
    values: dict[str, Any], _labels: list[str], _names: dict[int, str]
) -> str:
    params = {"fleiss": format_number(values["fleiss"]), "pairs": format_number(values["pairs"])}
    if values["pairs"] > values["fleiss"]:
        template = _(
            "Fleiss’ kappa (%(fleiss)s) is below the mean over pairs (%(pairs)s): some raters "
            "are stricter than others. Fleiss’ speaks of any raters, the mean of these raters with "
            "their habits."
        )
    else:
        template = _(
            "Fleiss’ kappa (%(fleiss)s) is above the mean over pairs (%(pairs)s): pairs that "
            "share many items agree less, or rated harder ones. Fleiss’ speaks of any raters, the "
            "mean of these pairs."
        )
    return template % params


def _describe_consistency_without_agreement(
    values: dict[str, Any], _labels: list[str], _names: dict[int, str]
) -> str:
    return _(
        "Raters are consistent but apart: ICC(C,1) is %(consistency)s, ICC(A,1) %(agreement)s, and "
        "their means differ by up to %(apart)s. Where only the order counts, read the former."
    ) % {
        "consistency": format_number(values["consistency"]),
        "agreement": format_number(values["agreement"]),
        "apart": format_number(values["level_difference"], 1),
    }


_SENTENCES: dict[str, SentenceBuilder] = {
    "few_items": _describe_few_items,
    "weightings": _describe_weightings,
    "fleiss_and_pairs": _describe_fleiss_and_pairs,
    "consistent_apart": _describe_consistency_without_agreement,
    "prevalence_paradox": _describe_prevalence_paradox,
    "single_ratings": _describe_single_ratings,
    "unequal_numbers": _describe_unequal_numbers,
    "little_overlap": _describe_little_overlap,
    "confused_categories": _describe_confused_categories,
    "rater_bias": _describe_rater_bias,
    "consistency_only": _describe_consistency_only,
}
