"""Summary of each rater of a question, with one status and its reasons.

Computed from stored results alone, for people only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from metrics.agreement.estimate import Value
from metrics.agreement.rater_quality.gold import NO_GOLD, PAUSE_EVIDENCE
from metrics.agreement.rater_quality.repeats import NO_REPEATS
from metrics.models import RaterResult
from metrics.results.values import build_uncounted_value
from metrics.scale import get_weighted_name
from projects.models import Question, Rater
from quality.models import Alarm, DriftStanding, GoldScore, Kind, RepeatScore, State

from .comparison import RaterComparison, get_comparison, has_enough_items


class RaterStatus(StrEnum):
    """Status of a rater in a question."""

    FINE = "fine"
    WATCH = "watch"
    ACT = "act"
    UNKNOWN = "unknown"


# Reason -> the status that it implies; docs/statistics.md defines the reasons.
STATUS_OF_REASON = {
    "drift_alarm": RaterStatus.ACT,
    "gold_below_bar": RaterStatus.ACT,
    "alarm_muted": RaterStatus.WATCH,
    "drift_watched": RaterStatus.WATCH,
    # Kinds of alerts, in addition to drift_alarm for any alert.
    "apart_from_peers": RaterStatus.WATCH,
    "one_answer": RaterStatus.WATCH,
    "too_fast": RaterStatus.WATCH,
    "too_few_items": RaterStatus.UNKNOWN,
}


@dataclass(frozen=True)
class RaterSummary:
    """Results of one rater in a question.

    ``peers``, ``bias``: stored estimates; ``gold`` and ``repeats``: scores on gold answers and on
    repeated items, None without any; ``drift``: the latest drift state; ``alerts``: unresolved
    alerts, oldest first.
    """

    rater: Rater
    n_ratings: int
    seconds: float | None
    peers: Mapping[str, Any]
    bias: Mapping[str, Any] | None
    gold: GoldScore | None
    repeats: RepeatScore | None
    drift: DriftStanding | None
    alerts: list[Alarm] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

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
        """Most severe status among the reasons."""
        implied = {STATUS_OF_REASON[reason] for reason in self.reasons}
        for status in (RaterStatus.ACT, RaterStatus.WATCH, RaterStatus.UNKNOWN):
            if status in implied:
                return status
        return RaterStatus.FINE


def build_undefined_value(reason: str) -> Value:
    """Return an undefined estimate with its reason."""
    return {**build_uncounted_value(), "reason": reason}


def list_rater_summaries(
    question: Question,
    *,
    ordered: bool,
    raters: Collection[int] | None = None,
    comparison: RaterComparison | None = None,
) -> list[RaterSummary]:
    """Return the summaries of the project's people, or of these raters, in order of their ids.

    ``comparison``: the comparison to use; by default the latest one. Seven queries.
    """
    people = Rater.objects.filter(project_id=question.project_id, kind=Rater.Kind.HUMAN)
    conditions: dict[str, Any] = {"question": question}
    if raters is not None:
        people = people.filter(pk__in=raters)
        conditions["rater__in"] = raters
    comparison = comparison or get_comparison(question)
    results = _get_results(conditions, comparison.weights, ordered=ordered)
    drifts = {row.rater_id: row for row in DriftStanding.objects.filter(**conditions)}
    golds = {row.rater_id: row for row in GoldScore.objects.filter(**conditions)}
    repeats = {row.rater_id: row for row in RepeatScore.objects.filter(**conditions)}
    alerts = get_unresolved_alerts(question)
    summaries = []
    for rater in people.order_by("pk"):
        result = results.get(rater.pk, _NO_RESULT)
        drift = drifts.get(rater.pk)
        gold = golds.get(rater.pk)
        reasons = _list_reasons(result["peers"], drift, alerts[rater.pk])
        if gold is not None and gold.evidence >= PAUSE_EVIDENCE:
            reasons.insert(0, "gold_below_bar")
        summaries.append(
            RaterSummary(
                rater=rater,
                n_ratings=result["n_ratings"],
                seconds=result["seconds"],
                peers=result["peers"],
                bias=result["bias"],
                gold=gold,
                repeats=repeats.get(rater.pk),
                drift=drift,
                alerts=alerts[rater.pk],
                reasons=reasons,
            )
        )
    return summaries


_NO_RESULT: dict[str, Any] = {
    "n_ratings": 0,
    "seconds": None,
    "peers": build_uncounted_value(),
    "bias": None,
}


def _get_results(
    conditions: dict[str, Any], weights: str, *, ordered: bool
) -> dict[int, dict[str, Any]]:
    """Return {rater id: counts, seconds, agreement with peers and bias}."""
    peers = f"coefficients__{get_weighted_name('vs_peers', weights)}"
    bias = "coefficients__vs_peers_bias"
    rows = RaterResult.objects.filter(**conditions)
    results = {}
    for rater_id, n_ratings, seconds, peers_value, bias_value in rows.values_list(
        "rater_id", "n_ratings", "seconds", peers, bias
    ):
        results[rater_id] = {
            "n_ratings": n_ratings,
            "seconds": seconds,
            "peers": peers_value or build_uncounted_value(),
            "bias": bias_value if ordered else None,
        }
    return results


def get_unresolved_alerts(question: Question) -> dict[int, list[Alarm]]:
    """Return {rater id: unresolved alerts about the rater}, oldest first."""
    alerts_of_rater: dict[int, list[Alarm]] = defaultdict(list)
    alerts = Alarm.objects.filter(question=question).exclude(state=State.RESOLVED)
    for alert in alerts.order_by("pk").select_related("rater", "other").defer("chart"):
        for rater_id in (alert.rater_id, alert.other_id):
            if rater_id is not None:
                alerts_of_rater[rater_id].append(alert)
    return alerts_of_rater


ALERT_REASONS = {
    Kind.RATER_APART: "apart_from_peers",
    Kind.RATER_SAME: "one_answer",
    Kind.RATER_FAST: "too_fast",
}


def list_alert_reasons(alerts: Collection[Alarm]) -> list[str]:
    """Return the reasons for a status in alerts that current ratings still support."""
    return [
        ALERT_REASONS[Kind(alert.kind)]
        for alert in alerts
        if alert.stands and alert.kind in ALERT_REASONS
    ]


def is_outlier(question: Question, rater: Rater) -> bool:
    """Return whether an unresolved alert says that the rater agrees clearly less than the others."""
    alerts = Alarm.objects.filter(question=question, rater=rater, kind=Kind.RATER_APART)
    return alerts.filter(stands=True).exclude(state=State.RESOLVED).exists()


def _list_reasons(
    peers: Mapping[str, Any] | Value, drift: DriftStanding | None, alerts: list[Alarm]
) -> list[str]:
    reasons = []
    states = {alert.state for alert in alerts}
    if states & {State.OPEN, State.LOOKED_AT}:
        reasons.append("drift_alarm")
    elif states:
        reasons.append("alarm_muted")
    if drift is not None and drift.watched:
        reasons.append("drift_watched")
    if not has_enough_items(peers):
        reasons.append("too_few_items")
    return reasons + list_alert_reasons(alerts)
