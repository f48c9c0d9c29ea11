"""Insights: sentences on stored findings in the reader's language, with links to the items.

Other findings are the outlier raters, who agree less with the others than they do with each other,
and the pairs of categories that raters confuse most.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.text import get_list_separator, get_sentence_separator
from core.web.links import render_link
from metrics.agreement.explain import bands
from metrics.models import Diagnosis
from metrics.question_scale import QuestionScale
from metrics.results.findings import (
    WITHOUT_INSIGHT,
    Confusions,
    Findings,
    get_outlying_raters,
)
from metrics.results.pair_results import MAX_HEATMAP_RATERS
from projects.models import Question, Rater

from . import display_names
from .headline_texts import describe_single_ratings
from .number_formats import format_count, format_number, format_percent


@dataclass(frozen=True)
class CategoryConfusion:
    """Two categories, their share of all disagreement, and the URL of the items concerned.

    ``n_comparisons``: number of differing comparisons, of which ``share`` is a part; 0 if unknown.
    """

    a: str
    b: str
    share: float
    url: str
    n_comparisons: int = 0


def build_confusions(question: Question, stored: Confusions) -> list[CategoryConfusion]:
    """Return the stored confusions with labels, without those of categories removed since."""
    labels = QuestionScale.for_question(question).labels
    confusions = []
    for index, other_index, share in stored:
        if other_index < len(labels):
            a, b = labels[index], labels[other_index]
            url = build_items_url(question.project_id, question.key, a, b)
            confusions.append(CategoryConfusion(a, b, share, url))
    return confusions


def build_items_url(project_id: int, question: str, a: str, b: str) -> str:
    """Return the URL of the items that were rated with both categories, the most disputed first."""
    parameters = {"answer": a, "other_answer": b, "sort": "disagreement"}
    query = urlencode({"question": question, **parameters})
    return f"{reverse('items', args=[project_id])}?{query}"


WEIGHTINGS = "weightings"  # a finding in the words of a band scheme
# Lowest and highest value under any weights: closer values hardly differ, whatever their bands, and
# values further apart do.
MIN_WEIGHTS_GAP = 0.1


def has_enough_data(estimate: Mapping[str, Any] | None, scheme: str) -> bool:
    """Return whether an estimate is precise enough to name its band; False for None.

    ``scheme``: the band scheme.
    """
    if not estimate:
        return False
    n_items, low, high = (estimate.get(name) for name in ("n_items", "low", "high"))
    return not bands.is_inconclusive(n_items, low, high, scheme)


def build_sentences(
    findings: Findings,
    raters: list[Rater],
    scale: QuestionScale,
    *,
    scheme: str,
    can_name_bands: bool,
) -> list[str]:
    """Return the insights on stored findings, with band names of this scheme.

    Findings on outlying raters and recent changes have sentences elsewhere. ``can_name_bands``:
    whether the page names the band of the value.
    """
    rater_names = {rater.pk: str(rater) for rater in raters}
    sentences = []
    for finding in findings:
        if finding["name"] in WITHOUT_INSIGHT:
            continue
        if finding["name"] == WEIGHTINGS and not can_name_bands:
            continue
        named = NamedFinding(finding["figures"], scale.labels, rater_names, scheme)
        sentences.append(_SENTENCES[finding["name"]](named))
    return sentences


def get_stored_findings(questions: Iterable[int]) -> dict[int, Findings]:
    """Return {question id: its stored findings} of questions that have any results; one query."""
    rows = Diagnosis.objects.filter(question__in=list(questions))
    return dict(rows.values_list("question_id", "findings"))


def get_outlier_raters_by_question(findings: Mapping[int, Findings]) -> dict[int, list[Rater]]:
    """Return {question id: outlier raters}, those with the greatest impact first; one query.

    An outlier agrees less with the others than they do with each other, on the same items and under
    the weights of the headline (metrics.agreement.explain.outlying_raters).
    """
    ids_by_question = {
        question: list(get_outlying_raters(stored)) for question, stored in findings.items()
    }
    return {
        question: raters
        for question, raters in zip(
            ids_by_question, _list_raters(ids_by_question.values()), strict=True
        )
        if raters
    }


def list_raters(ids: list[int]) -> list[Rater]:
    """Return the raters with these ids, with key and name, in the same order.

    Raters that were deleted since are left out.
    """
    return _list_raters([ids])[0]


def _list_raters(id_lists: Collection[list[int]]) -> list[list[Rater]]:
    """Return the raters of each list, without those deleted since."""
    ids = {rater_id for rater_ids in id_lists for rater_id in rater_ids}
    rows = Rater.objects.filter(pk__in=ids).only("key", "name") if ids else ()
    raters = {rater.pk: rater for rater in rows}
    return [[raters[pk] for pk in rater_ids if pk in raters] for rater_ids in id_lists]


def build_outlier_sentences(raters: list[Rater], project: int, query: str) -> list[SafeString]:
    """Return at most one sentence about outlier raters.

    Each name links to the rater's page, with the query string ``query``.
    """
    names = format_html_join(
        get_list_separator(),
        "{}",
        ((_build_rater_link(rater, project, query),) for rater in raters[:3]),
    )
    if len(raters) > 3:
        page, question = reverse("raters", args=[project]), query.partition("&")[0]
        n_more = len(raters) - 3
        more = render_link(page, format_count(n_more), query=f"{question}&show=low_agreement")
        and_more = ngettext("%(raters)s and %(n)s more", "%(raters)s and %(n)s more", n_more)
        names = format_html(and_more % {"raters": "{names}", "n": "{n}"}, names=names, n=more)
    template = ngettext(
        "{names} agrees less than the others.",
        "{names} agree less than the others.",
        len(raters),
    )
    return [format_html(template, names=names)] if raters else []


def _build_rater_link(rater: Rater, project: int, query: str) -> SafeString:
    page = reverse("rater", args=[project, rater.key])
    return render_link(page, str(rater), query=query)


@dataclass(frozen=True)
class NamedFinding:
    """The figures of a stored finding, and the names that its sentence needs."""

    figures: Mapping[str, Any]
    labels: list[str]  # of the categories
    rater_names: dict[int, str]  # by id
    scheme: str  # of the bands


def _describe_prevalence_paradox(finding: NamedFinding) -> str:
    return _(
        "%(observed)s of %(n)s comparisons agree, but %(share)s of ratings are “%(label)s”: "
        "kappa %(kappa)s, AC1 %(ac1)s."
    ) % {
        "n": format_count(finding.figures["comparisons"]),
        "observed": format_percent(finding.figures["percent_agreement"]),
        "share": format_percent(finding.figures["share"]),
        "label": finding.labels[finding.figures["category"]],
        "kappa": format_number(finding.figures["fleiss_kappa"]),
        "ac1": format_number(finding.figures["gwet_ac1"]),
    }


def _describe_unequal_numbers(finding: NamedFinding) -> str:
    return _(
        "Items with %(fewest)s to %(most)s ratings: Fleiss’ kappa is %(pooled)s with chance "
        "by rating, %(by_item)s by item."
    ) % {
        "fewest": format_count(finding.figures["fewest_ratings"]),
        "most": format_count(finding.figures["most_ratings"]),
        "pooled": format_number(finding.figures["fleiss_kappa"], 3),
        "by_item": format_number(finding.figures["fleiss_kappa_gwet"], 3),
    }


def _describe_single_ratings(finding: NamedFinding) -> str:
    n = finding.figures["single_items"]
    values = ngettext(
        "Fleiss’ kappa is %(pooled)s with it, %(paired)s without.",
        "Fleiss’ kappa is %(pooled)s with them, %(paired)s without.",
        n,
    ) % {
        "pooled": format_number(finding.figures["fleiss_kappa"]),
        "paired": format_number(finding.figures["fleiss_kappa_paired"]),
    }
    return get_sentence_separator().join((describe_single_ratings(n), values))


def _describe_little_overlap(finding: NamedFinding) -> str:
    return _("Only %(shared)s of %(rated)s rated items have two or more ratings.") % {
        "shared": format_count(finding.figures["shared_items"]),
        "rated": format_count(finding.figures["rated_items"]),
    }


def _describe_confused_categories(finding: NamedFinding) -> str:
    return _(
        "%(share)s of disagreement (%(n)s comparisons) is between “%(one)s” and "
        "“%(other)s”; category frequencies alone would give %(expected)s."
    ) % {
        "share": format_percent(finding.figures["share"]),
        "expected": format_percent(finding.figures["expected_share"]),
        "n": format_count(finding.figures["differing_pairs"]),
        "one": finding.labels[finding.figures["category_a"]],
        "other": finding.labels[finding.figures["category_b"]],
    }


def _describe_rater_bias(finding: NamedFinding) -> str:
    a, b = (finding.rater_names.get(finding.figures[name], "?") for name in ("rater_a", "rater_b"))
    more, less = (a, b) if finding.figures["difference"] > 0 else (b, a)
    text = _(
        "%(differing)s of %(tested)s rater pairs use categories at different rates. Clearest: "
        "%(more)s chooses “%(label)s” %(points)s points more often than %(less)s on %(n)s "
        "shared items."
    ) % {
        "n": format_count(finding.figures["shared_items"]),
        "differing": format_count(finding.figures["differing_pairs"]),
        "tested": format_count(finding.figures["tested_pairs"]),
        "more": more,
        "less": less,
        "label": finding.labels[finding.figures["category"]],
        "points": format_number(100 * abs(finding.figures["difference"]), 0),
    }
    if len(finding.rater_names) < MAX_HEATMAP_RATERS:
        return text
    return f"{text} " + _("Only the %(n)s most active raters.") % {"n": MAX_HEATMAP_RATERS}


def _describe_consistency_only(finding: NamedFinding) -> str:
    return _(
        "Raters order items alike (mean correlation %(r)s) but differ in level or spread "
        "(quadratic kappa %(kappa)s)."
    ) % {
        "r": format_number(finding.figures["mean_pearson"]),
        "kappa": format_number(finding.figures["mean_quadratic_kappa"]),
    }


def describe_few_items(n_items: int) -> str:
    """Return the sentence that too few items were compared for a conclusion."""
    return ngettext(
        "Only %(n)s item has two or more ratings.",
        "Only %(n)s items have two or more ratings.",
        n_items,
    ) % {"n": format_count(n_items)}


def _describe_weightings(finding: NamedFinding) -> str:
    low, high = (bands.find_band(finding.figures[end], finding.scheme) for end in ("low", "high"))
    params = {
        "name": display_names.get_coefficient_name(finding.figures["coefficient"]),
        "lowest": display_names.WEIGHTING_SUFFIXES[finding.figures["lowest"]],
        "low": format_number(finding.figures["low"]),
        "highest": display_names.WEIGHTING_SUFFIXES[finding.figures["highest"]],
        "high": format_number(finding.figures["high"]),
        "low_word": display_names.get_band_name(low),
        "high_word": display_names.get_band_name(high),
    }
    gap = finding.figures["high"] - finding.figures["low"]
    if gap >= MIN_WEIGHTS_GAP and low is not high:
        template = _(
            "Weights matter: %(name)s is %(low)s (“%(low_word)s”) with %(lowest)s, "
            "%(high)s (“%(high_word)s”) with %(highest)s."
        )
    elif gap < MIN_WEIGHTS_GAP and low is high:
        template = _(
            "Weights hardly matter: %(name)s is %(low)s to %(high)s, always “%(low_word)s”."
        )
    else:  # near a limit of two bands, or far apart in one
        template = _("%(name)s is %(low)s with %(lowest)s, %(high)s with %(highest)s.")
    return template % params


def _describe_fleiss_and_pairs(finding: NamedFinding) -> str:
    return _(
        "Fleiss’ kappa is %(fleiss)s, the mean over pairs (weighted by shared items) %(pairs)s."
    ) % {name: format_number(finding.figures[name]) for name in ("fleiss", "pairs")}


def _describe_consistency_without_agreement(finding: NamedFinding) -> str:
    return _(
        "Raters are consistent but on different levels: ICC(C,1) is %(consistency)s, ICC(A,1) "
        "%(agreement)s; means differ by up to %(apart)s."
    ) % {
        "consistency": format_number(finding.figures["consistency"]),
        "agreement": format_number(finding.figures["agreement"]),
        "apart": format_number(finding.figures["level_difference"], 1),
    }


def describe_definitions(figures: Mapping[str, Any]) -> str:
    """Return a sentence on how far three definitions of agreement beyond chance differ."""
    return _(
        "Unweighted Fleiss’ kappa depends on how chance is counted: %(by_rating)s by rating, "
        "%(by_item)s by item; alpha is %(alpha)s."
    ) % {
        "by_rating": format_number(figures["fleiss_kappa"]),
        "by_item": format_number(figures["fleiss_kappa_gwet"]),
        "alpha": format_number(figures["krippendorff_alpha_nominal"]),
    }


def describe_rare_category(figures: Mapping[str, Any], labels: list[str]) -> str:
    """Return the sentence on how few items have an answer other than the most frequent one."""
    n = figures["rare_items"]
    return ngettext(
        "Only %(n)s of %(shared)s items has an answer other than “%(label)s”.",
        "Only %(n)s of %(shared)s items have an answer other than “%(label)s”.",
        n,
    ) % {
        "n": format_count(n),
        "shared": format_count(figures["shared_items"]),
        "label": labels[figures["category"]],
    }


_SENTENCES: dict[str, Callable[[NamedFinding], str]] = {
    "definitions_apart": lambda finding: describe_definitions(finding.figures),
    "rare_category": lambda finding: describe_rare_category(finding.figures, finding.labels),
    "few_items": lambda finding: describe_few_items(finding.figures["shared_items"]),
    WEIGHTINGS: _describe_weightings,
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
