"""Verdict of a dashboard: sentences on the headline, and the next action.

Every noun links to its part of the page. Read from stored results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.agreement.explain import bands
from metrics.views.common import display_names, number_formats
from metrics.views.common.confused_categories import build_items_url
from metrics.views.common.selection import Selection
from metrics.views.common.sources.base import ProjectSource
from projects.models import Member, Question

MAX_NAMED_RATERS = 3  # in the sentence
REVIEW_ROLES = (Member.Role.LEAD, Member.Role.ADJUDICATOR)
# Functions that return (button text, URL) of what a lead should do first about a question, or None.
# Packages above register theirs at startup.
PRIORITY_ACTIONS: list[Callable[[Question], tuple[str, str] | None]] = []


@dataclass(frozen=True)
class DashboardVerdict:
    """Sentences as HTML, and the text and URL of the button."""

    sentences: list[SafeString]
    action: str | Promise
    url: str


def build_verdict(
    selection: Selection, source: ProjectSource, name: str, headline: dict[str, Any] | None
) -> DashboardVerdict | None:
    """Return the summary of the headline, or None while it has no value."""
    if not headline or headline.get("value") is None:
        return None
    agreement = _describe_doubt(selection, source, name, headline) or _describe_agreement(
        selection, name, headline
    )
    issues = _describe_confusion(selection, source) + _describe_outliers(selection, source)
    if agreement is None:
        sentences, action = [_describe_too_early(headline)], _choose_planning_action(selection)
    else:
        sentences, action = (
            [agreement, *issues],
            _choose_next_action(
                selection,
                headline,
                has_issues=bool(issues),
                is_band_withheld=source.is_band_withheld,
            ),
        )
    return DashboardVerdict(sentences, *(_find_priority_action(selection) or action))


def _describe_agreement(
    selection: Selection, name: str, headline: dict[str, Any]
) -> SafeString | None:
    """Return the sentence on agreement, or None when it is too early to say."""
    number = _render_estimate_link(headline)
    scheme = selection.project.band_scheme
    if name == "percent_agreement":
        return format_html(_("Percent agreement is {number}."), number=number)
    if is_inconclusive(selection, headline):
        return None
    band = bands.find_band(headline["value"], scheme)
    band_name = format_html("<strong>{}</strong>", display_names.get_band_name(band))
    band_link = _render_link(f"{reverse('glossary')}#bands", band_name)
    return format_html(_("Agreement is {word}: {number}."), word=band_link, number=number)


def _describe_doubt(
    selection: Selection, source: ProjectSource, name: str, headline: Mapping[str, Any]
) -> SafeString | None:
    """Return a sentence on why no band is named, or None where one can be named."""
    if name == "percent_agreement" or is_inconclusive(selection, headline):
        return None
    number = _render_estimate_link(headline)
    figures = {finding["name"]: finding["figures"] for finding in source.get_findings()}
    if (values := figures.get("definitions_apart")) is not None:
        template = _(
            "Agreement depends on the definition: Fleiss’ kappa is {by_rating} with chance by "
            "rating and {by_item} with chance by item, alpha is {alpha}; shown is {number}."
        )
        by_rating, by_item, alpha = (
            number_formats.format_number(values[key])
            for key in ("fleiss_kappa", "fleiss_kappa_gwet", "krippendorff_alpha_nominal")
        )
        return format_html(
            template, by_rating=by_rating, by_item=by_item, alpha=alpha, number=number
        )
    if (values := figures.get("rare_category")) is not None:
        template = ngettext(
            "Too early to say: {number} is based on {n} item with another answer than the most "
            "frequent one.",
            "Too early to say: {number} is based on {n} items with another answer than the most "
            "frequent one.",
            values["rare_items"],
        )
        return format_html(
            template, number=number, n=number_formats.format_count(values["rare_items"])
        )
    return None


def is_inconclusive(selection: Selection, headline: Mapping[str, Any]) -> bool:
    """Return True if the interval is too wide, or the items too few, for a verdict."""
    scheme = selection.project.band_scheme
    low, high = headline.get("low"), headline.get("high")
    return bands.is_inconclusive(headline["n_items"], low, high, scheme)


def _render_estimate_link(headline: Mapping[str, Any]) -> SafeString:
    number = number_formats.format_number(headline["value"])
    interval = number_formats.format_interval(headline)
    return _render_link("#headline", f"{number} {interval}".strip())


def _describe_too_early(headline: dict[str, Any]) -> SafeString:
    number = _render_estimate_link(headline)
    if headline["n_items"] == 1:
        return format_html(
            _("Too early to say: {number} of one item tells nothing of others."), number=number
        )
    if bands.has_zero_width(headline.get("low"), headline.get("high")):
        # An interval without width would claim certainty.
        value_link = _render_link("#headline", number_formats.format_number(headline["value"]))
        template = _("Too early to say: {number} rests on {n} items alone.")
        return format_html(
            template, number=value_link, n=number_formats.format_count(headline["n_items"])
        )
    template = ngettext(
        "Too early to say: {number} of {n} item is a wide interval.",
        "Too early to say: {number} of {n} items is a wide interval.",
        headline["n_items"],
    )
    return format_html(template, number=number, n=number_formats.format_count(headline["n_items"]))


def _describe_confusion(selection: Selection, source: ProjectSource) -> list[SafeString]:
    for finding in source.get_findings():
        if finding["name"] == "confused_categories":
            values, labels = finding["figures"], selection.scale.labels
            a, b = labels[values["category_a"]], labels[values["category_b"]]
            template = _("Most confused: {pair} ({share} of the disagreement).")
            share = number_formats.format_percent(values["share"])
            link = _render_link(
                build_items_url(selection.project.pk, selection.question.key, a, b), f"{a} / {b}"
            )
            return [format_html(template, pair=link, share=share)]
    return []


def _describe_outliers(selection: Selection, source: ProjectSource) -> list[SafeString]:
    keys = source.outlier_keys
    if not keys:
        return []
    links = format_html_join(
        ", ",
        "{}",
        ((_render_link(_build_rater_url(selection, key), key),) for key in keys[:MAX_NAMED_RATERS]),
    )
    if (
        len(keys) > MAX_NAMED_RATERS
    ):  # no number: of many outliers, most are only slightly below average
        list_url = "#raters" if selection.filter else _build_question_url("raters", selection)
        links = format_html("{} ({})", links, _render_link(list_url, _("all raters")))
    return [format_html(_("To look at first: {raters}."), raters=links)]


def _find_priority_action(selection: Selection) -> tuple[str, str] | None:
    project: Any = selection.project
    if project.role != Member.Role.LEAD or selection.filter:
        return None
    return next(
        (action for find_action in PRIORITY_ACTIONS if (action := find_action(selection.question))),
        None,
    )


def _choose_next_action(
    selection: Selection,
    headline: Mapping[str, Any],
    *,
    has_issues: bool,
    is_band_withheld: bool,
) -> tuple[str, str]:
    project: Any = selection.project
    scheme_bands = bands.get_bands(project.band_scheme)
    if (
        not has_issues
        and not is_band_withheld
        and bands.find_band(headline["value"], project.band_scheme) is scheme_bands[-1]
    ):
        return _("Get the labels"), _build_question_url("labels", selection)
    if project.role in REVIEW_ROLES:
        return _("Decide items in doubt"), _build_question_url("review", selection)
    return _("Look at disputed items"), "#disputes"


def _choose_planning_action(selection: Selection) -> tuple[str, str]:
    project: Any = selection.project
    if project.role == Member.Role.LEAD:
        return _("How many more items?"), _build_question_url("plan", selection)
    return _("Look at the numbers"), "#headline"


def _build_rater_url(selection: Selection, key: str) -> str:
    return f"{reverse('rater', args=[selection.project.pk, key])}?{selection.query}"


def _build_question_url(name: str, selection: Selection) -> str:
    query = urlencode({"question": selection.question.key})
    return f"{reverse(name, args=[selection.project.pk])}?{query}"


def _render_link(url: str, text: str) -> SafeString:
    return format_html('<a href="{}">{}</a>', url, text)
