"""One line a rater: what is known of each, and one status with its reasons. Read from stored
readings alone; of people only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from metrics.agreement.estimate import Value
from metrics.agreement.rater_quality.gold import NO_GOLD, PAUSE_AT
from metrics.agreement.rater_quality.repeats import NO_REPEATS
from metrics.models import RaterReading
from metrics.results.values import not_counted
from metrics.scale import weighted
from projects.models import Question, Rater
from quality.models import Alarm, DriftStanding, GoldScore, Kind, RepeatScore, State

from . import comparison


class Status(StrEnum):
    FINE = "fine"
    WATCH = "watch"
    ACT = "act"
    UNKNOWN = "unknown"


# Reason -> the status that it asks for; docs/statistics.md tells when each holds.
REASONS = {
    "drift_alarm": Status.ACT,
    "gold_below_bar": Status.ACT,
    "alarm_muted": Status.WATCH,
    "drift_watched": Status.WATCH,
    # What a case is about, beside that there is one.
    "apart_from_peers": Status.WATCH,
    "one_answer": Status.WATCH,
    "too_fast": Status.WATCH,
    "too_few_items": Status.UNKNOWN,
}


@dataclass(frozen=True)
class Card:
    """``peers``, ``bias``: stored readings; ``gold``: answers on gold, and ``repeats``: answers to
    what was asked again, None without one; ``drift``: the latest evidence; ``alarms``: cases that
    are not resolved, oldest first."""

    rater: Rater
    n_ratings: int
    seconds: float | None
    peers: Mapping[str, Any]
    bias: Mapping[str, Any] | None
    gold: GoldScore | None
    repeats: RepeatScore | None
    drift: DriftStanding | None
    alarms: list[Alarm] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    @property
    def gold_kappa(self) -> Mapping[str, Any]:
        """Chance-corrected agreement with gold."""
        kappa: Mapping[str, Any] = self.gold.kappa if self.gold else without(NO_GOLD)
        return kappa

    @property
    def repeat_kappa(self) -> Mapping[str, Any]:
        """Chance-corrected agreement with oneself."""
        kappa: Mapping[str, Any] = self.repeats.kappa if self.repeats else without(NO_REPEATS)
        return kappa

    @property
    def status(self) -> Status:
        asked = {REASONS[reason] for reason in self.reasons}
        for status in (Status.ACT, Status.WATCH, Status.UNKNOWN):
            if status in asked:
                return status
        return Status.FINE


def without(reason: str) -> Value:
    """A reading that does not exist, and why."""
    return {**not_counted(), "reason": reason}


def cards(
    question: Question,
    *,
    ordered: bool,
    raters: Collection[int] | None = None,
    standings: comparison.Standings | None = None,
) -> list[Card]:
    """Of all people of the project or of these raters, in the order of their ids. Seven queries.
    ``standings``: of the last sweep, read where it is not given."""
    people = Rater.objects.filter(project_id=question.project_id, kind=Rater.Kind.HUMAN)
    of: dict[str, Any] = {"question": question}
    if raters is not None:
        people = people.filter(pk__in=raters)
        of["rater__in"] = raters
    standings = standings or comparison.of(question)
    readings = _readings(of, standings.weights, ordered=ordered)
    drifts = {row.rater_id: row for row in DriftStanding.objects.filter(**of)}
    golds = {row.rater_id: row for row in GoldScore.objects.filter(**of)}
    repeats = {row.rater_id: row for row in RepeatScore.objects.filter(**of)}
    alarms = unresolved(question)
    found = []
    for rater in people.order_by("pk"):
        reading = readings.get(rater.pk, _NOTHING)
        drift = drifts.get(rater.pk)
        gold = golds.get(rater.pk)
        reasons = _reasons(reading["peers"], drift, alarms[rater.pk])
        if gold is not None and gold.evidence >= PAUSE_AT:
            reasons.insert(0, "gold_below_bar")
        found.append(
            Card(
                rater=rater,
                n_ratings=reading["n_ratings"],
                seconds=reading["seconds"],
                peers=reading["peers"],
                bias=reading["bias"],
                gold=gold,
                repeats=repeats.get(rater.pk),
                drift=drift,
                alarms=alarms[rater.pk],
                reasons=reasons,
            )
        )
    return found


_NOTHING: dict[str, Any] = {
    "n_ratings": 0,
    "seconds": None,
    "peers": not_counted(),
    "bias": None,
}


def _readings(of: dict[str, Any], weights: str, *, ordered: bool) -> dict[int, dict[str, Any]]:
    peers = f"coefficients__{weighted('vs_peers', weights)}"
    bias = "coefficients__vs_peers_bias"
    rows = RaterReading.objects.filter(**of)
    found = {}
    for rater_id, n_ratings, seconds, with_peers, moved in rows.values_list(
        "rater_id", "n_ratings", "seconds", peers, bias
    ):
        found[rater_id] = {
            "n_ratings": n_ratings,
            "seconds": seconds,
            "peers": with_peers or not_counted(),
            "bias": moved if ordered else None,
        }
    return found


def unresolved(question: Question) -> dict[int, list[Alarm]]:
    """Rater id -> the cases in which the rater is named."""
    found: dict[int, list[Alarm]] = defaultdict(list)
    cases = Alarm.objects.filter(question=question).exclude(state=State.RESOLVED)
    for alarm in cases.order_by("pk").select_related("rater", "other").defer("chart"):
        for rater_id in (alarm.rater_id, alarm.other_id):
            if rater_id is not None:
                found[rater_id].append(alarm)
    return found


SIGNS = {
    Kind.RATER_APART: "apart_from_peers",
    Kind.RATER_SAME: "one_answer",
    Kind.RATER_FAST: "too_fast",
}


def signs(cases: Collection[Alarm]) -> list[str]:
    """What the cases of a rater say of the way they answer, where today's ratings say so still."""
    return [SIGNS[Kind(case.kind)] for case in cases if case.stands and case.kind in SIGNS]


def is_apart(question: Question, rater: Rater) -> bool:
    """Whether the rater has a case of agreeing clearly less than the others."""
    cases = Alarm.objects.filter(question=question, rater=rater, kind=Kind.RATER_APART)
    return cases.filter(stands=True).exclude(state=State.RESOLVED).exists()


def _reasons(
    peers: Mapping[str, Any] | Value, drift: DriftStanding | None, alarms: list[Alarm]
) -> list[str]:
    reasons = []
    states = {alarm.state for alarm in alarms}
    if states & {State.OPEN, State.LOOKED_AT}:
        reasons.append("drift_alarm")
    elif states:
        reasons.append("alarm_muted")
    if drift is not None and drift.watched:
        reasons.append("drift_watched")
    if not comparison.enough(peers):
        reasons.append("too_few_items")
    return reasons + signs(alarms)
