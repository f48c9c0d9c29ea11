"""Status of a rater, and the reasons for it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from metrics.results.findings import RaterDifference
from quality.models import (
    Alert,
    AlertCause,
    AlertKind,
    AlertState,
    DriftState,
    GoldResult,
    GoldScore,
    RepeatScore,
)

from .comparison import MIN_ITEMS, ComparedRater, RaterComparison


class RaterStatus(StrEnum):
    """Status of a rater in a question."""

    OK = "ok"
    CHECK = "check"
    ACT = "act"
    UNKNOWN = "unknown"


# Worst first: the order of the raters to check.
STATUS_ORDER = (RaterStatus.ACT, RaterStatus.CHECK, RaterStatus.OK, RaterStatus.UNKNOWN)
# Statuses that a reason may imply, the most severe first.
SEVERITY = (RaterStatus.ACT, RaterStatus.CHECK, RaterStatus.UNKNOWN)


class ReasonCode(StrEnum):
    """Reason for a status; docs/statistics.md defines each."""

    DRIFT = "drift"
    REVERSED = "reversed"
    HARSH = "harsh"
    LENIENT = "lenient"
    HIGHER = "higher"
    LOWER = "lower"
    LOW_AGREEMENT = "low_agreement"
    NEWCOMER = "newcomer"
    SAME_ANSWER = "same_answer"
    TOO_FAST = "too_fast"
    COPIES = "copies"
    GOLD = "gold"
    SELF = "self"
    EXAM = "exam"
    NOT_ENOUGH = "not_enough"


@dataclass(frozen=True)
class StatusReason:
    """A reason for a status, and the status that it implies.

    ``value``, ``low``, ``high``: the size of the alert or drift, or the accuracy on gold, with its
    95% interval; ``n``: number of items on which it is based. ``alert``: the alert that states it,
    if any. ``category``: label of a repeated answer.
    """

    code: ReasonCode
    status: RaterStatus
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    alert: Alert | None = None
    category: str = ""


class ResolvedAlert(NamedTuple):
    """An alert that a lead has confirmed or dismissed, and that ratings still support."""

    alert: Alert
    resolved_at: datetime.datetime

    @property
    def is_confirmed(self) -> bool:
        return self.alert.cause == AlertCause.REAL


class RaterAlerts(NamedTuple):
    """Alerts about a rater: unresolved ones, and resolved ones that ratings still support."""

    unresolved: list[Alert]
    resolved: list[ResolvedAlert]


NO_ALERTS = RaterAlerts([], [])


class NoteCode(StrEnum):
    """Subject of a note about a rater."""

    CONFIRMED = "confirmed"
    PEERS_EXPLAIN_BIAS = "peers_explain_bias"
    NOT_OUTLYING = "not_outlying"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class StatusNote:
    """A sentence beside the status: a confirmed alert, or why a rater who seems to differ is OK.

    ``value``: the own level; ``difference``: that from the others on the same items;
    ``resolved_alert``: the confirmed one.
    """

    code: NoteCode
    value: float | None = None
    difference: RaterDifference | None = None
    resolved_alert: ResolvedAlert | None = None


class FailedExam(NamedTuple):
    """Numbers of all and of right answers in an exam that was not passed."""

    n_answers: int
    n_right: int


# Kind of alert about a rater -> the reason that it gives.
REASON_OF_ALERT = {
    AlertKind.RATER_DRIFT: ReasonCode.DRIFT,
    AlertKind.PAIR_DIVERGED: ReasonCode.DRIFT,
    AlertKind.RATER_DISAGREES: ReasonCode.LOW_AGREEMENT,
    AlertKind.NEWCOMER_BELOW: ReasonCode.NEWCOMER,
    AlertKind.RATER_COPIES: ReasonCode.COPIES,
    AlertKind.RATER_SAME_ANSWER: ReasonCode.SAME_ANSWER,
    AlertKind.RATER_TOO_FAST: ReasonCode.TOO_FAST,
}


def get_alert_reason(alert: Alert) -> ReasonCode:
    """Return the reason that an alert about a rater gives for their status."""
    return REASON_OF_ALERT[AlertKind(alert.kind)]


def list_reasons(
    rater_id: int,
    comparison: RaterComparison,
    peers: Mapping[str, Any],
    *,
    drift: DriftState | None,
    gold: GoldScore | None,
    repeats: RepeatScore | None,
    failed_exam: FailedExam | None,
    alerts: RaterAlerts,
) -> list[StatusReason]:
    """Return the reasons for a rater's status, the most severe ones first.

    ``peers``: kappa with the others; ``gold``: score annotated with its result; ``repeats``: score,
    only of an inconsistent rater; ``drift``: used if it is watched.
    """
    result = comparison.raters.get(rater_id)
    findings = [
        _build_gold_reason(gold),
        *map(_build_alert_reason, alerts.unresolved),
        _build_drift_reason(drift),
    ]
    repeats_answer = _repeats_answer(rater_id, comparison, findings)
    reasons = [
        _build_reversed_reason(result, findings),
        _build_same_answer_reason(rater_id, comparison, findings, alerts)
        if repeats_answer
        else None,
        *findings,
        *([] if repeats_answer else _list_level_reasons(rater_id, comparison, alerts)),
        _build_repeat_reason(repeats),
        _build_exam_reason(failed_exam),
        _build_few_items_reason(peers),
    ]
    return sorted(filter(None, reasons), key=lambda reason: SEVERITY.index(reason.status))


def is_confirmed_problem(status: RaterStatus, note: StatusNote | None) -> bool:
    """Return whether nothing is left to do about a rater, but a lead has confirmed an alert."""
    return status == RaterStatus.OK and note is not None and note.code == NoteCode.CONFIRMED


def get_status(reasons: Sequence[StatusReason]) -> RaterStatus:
    """Return the most severe status among the reasons; OK without any."""
    implied = {reason.status for reason in reasons}
    return next((status for status in SEVERITY if status in implied), RaterStatus.OK)


def find_note(
    rater_id: int,
    comparison: RaterComparison,
    reasons: Sequence[StatusReason],
    alerts: RaterAlerts,
) -> StatusNote | None:
    """Return the note about a rater, or None.

    It is on the latest confirmed alert, unless an unresolved alert states the same. Of a rater
    without a reason, it says why a bias or a low kappa is none.
    """
    codes = {get_alert_reason(reason.alert) for reason in reasons if reason.alert}
    for resolved_alert in reversed(alerts.resolved):
        if resolved_alert.is_confirmed and get_alert_reason(resolved_alert.alert) not in codes:
            return StatusNote(NoteCode.CONFIRMED, resolved_alert=resolved_alert)
    result = comparison.raters.get(rater_id)
    if reasons or result is None:
        return None
    if result.level is not None and not result.is_biased:
        return StatusNote(NoteCode.PEERS_EXPLAIN_BIAS, result.level)
    if not comparison.is_below_funnel(rater_id):
        return None
    difference = comparison.not_outlying.get(rater_id)
    if difference is not None and difference.low is not None:
        return StatusNote(NoteCode.NOT_OUTLYING, difference=difference)
    return StatusNote(NoteCode.UNCLEAR)


# --- one reason each, or None


def _build_gold_reason(gold: GoldScore | None) -> StatusReason | None:
    if gold is None or gold.result not in (GoldResult.FAILED, GoldResult.BELOW):
        return None
    status = RaterStatus.ACT if gold.result == GoldResult.FAILED else RaterStatus.CHECK
    return StatusReason(ReasonCode.GOLD, status, gold.accuracy, gold.low, gold.high, gold.n)


def _build_alert_reason(alert: Alert) -> StatusReason:
    """Return the reason for a status in an unresolved alert; a muted one only asks for a check."""
    is_muted = alert.state == AlertState.MUTED
    return StatusReason(
        get_alert_reason(alert),
        RaterStatus.CHECK if is_muted else RaterStatus.ACT,
        alert.size,
        alert.low,
        alert.high,
        alert.n,
        alert,
    )


def _build_drift_reason(drift: DriftState | None) -> StatusReason | None:
    if drift is None or not drift.watched:
        return None
    size = drift.size, drift.low, drift.high, drift.n
    return StatusReason(ReasonCode.DRIFT, RaterStatus.CHECK, *size)


def _repeats_answer(
    rater_id: int, comparison: RaterComparison, findings: Sequence[StatusReason | None]
) -> bool:
    """Return whether the rater almost always gives the same answer, and this is worth a check.

    Where the others hardly give other answers either, it is so only as the cause of a bias or of
    low agreement.
    """
    result = comparison.raters.get(rater_id)
    if result is None or result.is_reversed:
        return False
    is_low = rater_id in comparison.outlying or bool(_filter_effects(findings))
    return result.repeats_answer or (result.has_one_answer and (result.is_biased or is_low))


def _build_same_answer_reason(
    rater_id: int,
    comparison: RaterComparison,
    findings: Sequence[StatusReason | None],
    alerts: RaterAlerts,
) -> StatusReason | None:
    """Return the reason for a repeated answer, as severe as the low agreement that it explains.

    None if a supported alert states it.
    """
    code, result = ReasonCode.SAME_ANSWER, comparison.raters[rater_id]
    if any(alert.supported and get_alert_reason(alert) == code for alert in alerts.unresolved):
        return None
    return StatusReason(
        code,
        _get_severest([RaterStatus.CHECK, *_filter_effects(findings)]),
        result.share,
        n=result.n_items,
        category=comparison.get_main_answer(rater_id),
    )


# Reasons that a reversed scale or a repeated answer explains.
_EFFECTS = {ReasonCode.LOW_AGREEMENT, ReasonCode.NEWCOMER}


def _filter_effects(
    findings: Sequence[StatusReason | None], *codes: ReasonCode
) -> list[RaterStatus]:
    """Return the statuses of the findings that are about low agreement, or have these codes."""
    return [reason.status for reason in findings if reason and reason.code in {*_EFFECTS, *codes}]


def _get_severest(statuses: Sequence[RaterStatus]) -> RaterStatus:
    return min(statuses, key=SEVERITY.index)


def _build_reversed_reason(
    result: ComparedRater | None, findings: Sequence[StatusReason | None]
) -> StatusReason | None:
    """Return the reason for opposite answers, as severe as the findings that they explain.

    None if the rater's answers are not opposite.
    """
    if result is None or not result.is_reversed:
        return None
    effects = _filter_effects(findings, ReasonCode.GOLD)
    status = _get_severest([RaterStatus.CHECK, *effects])
    size = result.value, result.low, result.high, result.n_items
    return StatusReason(ReasonCode.REVERSED, status, *size)


def _list_level_reasons(
    rater_id: int, comparison: RaterComparison, alerts: RaterAlerts
) -> list[StatusReason]:
    """Return the reasons low agreement and bias, in this order; none for opposite answers.

    An unresolved alert explains low agreement.
    """
    result = comparison.raters.get(rater_id)
    if result is not None and result.is_reversed:
        return []
    reasons = []
    if not alerts.unresolved and _agrees_less(rater_id, comparison):
        difference = comparison.outlying.get(rater_id)
        n_items = difference.n_items if difference else result and result.n_items
        size = difference.value if difference else None
        code = ReasonCode.LOW_AGREEMENT
        reasons.append(StatusReason(code, RaterStatus.CHECK, size, n=n_items))
    if result is not None and result.is_biased:
        reasons.append(_build_bias_reason(result, comparison.higher_is_harsher))
    return reasons


def _agrees_less(rater_id: int, comparison: RaterComparison) -> bool:
    """Return whether the rater agrees less with the others, by more than a bias explains.

    That of a biased rater is a finding of its own if the answers hardly follow those of the others.
    """
    result, is_outlying = comparison.raters.get(rater_id), rater_id in comparison.outlying
    if result is None or not result.is_biased:
        return is_outlying
    return result.is_scattered and (is_outlying or comparison.is_below_funnel(rater_id))


def _build_bias_reason(result: ComparedRater, higher_is_harsher: bool | None) -> StatusReason:
    assert result.bias is not None
    is_higher = result.bias > 0
    if higher_is_harsher is None:
        code = ReasonCode.HIGHER if is_higher else ReasonCode.LOWER
    else:
        code = ReasonCode.HARSH if is_higher == higher_is_harsher else ReasonCode.LENIENT
    size = result.bias, result.bias_low, result.bias_high, result.n_items
    return StatusReason(code, RaterStatus.CHECK, *size)


def _build_repeat_reason(repeats: RepeatScore | None) -> StatusReason | None:
    if repeats is None:
        return None
    share = repeats.same / repeats.n, repeats.low, repeats.high, repeats.n
    return StatusReason(ReasonCode.SELF, RaterStatus.CHECK, *share)


def _build_exam_reason(exam: FailedExam | None) -> StatusReason | None:
    if exam is None:
        return None
    accuracy = exam.n_right / exam.n_answers if exam.n_answers else None
    return StatusReason(ReasonCode.EXAM, RaterStatus.CHECK, accuracy, n=exam.n_answers)


def _build_few_items_reason(peers: Mapping[str, Any]) -> StatusReason | None:
    if _has_enough_items(peers):
        return None
    return StatusReason(ReasonCode.NOT_ENOUGH, RaterStatus.UNKNOWN, n=peers["n_items"] or 0)


def _has_enough_items(peers: Mapping[str, Any]) -> bool:
    """Return whether kappa with the other raters is defined, and on MIN_ITEMS items or more."""
    return peers["value"] is not None and (peers["n_items"] or 0) >= MIN_ITEMS
