"""Status of a rater, and the reasons for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from quality.models import (
    Alert,
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
    if any.
    """

    code: ReasonCode
    status: RaterStatus
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    alert: Alert | None = None


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
    alerts: Sequence[Alert],
) -> list[StatusReason]:
    """Return the reasons for a rater's status, the most severe ones first.

    ``peers``: kappa with the others; ``gold``: score annotated with its result; ``repeats``: score,
    only of an inconsistent rater; ``alerts``: the unresolved ones; ``drift``: used if it is
    watched.
    """
    result = comparison.raters.get(rater_id)
    findings = [
        _build_gold_reason(gold),
        *map(_build_alert_reason, alerts),
        _build_drift_reason(drift),
        _build_same_answer_reason(result, alerts),
    ]
    reasons = [
        _build_reversed_reason(result, findings),
        *findings,
        _build_bias_reason(result, higher_is_harsher=comparison.higher_is_harsher),
        _build_low_agreement_reason(rater_id, comparison, alerts),
        _build_repeat_reason(repeats),
        _build_exam_reason(failed_exam),
        _build_few_items_reason(peers),
    ]
    return sorted(filter(None, reasons), key=lambda reason: SEVERITY.index(reason.status))


def get_status(reasons: Sequence[StatusReason]) -> RaterStatus:
    """Return the most severe status among the reasons; OK without any."""
    implied = {reason.status for reason in reasons}
    return next((status for status in SEVERITY if status in implied), RaterStatus.OK)


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


def _build_same_answer_reason(
    result: ComparedRater | None, alerts: Sequence[Alert]
) -> StatusReason | None:
    """Return the reason for a rater who repeats one answer; None if a supported alert states it."""
    if result is None or not result.repeats_answer:
        return None
    if ReasonCode.SAME_ANSWER in [get_alert_reason(alert) for alert in alerts if alert.supported]:
        return None
    return StatusReason(ReasonCode.SAME_ANSWER, RaterStatus.CHECK, result.share, n=result.n_items)


# Reasons that a reversed scale explains.
_EFFECTS_OF_REVERSAL = {ReasonCode.LOW_AGREEMENT, ReasonCode.NEWCOMER, ReasonCode.GOLD}


def _build_reversed_reason(
    result: ComparedRater | None, findings: Sequence[StatusReason | None]
) -> StatusReason | None:
    """Return the reason for opposite answers, as severe as the findings that they explain.

    None if the rater's answers are not opposite.
    """
    if result is None or not result.is_reversed:
        return None
    effects = [reason for reason in findings if reason and reason.code in _EFFECTS_OF_REVERSAL]
    status = min([*(reason.status for reason in effects), RaterStatus.CHECK], key=SEVERITY.index)
    size = result.value, result.low, result.high, result.n_items
    return StatusReason(ReasonCode.REVERSED, status, *size)


def _build_bias_reason(
    result: ComparedRater | None, *, higher_is_harsher: bool | None
) -> StatusReason | None:
    if result is None or result.is_reversed or not result.is_biased:
        return None
    assert result.bias is not None
    is_higher = result.bias > 0
    if higher_is_harsher is None:
        code = ReasonCode.HIGHER if is_higher else ReasonCode.LOWER
    else:
        code = ReasonCode.HARSH if is_higher == higher_is_harsher else ReasonCode.LENIENT
    size = result.bias, result.bias_low, result.bias_high, result.n_items
    return StatusReason(code, RaterStatus.CHECK, *size)


def _build_low_agreement_reason(
    rater_id: int, comparison: RaterComparison, alerts: Sequence[Alert]
) -> StatusReason | None:
    """Return the reason for an outlier; None for others, and if something else explains it.

    Explanations are unresolved alerts, and opposite, biased or repeated answers.
    """
    result = comparison.raters.get(rater_id)
    is_explained = result is not None and (
        result.is_reversed or result.is_biased or result.repeats_answer
    )
    if rater_id not in comparison.outlying or alerts or is_explained:
        return None
    difference, n_items = comparison.outlying[rater_id]
    return StatusReason(ReasonCode.LOW_AGREEMENT, RaterStatus.CHECK, difference, n=n_items)


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
