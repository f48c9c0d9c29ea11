"""What a look at a question found, into its rows: new cases, and where each rater stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db import transaction
from django.utils import timezone

from events.recording import record
from groundwork.work.lease import Lost, held
from metrics.agreement import drift
from projects.models import Question
from quality.models import Alarm, AlarmStep, DriftRun, DriftStanding, Kind, Measure, State
from ratings.recording.days import date_of

from .looking import Looked, number
from .matching import Stretch, match

AT_ONCE = 1_000
DIGITS = 4  # of a chart's figures


@transaction.atomic
def store(run: DriftRun, question: Question, looked: Looked) -> list[Alarm]:
    """Raise what is new, and put down where the raters stand; the new alarms. Lost, having written
    nothing, when the run is in other hands."""
    if held(run).select_for_update().first() is None:
        raise Lost
    if looked.drift is None:
        DriftStanding.objects.filter(question=question).delete()
        return []
    raised = _cases(question, looked.drift.alarms)
    _standings(question, looked.drift)
    return raised


def _cases(question: Question, found: Sequence[drift.Alarm]) -> list[Alarm]:
    """A case for each alarm that has none; the others are told whether they stand."""
    stored = list(
        Alarm.objects.filter(question=question, kind=Kind.RATER_DRIFT).order_by("pk").defer("chart")
    )
    today = [Stretch(alarm.raters, alarm.onset, alarm.day) for alarm in found]
    matched = match(today, [_stretch(case) for case in stored])
    standing = set(matched.case_of.values())
    for place, case in enumerate(stored):
        if case.stands != (place in standing):
            case.stands = place in standing
            case.save(update_fields=["stands"])
    raised = []
    for place, alarm in enumerate(found):
        if matched.is_new(place):
            raised.append(_raise(question, alarm))
    return raised


def _stretch(case: Alarm) -> Stretch:
    raters = [rater for rater in (case.rater_id, case.other_id) if rater is not None]
    return Stretch(tuple(raters), number(case.since), number(case.noticed))


def _raise(question: Question, found: drift.Alarm) -> Alarm:
    measure = drift.SCORE[found.channel]
    others = [rater for rater in found.raters if rater != found.rater]
    case = Alarm.objects.create(
        question=question,
        rater_id=found.rater,
        other_id=others[0] if others else None,
        kind=Kind.RATER_DRIFT,
        measure=Measure(measure),
        since=date_of(found.onset),
        since_earliest=date_of(found.earliest),
        since_latest=date_of(found.latest),
        noticed=date_of(found.day),
        raised_at=timezone.now(),
        size=found.size,
        low=found.low,
        high=found.high,
        n=found.n_since,
        n_before=found.n_before,
        evidence=found.evidence,
        reason=found.reason or "",
        chart=_chart(found.chart, measure),
    )
    AlarmStep.objects.create(alarm=case, at=case.raised_at, state=State.OPEN)
    tell(case, "alarm_raised")
    return case


def tell(case: Alarm, kind: str, *, by: Any = None, **data: Any) -> None:
    """Record an event of a case, in the caller's transaction."""
    record(
        project_id=case.question.project_id,
        kind=kind,
        subject=f"alarm/{case.pk}",
        data={
            "alarm": case.pk,
            "kind": case.kind,
            "question": case.question.key,
            "rater": case.rater.key if case.rater else None,
            "measure": case.measure,
            "since": case.since.isoformat(),
            "size": case.size,
            "n": case.n,
            **data,
        },
        by=by,
    )


def _chart(chart: drift.Chart, measure: str) -> dict[str, list[Any]]:
    return {
        "days": chart.day.tolist(),
        "n": chart.n.tolist(),
        "means": np.round(chart.means[measure], DIGITS).tolist(),
        "evidence": [float(f"{value:.6g}") for value in chart.evidence.tolist()],
    }


# --- where everybody stands


def _standings(question: Question, found: drift.Drift) -> None:
    """All anew: they are few beside the ratings that they are made of."""
    charts = {chart.rater: chart for chart in found.charts}
    rows = []
    for place, standing in enumerate(found.raters):
        row = DriftStanding(
            question=question,
            rater_id=standing.rater,
            evidence=standing.evidence,
            greatest=standing.greatest,
            watched=standing.watched,
            n=standing.n,
            reason=standing.reason or "",
        )
        if place in charts and not standing.reason:
            _add_size(row, charts[place])
        rows.append(row)
    DriftStanding.objects.filter(question=question).delete()
    DriftStanding.objects.bulk_create(rows, batch_size=AT_ONCE)


def _add_size(row: DriftStanding, chart: drift.Chart) -> None:
    """What the evidence of the newest day is most for."""
    t = chart.day.size - 1
    channel = chart.leading(t)
    evidence = chart.channels[channel]
    onset = int(evidence.onset[t])
    if onset < 0 or not math.isfinite(evidence.error[t]):
        return
    step, margin = float(evidence.step[t]), drift.NORMAL * float(evidence.error[t])
    row.measure = Measure(drift.SCORE[channel])
    row.since = date_of(int(chart.day[onset]))
    row.size, row.low, row.high = step, step - margin, step + margin
