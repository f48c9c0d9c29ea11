"""Summary of each rater of a question: results, status, and reasons for it.

Computed from stored results alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import OuterRef, Q, Subquery

from metrics.agreement.estimate import Value
from metrics.agreement.rater_quality.gold import NO_GOLD
from metrics.agreement.rater_quality.repeats import NO_REPEATS
from metrics.models import RaterResult
from metrics.question_scale import get_weighted_name
from metrics.results.intervals import QuestionClusters
from metrics.results.stored_values import build_uncounted_value
from projects.models import Question, Rater
from quality.models import (
    Alert,
    AlertKind,
    AlertState,
    AlertStep,
    DriftState,
    GoldScore,
    RepeatScore,
)
from quality.repeats import find_inconsistent_scores
from ratings.models import Exam

from .comparison import RaterComparison, get_comparison
from .reasons import (
    NO_ALERTS,
    STATUS_ORDER,
    FailedExam,
    RaterAlerts,
    RaterStatus,
    ReasonCode,
    ResolvedAlert,
    StatusNote,
    StatusReason,
    find_note,
    get_status,
    is_confirmed_problem,
    list_reasons,
)


def build_rank(status: RaterStatus, impact: float | None) -> tuple[int, float]:
    """Return the sort key of a rater: worst status first, then greatest impact."""
    return STATUS_ORDER.index(status), -(impact or 0.0)


@dataclass(frozen=True)
class RaterSummary:
    """Results of one rater in a question.

    ``peers``, ``bias``: stored estimates; ``gold`` and ``repeats``: scores on gold answers and on
    repeated items, None without any; ``drift``: the latest drift state; ``alerts``: unresolved
    alerts, oldest first; ``impact``: the expected number of wrong ratings, by weight; None before
    their items have labels; ``note``: see find_note.
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
    note: StatusNote | None = None

    @property
    def gold_kappa(self) -> Mapping[str, Any]:
        """Return kappa of the rater's answers with gold answers; undefined without a score."""
        kappa: Mapping[str, Any] = self.gold.kappa if self.gold else build_undefined_value(NO_GOLD)
        return kappa

    @property
    def repeat_kappa(self) -> Mapping[str, Any]:
        """Return kappa of the rater's second answers with the first; undefined without a score."""
        kappa: Mapping[str, Any] = (
            self.repeats.kappa if self.repeats else build_undefined_value(NO_REPEATS)
        )
        return kappa

    @property
    def status(self) -> RaterStatus:
        """Return the most severe status among the reasons; unknown for a model."""
        if self.rater.kind == Rater.Kind.MODEL:
            return RaterStatus.UNKNOWN
        return get_status(self.reasons)

    @property
    def is_fine(self) -> bool:
        """Return whether the status is OK, and no lead has confirmed an alert."""
        return self.status == RaterStatus.OK and not is_confirmed_problem(self.status, self.note)

    @property
    def is_reversed(self) -> bool:
        """Return whether the rater answers the scale upside down: a bias then means nothing."""
        return any(reason.code == ReasonCode.REVERSED for reason in self.reasons)

    @property
    def rank(self) -> tuple[int, float]:
        """Return the sort key of the rater: worst status first, then greatest impact."""
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
    alerts = get_alerts_by_rater(question)
    summaries = [
        RaterSummary(
            rater=rater,
            **vars(figures.get(rater.pk, _StoredFigures())),
            gold=golds.get(rater.pk),
            repeats=repeats.get(rater.pk),
            drift=drifts.get(rater.pk),
            alerts=alerts.get(rater.pk, NO_ALERTS).unresolved,
            impact=comparison.get_impact(rater.pk),
        )
        for rater in people.order_by("pk")
    ]
    inconsistent = find_inconsistent_scores([*repeats.values()])
    return _add_reasons(summaries, question, comparison, inconsistent=inconsistent, alerts=alerts)


def _add_reasons(
    summaries: list[RaterSummary],
    question: Question,
    comparison: RaterComparison,
    *,
    inconsistent: Mapping[int, RepeatScore],
    alerts: Mapping[int, RaterAlerts],
) -> list[RaterSummary]:
    failed_exams = get_failed_exams_by_rater(question)
    with_reasons = []
    for summary in summaries:
        rater_id = summary.rater.pk
        alerts_of_rater = alerts.get(rater_id, NO_ALERTS)
        reasons = list_reasons(
            rater_id,
            comparison,
            summary.peers,
            drift=summary.drift,
            gold=summary.gold,
            repeats=inconsistent.get(rater_id),
            failed_exam=failed_exams.get(rater_id),
            alerts=alerts_of_rater,
        )
        note = find_note(rater_id, comparison, reasons, alerts_of_rater)
        with_reasons.append(replace(summary, reasons=reasons, note=note))
    return with_reasons


@dataclass(frozen=True)
class _StoredFigures:
    """Stored results of a rater; the defaults are those of a rater without a result."""

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
        peers_value, bias_value = (
            map(clusters.widen_interval, names, values) if clusters else values
        )
        results[rater_id] = _StoredFigures(
            n_ratings,
            seconds,
            peers_value or build_uncounted_value(),
            bias_value if scale_is_ordered else None,
        )
    return results


def get_alerts_by_rater(question: Question) -> dict[int, RaterAlerts]:
    """Return {rater id: alerts about the rater}, as get_alerts_by_question."""
    alerts = get_alerts_by_question([question])
    return {rater_id: alerts_of_rater for (_question, rater_id), alerts_of_rater in alerts.items()}


def get_alerts_by_question(
    questions: Collection[Question],
) -> dict[tuple[int, int], RaterAlerts]:
    """Return {(question id, rater id): alerts about the rater}, oldest first; one query.

    Those that were resolved are in the order of that, without those that ratings no longer support.
    """
    alerts_of_rater: dict[tuple[int, int], RaterAlerts] = defaultdict(lambda: RaterAlerts([], []))
    resolved = AlertStep.objects.filter(alert=OuterRef("pk"), state=AlertState.RESOLVED)
    alerts = Alert.objects.filter(question__in=questions).annotate(
        resolved_at=Subquery(resolved.order_by("-pk").values("at")[:1])
    )
    alerts = alerts.filter(~Q(state=AlertState.RESOLVED) | Q(supported=True)).defer("chart")
    related = "rater", "other_rater", "question__project"
    for alert in alerts.order_by("pk").select_related(*related):
        for rater_id in (alert.rater_id, alert.other_rater_id):
            if rater_id is None:
                continue
            unresolved, resolved_alerts = alerts_of_rater[alert.question_id, rater_id]
            if alert.state != AlertState.RESOLVED:
                unresolved.append(alert)
            elif alert.resolved_at is not None:
                resolved_alerts.append(ResolvedAlert(alert, alert.resolved_at))
    for alerts_of_one in alerts_of_rater.values():
        alerts_of_one.resolved.sort(key=lambda resolved_alert: resolved_alert.resolved_at)
    return alerts_of_rater


def is_outlier(question: Question, rater: Rater) -> bool:
    """Return whether an unresolved alert that ratings support says that the rater agrees less."""
    kinds = (AlertKind.RATER_DISAGREES, AlertKind.NEWCOMER_BELOW)
    alerts = Alert.objects.filter(question=question, rater=rater, kind__in=kinds)
    return alerts.filter(supported=True).exclude(state=AlertState.RESOLVED).exists()


def load_repeat_scores(question: Question) -> dict[int, RepeatScore]:
    """Return {rater id: score} of all raters who repeated answers."""
    scores = RepeatScore.objects.filter(question=question).defer("table", "months")
    return {score.rater_id: score for score in scores}


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
