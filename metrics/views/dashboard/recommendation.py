"""Recommendation on the overview: a caveat of the headline, and what to do next.

It is based on stored results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.agreement.explain import bands
from metrics.results.stored_values import Value
from metrics.views.common import insights, number_formats
from metrics.views.common.insights import build_items_url
from metrics.views.common.selection import Selection
from metrics.views.common.sources.base import ProjectSource

MAX_ACTIONS = 3


class ActionKind(IntEnum):
    """Kinds of actions, in the order in which they are shown."""

    SETUP = 0
    RATERS = 1  # before the others: their ratings are in all numbers and labels
    CATEGORIES = 2
    ITEMS = 3
    ALERTS = 4
    LABELS = 5


@dataclass(frozen=True)
class NextAction:
    """An action on a question: its label (verb and object), reason, and the URL of its page."""

    kind: ActionKind
    label: str
    reason: str
    url: str


@dataclass(frozen=True)
class Recommendation:
    """A caveat of the headline (or ""), and the next actions, most important first."""

    caveat: str
    actions: list[NextAction]


def build_recommendation(
    selection: Selection,
    source: ProjectSource,
    name: str,
    headline: Value | None,
    *,
    actions: Sequence[NextAction],
    pending: bool = False,
) -> Recommendation | None:
    """Return the recommendation, or None before any item has two ratings.

    ``actions``: those of higher packages, to which those from the stored results are added;
    ``pending``: more of them may follow.
    """
    if not headline or headline.get("reason") == "no_pairable_items":
        return None
    all_actions = list(actions)
    if headline.get("value") is None:  # the page says why
        return Recommendation("", sorted(all_actions, key=_get_action_rank)[:MAX_ACTIONS])
    if name != "percent_agreement" and is_inconclusive(selection, headline):
        caveat = _describe_too_early(headline)
        all_actions += _suggest_planning(selection, headline)
    else:
        caveat = _describe_doubt(source, name, selection.scale.labels)
        all_actions += _suggest_categories(selection, source)
    if not all_actions and not caveat:
        all_actions += _suggest_discussion(selection, name, headline)
    if not all_actions and not caveat and not pending:
        all_actions.append(_suggest_labels(selection))
    return Recommendation(caveat, sorted(all_actions, key=_get_action_rank)[:MAX_ACTIONS])


def _get_action_rank(action: NextAction) -> int:
    return action.kind


def _describe_doubt(source: ProjectSource, name: str, labels: list[str]) -> str:
    """Return the sentence on why the value has no band; empty if the findings forbid none.

    ``name``: of the coefficient; ``labels``: of the categories.
    """
    if name == "percent_agreement":
        return ""
    figures = {finding["name"]: finding["figures"] for finding in source.diagnosis.findings}
    if (values := figures.get("definitions_apart")) is not None:
        return insights.describe_definitions(values)
    if (values := figures.get("rare_category")) is not None:
        return insights.describe_rare_category(values, labels)
    return ""


def is_inconclusive(selection: Selection, headline: Value) -> bool:
    """Return whether the interval is too wide, or the items too few, to name a band."""
    scheme = selection.project.band_scheme
    low, high = headline["low"], headline["high"]
    return bands.is_inconclusive(headline["n_items"] or 0, low, high, scheme)


def _describe_too_early(headline: Value) -> str:
    n_items = headline["n_items"] or 0
    # One item has no interval, and an interval without width would claim certainty.
    if n_items == 1 or bands.has_zero_width(headline["low"], headline["high"]):
        return insights.describe_few_items(n_items)
    return ngettext(
        "With only %(n)s item, the interval is wide.",
        "With only %(n)s items, the interval is wide.",
        n_items,
    ) % {"n": number_formats.format_count(n_items)}


def _suggest_categories(selection: Selection, source: ProjectSource) -> list[NextAction]:
    """Return the action on the two categories confused most, in a list; empty without any."""
    for finding in source.diagnosis.findings:
        values, labels = finding["figures"], selection.scale.labels
        if finding["name"] == "confused_categories" and "differing_pairs" in values:
            a, b = labels[values["category_a"]], labels[values["category_b"]]
            params = {
                "share": number_formats.format_percent(values["share"]),
                "n": number_formats.format_count(values["differing_pairs"]),
            }
            return [
                NextAction(
                    ActionKind.CATEGORIES,
                    _("Clarify %(a)s vs. %(b)s") % {"a": a, "b": b},
                    _("%(share)s of %(n)s disagreements") % params,
                    build_items_url(selection.project.pk, selection.question.key, a, b),
                )
            ]
    return []


def _suggest_planning(selection: Selection, headline: Value) -> list[NextAction]:
    if not selection.project.can_manage:
        return []
    n_items = headline["n_items"] or 0
    reason = ngettext(
        "%(n)s item is too few to judge", "%(n)s items are too few to judge", n_items
    ) % {"n": number_formats.format_count(n_items)}  # fmt: skip
    url = _build_question_url("plan", selection)
    return [NextAction(ActionKind.SETUP, _("Plan more items"), reason, url)]


def _suggest_discussion(selection: Selection, name: str, headline: Value) -> list[NextAction]:
    """Return an action on the disputed items, in a list; empty unless agreement is low.

    It is low if its interval lies below the target, or the value in a low band.
    """
    target, value, high = (
        selection.project.target_agreement, headline["value"], headline["high"],
    )  # fmt: skip
    is_low = (
        value is not None
        and name != "percent_agreement"
        and bands.is_low(value, selection.project.band_scheme)
    )
    if target is not None and high is not None and high < target:
        reason = _("agreement is below the target")
    elif is_low:
        reason = _("low agreement beyond chance")
    else:
        return []
    url = f"{_build_question_url('items', selection)}&sort=disagreement"
    return [NextAction(ActionKind.ITEMS, _("Discuss disputed items"), reason, url)]


def _suggest_labels(selection: Selection) -> NextAction:
    url = _build_question_url("labels", selection)
    return NextAction(ActionKind.LABELS, _("Export labels"), _("No open tasks."), url)


def _build_question_url(name: str, selection: Selection) -> str:
    query = urlencode({"question": selection.question.key})
    return f"{reverse(name, args=[selection.project.pk])}?{query}"
