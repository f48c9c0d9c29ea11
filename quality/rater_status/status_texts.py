"""Texts of rater statuses and of the reasons why a question could not be scanned.

The texts of alerts are in quality.alerts.kind_texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from core.text import get_sentence_separator
from metrics.results.findings import RaterDifference
from metrics.views.common.display_names import get_undefined_reason
from metrics.views.common.number_formats import (
    format_count,
    format_number,
    format_percent,
    format_signed,
)
from quality.alerts.kinds import get_brief_text
from quality.alerts.text_parts import format_day
from quality.models import CHECKED_DAYS, AlertCause, AlertKind, AlertState
from quality.rater_status import comparison
from quality.rater_status.comparison import MIN_ITEMS
from quality.rater_status.reasons import (
    NoteCode,
    RaterStatus,
    ReasonCode,
    ResolvedAlert,
    StatusNote,
    StatusReason,
    is_confirmed_problem,
)
from quality.rater_status.status import RaterSummary


def describe_agreement(
    comparison: comparison.RaterComparison,
    rater: int,
    *,
    is_outlier: bool,
    agrees_less: bool = False,
) -> str:
    """Return a sentence on the rater's agreement with the others; empty without enough items.

    ``is_outlier``: an unresolved alert says that the rater agrees clearly less than the others;
    ``agrees_less``: low agreement is a reason for the status.
    """
    result = comparison.raters.get(rater)
    if result is None or not result.has_enough_items:
        return ""
    if comparison.middle is None:
        template = _("Agreement: %(value)s. A comparison needs three raters.")
    elif is_outlier:
        template = _("Agrees far less than the others: %(value)s (median %(middle)s).")
    elif agrees_less or rater in comparison.outlying:
        # The median is of all items: on easy ones, a rater may be below the others and above it.
        template = _("Agrees less than the others: %(value)s.")
    else:
        template = _("Agreement %(value)s; team median %(middle)s.")
    return template % {
        "value": format_number(result.value),
        "middle": format_number(comparison.middle),
    }


def describe_note(note: StatusNote | None, rater_id: int) -> str:
    """Return the sentence of a note about a rater; "" for None."""
    if note is None:
        return ""
    if note.resolved_alert is not None:
        return _describe_confirmed_alert(note.resolved_alert, rater_id)
    if note.code == NoteCode.PEERS_EXPLAIN_BIAS:
        level = {"level": format_signed(note.value)}
        return _("Explained by who rated the same items; adjusted bias: %(level)s.") % level
    sentences = [_("Below the expected range.")]
    if note.difference is not None:
        sentences += _list_difference_sentences(note.difference)
    return get_sentence_separator().join(sentences)


def _list_difference_sentences(difference: RaterDifference) -> list[str]:
    """Return sentences on a difference from the others that is no finding.

    The interval is that of this rater alone, so it may exclude 0 without a finding.
    """
    level, low, high = map(format_signed, (difference.value, difference.low, difference.high))
    text = _("On the same items, kappa differs from the others’ by %(level)s [%(low)s, %(high)s].")
    sentences = [text % {"level": level, "low": low, "high": high}]
    if difference.high is not None and difference.high < 0:
        sentences.append(_("Not enough to flag."))
    return sentences


def _describe_confirmed_alert(resolved_alert: ResolvedAlert, rater_id: int) -> str:
    """Return the sentence on an alert that a lead has confirmed."""
    alert, resolved_at = resolved_alert
    zone = ZoneInfo(alert.question.project.time_zone)
    return _("Alert confirmed on %(day)s: %(text)s.") % {
        "day": format_day(resolved_at.astimezone(zone).date()),
        "text": get_brief_text(alert, rater_id),
    }


def describe_bias(result: comparison.ComparedRater, labels: Sequence[str]) -> str:
    """Return sentences on a rater who rates higher or lower than the others.

    ``result``: of a rater whose bias is not None. ``labels``: the active categories in declared
    order.
    """
    assert result.bias is not None
    limits = [result.bias_low, result.bias_high]
    if result.bias < 0:
        limits = [None if limit is None else -limit for limit in reversed(limits)]
    low, high = map(format_number, limits)
    template = _("Rates %(size)s [%(low)s, %(high)s] higher than the others.")
    if result.bias < 0:
        template = _("Rates %(size)s [%(low)s, %(high)s] lower than the others.")
    sentence = template % {"size": format_number(abs(result.bias)), "low": low, "high": high}
    category, share, share_of_others = result.contrast
    if category >= len(labels):
        return sentence
    return _(
        "%(sentence)s Chooses “%(label)s” in %(share)s of comparisons on these %(n)s items, "
        "the others in %(others)s."
    ) % {
        "sentence": sentence,
        "n": format_count(result.n_items),
        "label": labels[category],
        "share": format_percent(share),
        "others": format_percent(share_of_others),
    }


STATUS_LABELS: dict[str, Promise] = {
    RaterStatus.OK: gettext_lazy("OK"),
    RaterStatus.CHECK: pgettext_lazy("status of a rater", "Check"),
    RaterStatus.ACT: gettext_lazy("Needs action"),
    RaterStatus.UNKNOWN: gettext_lazy("Not enough data"),
}
# Texts of the reasons that no alert states.
REASON_TEXTS: dict[str, Promise] = {
    ReasonCode.GOLD: gettext_lazy("below the pass mark on gold answers"),
    ReasonCode.DRIFT: gettext_lazy("may be drifting (too little evidence for an alert)"),
    ReasonCode.SAME_ANSWER: gettext_lazy("almost always answers “%(category)s”"),
    ReasonCode.REVERSED: gettext_lazy("answers the scale upside down"),
    ReasonCode.EXAM: gettext_lazy("Exam not passed"),
    ReasonCode.SELF: gettext_lazy("repeats own answers less often than the others"),
    ReasonCode.LOW_AGREEMENT: gettext_lazy("agrees less than the others"),
    ReasonCode.NOT_ENOUGH: gettext_lazy("fewer than 30 shared items"),
}
BIAS_REASONS = (ReasonCode.HARSH, ReasonCode.LENIENT, ReasonCode.HIGHER, ReasonCode.LOWER)
# Kinds of alerts that are named to readers without access to alerts.
NAMED_ALERT_KINDS = (
    AlertKind.RATER_DISAGREES,
    AlertKind.NEWCOMER_BELOW,
    AlertKind.RATER_COPIES,
    AlertKind.RATER_SAME_ANSWER,
    AlertKind.RATER_TOO_FAST,
)
# Reason -> why a question could not be scanned.
NOT_SCANNED_TEXTS: dict[str, Promise] = {
    "too_many_comparisons": gettext_lazy("Too many ratings for drift detection."),
    "single_category": gettext_lazy("Drift detection needs two categories."),
}


def get_status_label(status: RaterStatus, note: StatusNote | None) -> str:
    """Return the label of a status; a confirmed problem is not called OK."""
    label = AlertCause.REAL.label if is_confirmed_problem(status, note) else STATUS_LABELS[status]
    return str(label)


def describe_checked_raters(n: int) -> str:
    """Return the message after ``n`` raters were marked as checked."""
    text = ngettext(
        "%(n)s rater is hidden from the inbox for %(days)s days.",
        "%(n)s raters are hidden from the inbox for %(days)s days.",
        n,
    )
    return text % {"n": format_count(n), "days": CHECKED_DAYS}


def get_reason_text(reason: StatusReason, rater_id: int) -> str:
    """Return the text of a reason for the status of a rater."""
    if reason.alert is not None:
        return get_brief_text(reason.alert, rater_id)
    if reason.code in BIAS_REASONS:
        return _describe_bias_reason(reason)
    if reason.code == ReasonCode.NOT_ENOUGH and (reason.n or 0) >= MIN_ITEMS:
        return str(get_undefined_reason("single_category"))
    text = str(REASON_TEXTS[reason.code])
    if reason.code == ReasonCode.SAME_ANSWER:
        text %= {"category": reason.category}
    return text


def _describe_bias_reason(reason: StatusReason) -> str:
    """Return the text on how much higher or lower the rater rates than the others, item by item."""
    assert reason.value is not None
    template = (
        _("rates %(size)s higher than the others")
        if reason.value > 0
        else _("rates %(size)s lower than the others")
    )
    return template % {"size": format_number(abs(reason.value))}


def list_reason_texts(summary: RaterSummary) -> list[str]:
    """Return the texts of all reasons, without details of alerts that the reader may not see."""
    supported_kinds = [alert.kind for alert in summary.alerts if alert.supported]
    return [
        *list_other_reason_texts(summary),
        *([_("has an open alert")] if _has_open_alert(summary) else []),
        *(str(kind.label) for kind in NAMED_ALERT_KINDS if kind in supported_kinds),
    ]


def list_other_reason_texts(summary: RaterSummary) -> list[str]:
    """Return the texts of the reasons that the summary's alerts do not state themselves."""
    reason_texts = [
        get_reason_text(reason, summary.rater.pk)
        for reason in summary.reasons
        if reason.alert is None
    ]
    if summary.alerts and not _has_open_alert(summary):
        reason_texts.insert(0, _("has a muted alert"))
    return reason_texts


def _has_open_alert(summary: RaterSummary) -> bool:
    return any(alert.state != AlertState.MUTED for alert in summary.alerts)
