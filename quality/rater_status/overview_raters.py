"""Raters and actions of the overview of a question, by the statuses of the raters."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.text import get_list_separator
from metrics.views.common.number_formats import (
    describe_expected_count,
    format_count,
    format_expected_count,
)
from metrics.views.common.selection import Selection
from metrics.views.dashboard.overview_context import (
    FilteredAgreements,
    OverviewRater,
    OverviewRaters,
)
from metrics.views.dashboard.recommendation import ActionKind, NextAction
from projects.models import Question
from quality.alerts.kinds import KINDS
from quality.inbox import entry_counts
from quality.inbox.entry_counts import get_open_alerts, get_uncertain_labels
from quality.models import Alert, AlertState, Consensus

from .rater_list import RaterFilter, RaterList, RaterListEntry
from .reasons import RaterStatus
from .status_texts import describe_note, get_reason_text, get_status_label

MAX_NAMED_RATERS = 3  # in an action
ITEMS_PER_SITTING = 40


def select_overview_raters(
    selection: Selection, max_lines: int, filtered: FilteredAgreements | None
) -> OverviewRaters:
    """Return the raters by status, worst first, and the suggested actions on raters and items.

    ``max_lines``: raters to list at most. Statuses are based on all ratings, also with a filter
    (``filtered``): it only leaves out raters without any selected rating.
    """
    rater_list = RaterList(selection.question)
    raters = rater_list.select(RaterFilter())
    if filtered is not None:
        raters = [rater for rater in raters if rater.pk in filtered]
    to_check = [rater for rater in raters if rater.needs_action]
    return OverviewRaters(
        [_build_line(rater, filtered) for rater in raters[:max_lines]],
        len(raters),
        len(to_check),
        [
            *_suggest_raters(selection, to_check, n_raters=len(raters)),
            *_suggest_items(selection, raters),
            *_suggest_newest_question_alert(selection.question),
        ],
        pending=filtered is None and rater_list.comparison.computed_at is None and bool(raters),
    )


def list_report_notes(question: Question) -> list[str]:
    """Return one sentence with the present numbers of raters to check and open alerts.

    Empty if there are none.
    """
    n_alerts = get_open_alerts().filter(question=question).count()
    n_raters = sum(rater.needs_action for rater in RaterList(question).raters)
    counts = {entry_counts.RATERS: n_raters, entry_counts.ALERTS: n_alerts}
    texts = [entry_counts.describe_number(kind, n) for kind, n in counts.items() if n]
    return [_("Now: %(what)s.") % {"what": get_list_separator().join(texts)}] if texts else []


def _build_line(rater: RaterListEntry, filtered: FilteredAgreements | None) -> OverviewRater:
    result = rater.result
    agreement: Mapping[str, object] | None = None
    if filtered is not None:
        agreement = filtered[rater.pk]
    elif result:
        agreement = {"value": result.value, "low": result.low, "high": result.high}
    return OverviewRater(
        rater.key,
        rater.name or rater.key,
        get_status_label(rater.status, rater.note),
        rater.status in (RaterStatus.ACT, RaterStatus.CHECK),
        rater.status == RaterStatus.ACT,
        "paused" in rater.flags,
        agreement,
        describe_note(rater.note, rater.pk),
    )


def _suggest_raters(
    selection: Selection, to_check: list[RaterListEntry], *, n_raters: int
) -> list[NextAction]:
    """Return at most one action: to check the only rater to check, or the list of several.

    Its reason is the first reason of the first of them. If there are more than MAX_NAMED_RATERS
    raters and all are to be checked, none is named.
    """
    if not to_check:
        return []
    worst = to_check[0]
    names = get_list_separator().join(
        rater.name or rater.key for rater in to_check[:MAX_NAMED_RATERS]
    )
    n_more = len(to_check) - MAX_NAMED_RATERS
    if n_more > 0:
        names = ngettext("%(raters)s and %(n)s more", "%(raters)s and %(n)s more", n_more) % {
            "raters": names,
            "n": format_count(n_more),
        }
    reason = get_reason_text(worst.reasons[0], worst.pk)
    if len(to_check) > 1:
        reason = _("%(what)s: %(value)s") % {"what": worst.name or worst.key, "value": reason}
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


def _suggest_items(selection: Selection, raters: list[RaterListEntry]) -> list[NextAction]:
    """Return the action to review the most uncertain items, at most ITEMS_PER_SITTING.

    It states their expected errors and the time they take: a decision is assumed to take as long as
    a rating by the median rater. Empty for users who may not review.
    """
    if not selection.project.can_review:
        return []
    labels = get_uncertain_labels().filter(question=selection.question).order_by("-doubt")
    rows = list(labels.values_list("doubt", flat=True)[: ITEMS_PER_SITTING + 1])
    if not rows:
        return []
    consensus = Consensus.objects.filter(question=selection.question).first()
    n_items = min(len(rows), ITEMS_PER_SITTING)
    label = ngettext("Review %(n)s uncertain item", "Review %(n)s uncertain items", n_items)
    n_errors = describe_expected_count(sum(rows[:n_items]))
    reason = _("%(n)s expected label errors") % {"n": n_errors}
    if n_items < len(rows):
        label = _("Review the %(n)s most uncertain items")
        if consensus is not None and consensus.expected_errors is not None:
            # Of all labels, as on their page.
            reason = _("%(n)s of the %(all)s expected label errors") % {
                "n": n_errors,
                "all": format_expected_count(consensus.expected_errors),
            }
    if consensus is not None and consensus.assumes_independence:
        reason = _("%(text)s, assuming independent errors") % {"text": reason}
    seconds = [rater.result.seconds for rater in raters if rater.result and rater.result.seconds]
    if seconds:
        minutes = math.ceil(n_items * statistics.median(seconds) / 60)
        reason = f"{_('about %(n)s min') % {'n': format_count(minutes)}} · {reason}"
    query = urlencode({"question": selection.question.key})
    url = f"{reverse('review', args=[selection.project.pk])}?{query}"
    label %= {"n": format_count(n_items)}
    return [NextAction(ActionKind.ITEMS, label, reason, url)]


def _suggest_newest_question_alert(question: Question) -> list[NextAction]:
    """Return the action on the newest open alert that is not about a rater; [] without one."""
    alerts = Alert.objects.filter(question=question, state=AlertState.OPEN, rater=None)
    alert = alerts.select_related("question").defer("chart").order_by_newest().first()
    if alert is None:
        return []
    url = reverse("alert", args=[question.project_id, alert.pk])
    return [
        NextAction(ActionKind.ALERTS, _("Resolve alert"), KINDS[alert.kind].sentence(alert), url)
    ]
