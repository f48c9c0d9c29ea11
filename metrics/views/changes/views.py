"""The page that explains a change between two periods; a worker computes the explanation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.web import tables
from metrics.attribution import get_or_request_attribution
from metrics.views.common import display_names, live_updates
from metrics.views.common.live_updates import Freshness
from metrics.views.common.number_formats import (
    format_count,
    format_interval,
    format_number,
    format_signed,
)
from metrics.views.common.selection import get_permitted_selection
from metrics.views.common.trends import period_comparison
from metrics.views.common.trends.period_comparison import LAST_TWO, PeriodComparison

from . import contributions
from .contributions import ChangeExplanation, Contribution


def _get_change_template(change: float, *, is_clear: bool) -> str:
    if not is_clear or abs(change) < 0.005:
        return _("Agreement was %(before)s in %(from)s and %(after)s in %(to)s.")
    if change < 0:
        return _("Agreement fell from %(before)s (%(from)s) to %(after)s (%(to)s).")
    return _("Agreement rose from %(before)s (%(from)s) to %(after)s (%(to)s).")


def build_sentences(comparison: PeriodComparison, explanation: ChangeExplanation) -> list[str]:
    """Return sentences on the change, whether it may be chance, and its main causes.

    If agreement is undefined in either period, a sentence says why.
    """
    before = explanation.result["before"]
    after = explanation.result["after"]
    move = explanation.result["change"]
    names = {
        "from": comparison.before.label if comparison.before else "",
        "to": comparison.after.label if comparison.after else "",
    }
    if move is None:
        undefined = "from" if before["value"] is None else "to"
        side = before if undefined == "from" else after
        name = names[undefined]
        why = display_names.get_undefined_reason(side["reason"])
        return [_("Agreement in %(period)s is undefined: %(why)s.") % {"period": name, "why": why}]
    numbers = {
        name: f"{format_number(estimate['value'])} {format_interval(estimate)}".strip()
        for name, estimate in (("before", before), ("after", after))
    }
    lines = [_get_change_template(move, is_clear=explanation.is_clear) % (numbers | names)]
    if explanation.is_clear:
        parts = _list_main_contributions(explanation, move)
        parts += _list_opposing_raters(explanation, move)
        lines += [_describe_contribution(part) for part in parts]
    else:
        lines.append(_describe_no_clear_change(comparison))
    return lines + [_describe_shift(shift) for shift in explanation.shifts[:1]]


def _describe_no_clear_change(comparison: PeriodComparison) -> str:
    """Return the sentence that the change may be chance, or that no recent change is clear."""
    if comparison.default_kind != LAST_TWO or comparison.n_changes < 2:
        return _("May be chance.")
    template = _("None of the last %(n)s changes is clear.")
    return template % {"n": format_count(comparison.n_changes)}


def _describe_shift(shift: Mapping[str, Any]) -> str:
    params = {
        "a": str(shift["a"]),
        "b": str(shift["b"]),
        "before": format_signed(shift["bias"][0]),
        "after": format_signed(shift["bias"][1]),
    }
    return (
        _("The mean difference of %(a)s and %(b)s changed from %(before)s to %(after)s.") % params
    )


def _list_main_contributions(explanation: ChangeExplanation, move: float) -> list[Contribution]:
    """Return the largest distinct contribution of each kind in the direction of the change.

    Kinds: raters, categories, and each item attribute. ``move``: the signed change.
    """
    strongest = []
    for parts in (
        explanation.raters,
        explanation.categories,
        *(parts for _name, parts in explanation.attributes),
    ):
        shares = [(part.values["contribution"] / move, part) for part in parts if part.is_distinct]
        share, part = max(shares, key=lambda pair: pair[0], default=(0.0, None))
        if part is not None and share > 0:
            strongest.append(part)
    return strongest


def _list_opposing_raters(explanation: ChangeExplanation, move: float) -> list[Contribution]:
    """Return at most one rater: that with the largest distinct contribution against the change."""
    shares = [
        (part.values["contribution"] / move, part)
        for part in explanation.raters
        if part.is_distinct
    ]
    return [part for share, part in sorted(shares, key=lambda pair: pair[0])[:1] if share < 0]


def _describe_contribution(part: Contribution) -> str:
    """Return the sentence on how agreement would have changed without this part of the ratings."""
    if part.rater:
        name = part.name
    elif part.of_items:
        name = _("items with %(kind)s “%(name)s”") % {"kind": part.kind, "name": part.name}
    else:
        name = _("the ratings “%(name)s”") % {"name": part.name}
    return _("Without %(name)s: %(before)s to %(after)s.") % {
        "name": name,
        "before": format_number(part.values["before"]),
        "after": format_number(part.values["after"]),
    }


@login_required
@require_safe
def show_change(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show two weeks or months, and how much each rater, category and kind of item explains."""
    selection = get_permitted_selection(request, project_id)
    comparison = period_comparison.PeriodComparison.from_request(request, selection)
    if live_updates.is_live_request(request):
        # Read only: a new request would restart the computation whenever ratings arrive.
        attribution = period_comparison.find_attribution(comparison, selection)
        return live_updates.build_pending_response(
            pending=attribution is None or attribution.pending
        )
    attribution = None
    if comparison.attribution_fields:
        attribution = get_or_request_attribution(
            selection.question, weights=selection.weights, **comparison.attribution_fields
        )
    explanation = contributions.build_explanation(attribution) if attribution else None
    is_clear = explanation is not None and explanation.is_clear
    n_bars = min(len(explanation.bars), contributions.MAX_BARS) if explanation else 0
    context = {
        "project": selection.project,
        "selection": selection,
        "fresh": Freshness.for_question(selection.question),
        "change": comparison,
        "row": attribution,
        "found": explanation,
        "bars": n_bars,
        "bars_size": contributions.get_height(n_bars)[0],
        "sentences": build_sentences(comparison, explanation) if explanation else [],
        "clear": is_clear,
        "pale": None if is_clear else 1,
        "folds": explanation is not None
        and bool(explanation.negligible_raters)
        and not tables.is_exporting(),
        "ordered": selection.ordered,
        "keep": {"weights": selection.weights},
    }
    return render(
        request, "metrics/changes/change.html", context, status=400 if comparison.error else 200
    )
