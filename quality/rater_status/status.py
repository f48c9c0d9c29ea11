"""Summary of each rater of a question: results, status, and reasons for it.

Computed from stored results alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

from metrics.agreement.estimate import Value
from metrics.agreement.rater_quality.gold import NO_GOLD
from metrics.agreement.rater_quality.repeats import NO_REPEATS
from metrics.models import RaterResult
from metrics.question_scale import get_weighted_name
from metrics.results.clusters import QuestionClusters
from metrics.results.values import build_uncounted_value
from projects.models import Question, Rater
from quality.models import (
    Alert,
    AlertKind,
    AlertState,
    DriftState,
    GoldResult,
    GoldScore,
    RepeatScore,
)
from quality.repeats import find_inconsistent_scores
from ratings.models import Exam

from .comparison import ComparedRater, RaterComparison, get_comparison, has_enough_items


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


def build_rank(status: RaterStatus, impact: float | None) -> tuple[int, float]:
    """Return the sort key of a rater, worst first: by status, then by impact."""
    return STATUS_ORDER.index(status), -(impact or 0.0)


class ReasonCode(StrEnum):
    """Reason for a status; docs/statistics.md defines each."""

    DRIFT = "drift"
    HARSH = "harsh"
    LENIENT = "lenient"
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
    95% interval; ``n``: number of items behind it. ``alert``: the alert that states it.
    """

    code: ReasonCode
    status: RaterStatus
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    alert: Alert | None = None


@dataclass(frozen=True)
class RaterSummary:
    """Results of one rater in a question.

    ``peers``, ``bias``: stored estimates; ``gold`` and ``repeats``: scores on gold answers and on
    repeated items, None without any; ``drift``: the latest drift state; ``alerts``: unresolved
    alerts, oldest first; ``impact``: the expected number of wrong ratings, by weight; None before
    their items have labels.
    """

    rater: Rater
    n_ratings: int
    seconds: float | None
    peers: Mapping[str, Any]
    bias: Mapping[str, Any] | None
    gold: GoldScore | None
    repeats: RepeatScore | None
    drift: DriftState | None
    alerts: list[Alert] = field(default_factory=list)
    impact: float | None = None
    reasons: list[StatusReason] = field(default_factory=list)

    @property
    def gold_kappa(self) -> Mapping[str, Any]:
        """Chance-corrected agreement with gold answers."""
        kappa: Mapping[str, Any] = self.gold.kappa if self.gold else build_undefined_value(NO_GOLD)
        return kappa

    @property
    def repeat_kappa(self) -> Mapping[str, Any]:
        """Chance-corrected agreement with the rater's own repeated answers."""
        kappa: Mapping[str, Any] = (
            self.repeats.kappa if self.repeats else build_undefined_value(NO_REPEATS)
        )
        return kappa

    @property
    def status(self) -> RaterStatus:
        """Most severe status among the reasons; unknown for a model."""
        if self.rater.kind == Rater.Kind.MODEL:
            return RaterStatus.UNKNOWN
        return get_status(self.reasons)

    @property
    def rank(self) -> tuple[int, float]:
        """Sort key, worst first: by status, then by impact."""
        return build_rank(self.status, self.impact)


def build_undefined_value(reason: str) -> Value:
    """Return an undefined estimate with its reason."""
    return {**build_uncounted_value(), "reason": reason}


def list_rater_summaries(
    question: Question,
    *,
    scale_is_ordered: bool,
    rater_ids: Collection[int] | None = None,
    comparison: RaterComparison | None = None,
    kinds: Collection[str] = (Rater.Kind.HUMAN,),
) -> list[RaterSummary]:
    """Return the summaries of the project's people, or of these raters, in order of their ids.

    ``kinds``: of the raters. The status of a model is unknown, because the rules are for people.
    ``comparison``: the comparison to use; by default the latest one. Nine queries.
    """
    people = Rater.objects.filter(project_id=question.project_id, kind__in=kinds)
    conditions: dict[str, object] = {"question": question}
    if rater_ids is not None:
        people = people.filter(pk__in=rater_ids)
        conditions["rater__in"] = rater_ids
    comparison = comparison or get_comparison(question)
    figures = _get_figures(
        question, conditions, comparison.weights, scale_is_ordered=scale_is_ordered
    )
    drifts = {row.rater_id: row for row in DriftState.objects.filter(**conditions)}
    golds = {row.rater_id: row for row in GoldScore.objects.with_result().filter(**conditions)}
    repeats = load_repeat_scores(question)  # of all raters, who are compared with each other
    alerts = get_unresolved_alerts_by_rater(question)
    summaries = [
        RaterSummary(
            rater=rater,
            **vars(figures.get(rater.pk, _StoredFigures())),
            gold=golds.get(rater.pk),
            repeats=repeats.get(rater.pk),
            drift=drifts.get(rater.pk),
            alerts=alerts.get(rater.pk, []),
            impact=comparison.get_impact(rater.pk),
        )
        for rater in people.order_by("pk")
    ]
    inconsistent = find_inconsistent_scores([*repeats.values()])
    return _add_reasons(question, summaries, comparison, inconsistent)


def _add_reasons(
    question: Question,
    summaries: list[RaterSummary],
    comparison: RaterComparison,
    inconsistent: Mapping[int, RepeatScore],
) -> list[RaterSummary]:
    failed_exams = get_failed_exams_by_rater(question)
    return [
        replace(
            summary,
            reasons=list_reasons(
                summary.rater.pk,
                comparison,
                summary.peers,
                drift=summary.drift,
                gold=summary.gold,
                repeats=inconsistent.get(summary.rater.pk),
                failed_exam=failed_exams.get(summary.rater.pk),
                alerts=summary.alerts,
            ),
        )
        for summary in summaries
    ]


@dataclass(frozen=True)
class _StoredFigures:
    """Stored figures of a rater; the defaults are those of a rater without any."""

    n_ratings: int = 0
    seconds: float | None = None
    peers: Mapping[str, Any] = field(default_factory=build_uncounted_value)
    bias: Mapping[str, Any] | None = None


def _get_figures(
    question: Question, conditions: dict[str, object], weights: str, *, scale_is_ordered: bool
) -> dict[int, _StoredFigures]:
    names = get_weighted_name("vs_peers", weights), "vs_peers_bias"
    columns = (f"coefficients__{name}" for name in names)
    rows = RaterResult.objects.filter(**conditions)
    clusters = QuestionClusters.load(question.pk, question.project)
    results = {}
    for rater_id, n_ratings, seconds, *values in rows.values_list(
        "rater_id", "n_ratings", "seconds", *columns
    ):
        peers_value, bias_value = map(clusters.widen, names, values) if clusters else values
        results[rater_id] = _StoredFigures(
            n_ratings,
            seconds,
            peers_value or build_uncounted_value(),
            bias_value if scale_is_ordered else None,
        )
    return results


def get_unresolved_alerts_by_rater(question: Question) -> dict[int, list[Alert]]:
    """Return {rater id: unresolved alerts about the rater}, oldest first."""
    alerts = get_unresolved_alerts_by_question([question])
    return {rater_id: alerts_of_rater for (_question, rater_id), alerts_of_rater in alerts.items()}


def get_unresolved_alerts_by_question(
    questions: Collection[Question],
) -> dict[tuple[int, int], list[Alert]]:
    """Return {(question id, rater id): unresolved alerts about the rater}, oldest first."""
    alerts_of_rater: dict[tuple[int, int], list[Alert]] = defaultdict(list)
    alerts = Alert.objects.filter(question__in=questions).exclude(state=AlertState.RESOLVED)
    for alert in alerts.order_by("pk").select_related("rater", "other_rater").defer("chart"):
        for rater_id in (alert.rater_id, alert.other_rater_id):
            if rater_id is not None:
                alerts_of_rater[alert.question_id, rater_id].append(alert)
    return alerts_of_rater


# Kind of alert about a rater -> the reason that it gives.
REASON_OF_ALERT = {
    AlertKind.RATER_DRIFT: ReasonCode.DRIFT,
    AlertKind.PAIR_DIVERGED: ReasonCode.DRIFT,
    AlertKind.RATER_APART: ReasonCode.LOW_AGREEMENT,
    AlertKind.NEWCOMER_BELOW: ReasonCode.NEWCOMER,
    AlertKind.RATER_COPIES: ReasonCode.COPIES,
    AlertKind.RATER_SAME_ANSWER: ReasonCode.SAME_ANSWER,
    AlertKind.RATER_FAST: ReasonCode.TOO_FAST,
}


def get_alert_reason(alert: Alert) -> ReasonCode:
    """Return the reason that an alert about a rater gives for their status."""
    return REASON_OF_ALERT[AlertKind(alert.kind)]


def is_outlier(question: Question, rater: Rater) -> bool:
    """Return whether an unresolved alert says that the rater clearly agrees less than others."""
    kinds = (AlertKind.RATER_APART, AlertKind.NEWCOMER_BELOW)
    alerts = Alert.objects.filter(question=question, rater=rater, kind__in=kinds)
    return alerts.filter(supported=True).exclude(state=AlertState.RESOLVED).exists()


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

    ``peers``: agreement with the others; ``gold``: with its result; ``repeats``: of an inconsistent
    rater; ``alerts``: unresolved ones. ``drift`` counts if it is watched.
    """
    result = comparison.raters.get(rater_id)
    reasons = [
        _build_gold_reason(gold),
        *map(_build_alert_reason, alerts),
        _build_drift_reason(drift),
        _build_same_answer_reason(result, alerts),
        _build_bias_reason(result, higher_is_harsher=comparison.higher_is_harsher)
        or _build_low_agreement_reason(rater_id, comparison, alerts),
        _build_repeat_reason(repeats),
        _build_exam_reason(failed_exam),
        _build_few_items_reason(peers),
    ]
    given = [reason for reason in reasons if reason is not None]
    return sorted(given, key=lambda reason: SEVERITY.index(reason.status))


def get_status(reasons: Sequence[StatusReason]) -> RaterStatus:
    """Return the most severe status among the reasons."""
    implied = {reason.status for reason in reasons}
    return next((status for status in SEVERITY if status in implied), RaterStatus.OK)


def load_repeat_scores(question: Question) -> dict[int, RepeatScore]:
    """Return {rater id: score} of all raters who repeated answers."""
    scores = RepeatScore.objects.filter(question=question).defer("table", "months")
    return {score.rater_id: score for score in scores}


class FailedExam(NamedTuple):
    """Numbers of scored and of right answers in an exam that was not passed."""

    n_answers: int
    n_right: int


def get_failed_exams_by_rater(question: Question) -> dict[int, FailedExam]:
    """Return {rater id: exam} of the raters whose latest attempt at the exam failed."""
    exams = get_failed_exams_by_question([question])
    return {rater_id: exam for (_question, rater_id), exam in exams.items()}


def get_failed_exams_by_question(
    questions: Collection[Question],
) -> dict[tuple[int, int], FailedExam]:
    """Return {(question id, rater id): exam} of the latest attempts that failed."""
    attempts = Exam.objects.latest_failed().filter(question__in=questions)
    exams = {}
    for question_id, rater_id, answers in attempts.values_list(
        "question_id", "rater_id", "answers"
    ):
        scored = [is_right for _item, _code, is_right, _gold in answers if is_right is not None]
        exams[question_id, rater_id] = FailedExam(len(scored), sum(scored))
    return exams


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
    """Return the reason for a rater who repeats one answer, unless an alert already states it."""
    if result is None or not result.repeats_answer:
        return None
    stated = [get_alert_reason(alert) for alert in alerts if alert.supported]
    if ReasonCode.SAME_ANSWER in stated:
        return None
    return StatusReason(ReasonCode.SAME_ANSWER, RaterStatus.CHECK, result.share, n=result.n_items)


def _build_bias_reason(
    result: ComparedRater | None, *, higher_is_harsher: bool
) -> StatusReason | None:
    if result is None or not result.is_biased:
        return None
    assert result.bias is not None
    code = ReasonCode.HARSH if (result.bias > 0) == higher_is_harsher else ReasonCode.LENIENT
    size = result.bias, result.bias_low, result.bias_high, result.n_items
    return StatusReason(code, RaterStatus.CHECK, *size)


def _build_low_agreement_reason(
    rater_id: int, comparison: RaterComparison, alerts: Sequence[Alert]
) -> StatusReason | None:
    """Return the reason for an outlier; None if an alert or one repeated answer explains it."""
    result = comparison.raters.get(rater_id)
    is_repeating = result is not None and result.repeats_answer
    if rater_id not in comparison.outlying or alerts or is_repeating:
        return None
    difference, n_items = comparison.outlying[rater_id]
    return StatusReason(ReasonCode.LOW_AGREEMENT, RaterStatus.CHECK, difference, n=n_items)


def _build_repeat_reason(repeats: RepeatScore | None) -> StatusReason | None:
    if repeats is None:
        return None
    share = repeats.same / repeats.n
    return StatusReason(
        ReasonCode.SELF, RaterStatus.CHECK, share, repeats.low, repeats.high, repeats.n
    )


def _build_exam_reason(exam: FailedExam | None) -> StatusReason | None:
    if exam is None:
        return None
    accuracy = exam.n_right / exam.n_answers if exam.n_answers else None
    return StatusReason(ReasonCode.EXAM, RaterStatus.CHECK, accuracy, n=exam.n_answers)


def _build_few_items_reason(peers: Mapping[str, Any]) -> StatusReason | None:
    if has_enough_items(peers):
        return None
    return StatusReason(ReasonCode.NOT_ENOUGH, RaterStatus.UNKNOWN, n=peers["n_items"] or 0)
