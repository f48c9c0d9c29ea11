"""The strip over a dashboard: one sentence, one number, one thing to do next; each noun leads to
what it names. All of it is read off what is stored."""

from __future__ import annotations

from collections.abc import Callable
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
from metrics.views.common.confused_categories import said_both
from metrics.views.common.selection import Selection
from metrics.views.common.sources.base import ProjectNumbers
from projects.models import Member, Question

NAMED = 3  # raters in the sentence
DECIDE = (Member.Role.LEAD, Member.Role.ADJUDICATOR)
# What whoever leads a project does before anything else about a question: the words of the button,
# and where it leads. A higher room adds its own when the site starts.
FIRST: list[Callable[[Question], tuple[str, str] | None]] = []


@dataclass(frozen=True)
class Verdict:
    """What the strip says, as HTML; and where its button leads."""

    sentences: list[SafeString]
    action: str | Promise
    url: str


def verdict(
    chosen: Selection, numbers: ProjectNumbers, name: str, headline: dict[str, Any] | None
) -> Verdict | None:
    """Of the coefficient that is read first; None while it has no value."""
    if not headline or headline.get("value") is None:
        return None
    step = _step(chosen, name, headline)
    found = _confused(chosen, numbers) + _apart(chosen, numbers)
    if step is None:
        sentences, then = [_too_early(headline)], _plan(chosen)
    else:
        sentences, then = [step, *found], _next(chosen, headline, bool(found))
    return Verdict(sentences, *(_first(chosen) or then))


def _step(chosen: Selection, name: str, headline: dict[str, Any]) -> SafeString | None:
    """How far raters agree; None where that is too early to say."""
    number = _number(headline)
    scheme = chosen.project.band_scheme
    if name == "percent_agreement":
        return format_html(_("Percent agreement is {number}."), number=number)
    if bands.too_early(headline["n_items"], headline.get("low"), headline.get("high"), scheme):
        return None
    found = bands.band_of(headline["value"], scheme)
    told = format_html("<strong>{}</strong>", display_names.band(found))
    word = _link(f"{reverse('all_words')}#bands", told)
    return format_html(_("Agreement is {word}: {number}."), word=word, number=number)


def _number(headline: dict[str, Any]) -> SafeString:
    said = f"{number_formats.figure(headline['value'])} {number_formats.interval(headline)}"
    return _link("#headline", said.strip())


def _too_early(headline: dict[str, Any]) -> SafeString:
    number = _number(headline)
    if headline["n_items"] == 1:
        return format_html(
            _("Too early to say: {number} of one item tells nothing of others."), number=number
        )
    if bands.without_width(headline.get("low"), headline.get("high")):
        # An interval without a width would claim to be sure.
        alone = _link("#headline", number_formats.figure(headline["value"]))
        said = _("Too early to say: {number} rests on {n} items alone.")
        return format_html(said, number=alone, n=number_formats.whole(headline["n_items"]))
    said = ngettext(
        "Too early to say: {number} of {n} item is a wide interval.",
        "Too early to say: {number} of {n} items is a wide interval.",
        headline["n_items"],
    )
    return format_html(said, number=number, n=number_formats.whole(headline["n_items"]))


def _confused(chosen: Selection, numbers: ProjectNumbers) -> list[SafeString]:
    for one in numbers.found():
        if one["name"] == "confused_categories":
            told, labels = one["figures"], chosen.scale.labels
            a, b = labels[told["category_a"]], labels[told["category_b"]]
            said = _("Most confused: {pair} ({share} of the disagreement).")
            share = number_formats.percent(told["share"])
            link = _link(said_both(chosen.project.pk, chosen.question.key, a, b), f"{a} / {b}")
            return [format_html(said, pair=link, share=share)]
    return []


def _apart(chosen: Selection, numbers: ProjectNumbers) -> list[SafeString]:
    keys = numbers.apart
    if not keys:
        return []
    links = format_html_join(
        ", ", "{}", ((_link(_rater(chosen, key), key),) for key in keys[:NAMED])
    )
    if len(keys) > NAMED:  # of many, most are a little below the middle: their number says nothing
        every = "#raters" if chosen.filter else _address("raters", chosen)
        links = format_html("{} ({})", links, _link(every, _("all raters")))
    return [format_html(_("To look at first: {raters}."), raters=links)]


def _first(chosen: Selection) -> tuple[str, str] | None:
    project: Any = chosen.project
    if project.role != Member.Role.LEAD or chosen.filter:
        return None
    return next((step for find in FIRST if (step := find(chosen.question))), None)


def _next(chosen: Selection, headline: dict[str, Any], found: bool) -> tuple[str, str]:
    project: Any = chosen.project
    order = bands.bands(project.band_scheme)
    if not found and bands.band_of(headline["value"], project.band_scheme) is order[-1]:
        return _("Get the labels"), _address("labels", chosen)
    if project.role in DECIDE:
        return _("Decide items in doubt"), _address("adjudicate", chosen)
    return _("Look at disputed items"), "#disputes"


def _plan(chosen: Selection) -> tuple[str, str]:
    project: Any = chosen.project
    if project.role == Member.Role.LEAD:
        return _("How many more items?"), _address("plan", chosen)
    return _("Look at the numbers"), "#headline"


def _rater(chosen: Selection, key: str) -> str:
    return f"{reverse('rater', args=[chosen.project.pk, key])}?{chosen.query}"


def _address(name: str, chosen: Selection) -> str:
    query = urlencode({"question": chosen.question.key})
    return f"{reverse(name, args=[chosen.project.pk])}?{query}"


def _link(url: str, said: str) -> SafeString:
    return format_html('<a href="{}">{}</a>', url, said)
