"""Pages that explain changes: between two periods, and after each change of the guidelines.

Workers compute the explanation of two periods, and the agreement under each version as a filtered
result. The day of a new version is left out, so that no day has ratings under two versions.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.web import tables
from metrics.agreement.comparison.before_after import compute_difference_interval
from metrics.change_attribution import get_or_request_attribution
from metrics.filters import RatingFilter
from metrics.results import rater_periods
from metrics.views.common import display_names, live_updates
from metrics.views.common.live_updates import Freshness
from metrics.views.common.number_formats import (
    format_count,
    format_interval,
    format_number,
    format_signed,
)
from metrics.views.common.selection import Selection, get_permitted_selection
from metrics.views.common.sources.filtered import FilteredProjectSource
from metrics.views.common.trends import period_comparison
from metrics.views.common.trends.period_comparison import LAST_TWO, PeriodComparison
from projects.models import GuidelineVersion

from . import contributions
from .contributions import ChangeExplanation, Contribution


def build_sentences(comparison: PeriodComparison, explanation: ChangeExplanation) -> list[str]:
    """Return sentences on the change, whether it may be chance, and its main causes.

    If agreement is undefined in either period, the only sentence says why.
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
    template = _("Agreement went from %(before)s (%(from)s) to %(after)s (%(to)s).")
    lines = [template % (numbers | names)]
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
        return _("This may be chance.")
    template = _("None of the last %(n)s changes is beyond chance.")
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
    """Return the sentence on how agreement would have changed without a part of the ratings."""
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
        "bars_size": contributions.get_chart_height(n_bars)[0],
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


MAX_VERSIONS = 6  # the latest versions; each needs a filtered result of its own


@dataclass(frozen=True)
class VersionAgreement:
    """The headline coefficient of the ratings under one version of the guidelines.

    ``version``: None for the ratings before the first version. ``from_date``, ``to_date``: first
    and last whole day of the version; None for no first day before the first version, and for no
    last day of the version in force. ``name``, ``estimate``: None without ratings to compare,
    without a whole day, and while ``is_pending``.
    """

    version: GuidelineVersion | None
    from_date: datetime.date | None
    to_date: datetime.date | None
    name: str | None
    estimate: Mapping[str, Any] | None
    is_pending: bool


@dataclass(frozen=True)
class GuidelineEffect:
    """The change of agreement from one version of the guidelines to the next.

    ``low``, ``high``: interval of the change (Zou & Donner 2008), with 95 % coverage of all changes
    on the page together.
    """

    before: VersionAgreement
    after: VersionAgreement
    change: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Return whether chance alone does not explain the change."""
        return self.low > 0 or self.high < 0


@login_required
@require_safe
def show_guideline_effect(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show agreement under each of the latest versions of the guidelines, and its changes."""
    selection = get_permitted_selection(request, project_id)
    agreements = list_version_agreements(selection)
    is_pending = any(agreement.is_pending for agreement in agreements)
    if live_updates.is_live_request(request):
        return live_updates.build_pending_response(pending=is_pending)
    context = {
        "project": selection.project,
        "selection": selection,
        "agreements": agreements[::-1],
        "effects": list_effects(agreements)[::-1],
        "is_pending": is_pending,
        "max_versions": MAX_VERSIONS,
    }
    return render(request, "metrics/changes/guideline_effect.html", context)


def list_version_agreements(selection: Selection) -> list[VersionAgreement]:
    """Return the agreement under the latest MAX_VERSIONS versions, oldest first.

    Missing results are requested. Before these comes the agreement before the first version, if all
    versions are listed and there are such ratings.
    """
    versions = list(selection.project.guideline_versions.order_by("number"))
    zone = ZoneInfo(selection.project.time_zone)
    days = [version.created_at.astimezone(zone).date() for version in versions]
    one_day = datetime.timedelta(days=1)
    agreements = []
    if 0 < len(days) <= MAX_VERSIONS and rater_periods.has_ratings_before(
        selection.question.pk, days[0]
    ):
        agreements.append(_get_agreement(selection, None, None, days[0] - one_day))
    for index in range(max(len(versions) - MAX_VERSIONS, 0), len(versions)):
        from_date = days[index] + one_day
        to_date = days[index + 1] - one_day if index + 1 < len(versions) else None
        agreements.append(_get_agreement(selection, versions[index], from_date, to_date))
    return agreements


def _get_agreement(
    selection: Selection,
    version: GuidelineVersion | None,
    from_date: datetime.date | None,
    to_date: datetime.date | None,
) -> VersionAgreement:
    today = timezone.now().astimezone(ZoneInfo(selection.project.time_zone)).date()
    if from_date and from_date > (to_date or today):
        return VersionAgreement(version, None, None, None, None, is_pending=False)
    period = RatingFilter(from_date=from_date, to_date=to_date)
    source = FilteredProjectSource(selection.select_ratings(period))
    if source.agreement is None:
        return VersionAgreement(version, from_date, to_date, None, None, is_pending=True)
    headline = source.agreement.headline
    estimate = headline.get("value")
    has_value = estimate is not None and estimate["value"] is not None
    return VersionAgreement(
        version,
        from_date,
        to_date,
        headline.get("name"),
        estimate if has_value else None,
        is_pending=False,
    )


def list_effects(agreements: list[VersionAgreement]) -> list[GuidelineEffect]:
    """Return the changes between neighbouring versions that have a value, oldest first.

    Pairs whose values are of different coefficients are left out.
    """
    with_value = [row for row in agreements if row.version and row.estimate is not None]
    changes = [
        (before, after) for before, after in pairwise(with_value) if before.name == after.name
    ]
    effects = []
    for before, after in changes:
        old, new = before.estimate, after.estimate
        if old is None or new is None:
            continue
        limits = compute_difference_interval(old, new, n_differences=len(changes))
        if limits is not None:
            effects.append(GuidelineEffect(before, after, new["value"] - old["value"], *limits))
    return effects
