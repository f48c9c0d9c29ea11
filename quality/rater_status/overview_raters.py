"""Raters and actions of the overview of a question, by the statuses of the raters."""

from __future__ import annotations

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.views.common.number_formats import format_count, format_expected_count
from metrics.views.common.selection import Selection
from metrics.views.dashboard.overview_context import OverviewRaters, RaterLine
from metrics.views.dashboard.recommendation import (
    MAX_NAMED_RATERS,
    ActionKind,
    NextAction,
)
from projects.models import Question
from projects.permissions import Capability, may
from quality.alerts.kinds import KINDS
from quality.inbox.selectors import get_uncertain_labels
from quality.models import Alert, AlertState

from .rater_list import RaterFilter, RaterList, RaterListEntry
from .status import RaterStatus
from .texts import STATUS_LABELS, get_reason_text

MAX_COUNTED_ITEMS = 1_000  # uncertain items are counted up to this number


def select_overview_raters(selection: Selection, max_lines: int) -> OverviewRaters:
    """Return the raters by status, worst first, and the actions that they and the items need."""
    raters = RaterList(selection.question).select(RaterFilter())
    to_check = [
        rater
        for rater in raters
        if rater.status in (RaterStatus.ACT, RaterStatus.CHECK) and "paused" not in rater.flags
    ]
    return OverviewRaters(
        [_build_line(rater) for rater in raters[:max_lines]],
        len(raters),
        len(to_check),
        [
            *_suggest_raters(selection, to_check, n_raters=len(raters)),
            *_suggest_items(selection),
            *_suggest_newest_question_alert(selection.question),
        ],
    )


def _build_line(rater: RaterListEntry) -> RaterLine:
    result = rater.result
    return RaterLine(
        rater.key,
        rater.name or rater.key,
        STATUS_LABELS[rater.status],
        rater.status in (RaterStatus.ACT, RaterStatus.CHECK),
        {"value": result.value, "low": result.low, "high": result.high} if result else None,
    )


def _suggest_raters(
    selection: Selection, to_check: list[RaterListEntry], *, n_raters: int
) -> list[NextAction]:
    """Return one action: the page of the only rater to check, or the list of several.

    The reason is the first one of the first rater. If all of more than MAX_NAMED_RATERS raters are
    to be checked, none is named.
    """
    if not to_check:
        return []
    worst = to_check[0]
    names = ", ".join(rater.name or rater.key for rater in to_check[:MAX_NAMED_RATERS])
    n_more = len(to_check) - MAX_NAMED_RATERS
    if n_more > 0:
        names = ngettext("%(raters)s and %(n)s more", "%(raters)s and %(n)s more", n_more) % {
            "raters": names,
            "n": format_count(n_more),
        }
    reason = get_reason_text(worst.reasons[0], worst.pk)
    if len(to_check) > 1:
        reason = f"{worst.name or worst.key}: {reason}"
    project_id, query = selection.project.pk, urlencode({"question": selection.question.key})
    page = (
        reverse("rater", args=[project_id, worst.key])
        if len(to_check) == 1
        else reverse("raters", args=[project_id])
    )
    label = _("Check %(raters)s") % {"raters": names}
    if len(to_check) == n_raters > MAX_NAMED_RATERS:
        label = _("Check all %(n)s raters") % {"n": format_count(n_raters)}
    return [NextAction(ActionKind.RATERS, label, reason, f"{page}?{query}")]


def _suggest_items(selection: Selection) -> list[NextAction]:
    if not may(getattr(selection.project, "role", None), Capability.REVIEW):
        return []
    labels = get_uncertain_labels().filter(question=selection.question).order_by("-doubt")
    doubts = list(labels.values_list("doubt", flat=True)[:MAX_COUNTED_ITEMS])
    if not doubts:
        return []
    n_items, more = len(doubts), "+" if len(doubts) == MAX_COUNTED_ITEMS else ""
    label = ngettext("Review %(n)s uncertain item", "Review %(n)s uncertain items", n_items) % {
        "n": f"{format_count(n_items)}{more}"
    }
    reason = _("expected errors: %(n)s") % {"n": f"{format_expected_count(sum(doubts))}{more}"}
    query = urlencode({"question": selection.question.key})
    url = f"{reverse('review', args=[selection.project.pk])}?{query}"
    return [NextAction(ActionKind.ITEMS, label, reason, url)]


def _suggest_newest_question_alert(question: Question) -> list[NextAction]:
    """Return the action on the newest open alert that is about no rater."""
    alerts = Alert.objects.filter(question=question, state=AlertState.OPEN, rater=None)
    alert = alerts.select_related("question").defer("chart").order_by_newest().first()
    if alert is None:
        return []
    url = reverse("alert", args=[question.project_id, alert.pk])
    return [
        NextAction(ActionKind.ALERTS, _("Resolve alert"), KINDS[alert.kind].sentence(alert), url)
    ]
