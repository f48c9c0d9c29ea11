"""Agreement before and after each change of the guidelines.

The day of a change is left out, so that no day has ratings under two versions. Workers compute the
agreement under each version as a filtered result.
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
from django.views.decorators.http import require_safe

from metrics.agreement.comparison.before_after import compute_difference_interval
from metrics.filters import RatingFilter
from metrics.results import rater_periods
from metrics.views.common import live_updates
from metrics.views.common.selection import Selection, get_permitted_selection
from metrics.views.common.sources.filtered import FilteredProjectSource
from projects.models import GuidelineVersion

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
    def direction(self) -> str:
        """Return "rose", "fell", or "unclear" where the change may be chance."""
        if self.low > 0:
            return "rose"
        return "fell" if self.high < 0 else "unclear"


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
