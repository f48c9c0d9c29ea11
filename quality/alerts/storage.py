"""Store the result of a scan: new alerts and each rater's drift state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone, translation

from core.jobs.lease import LeaseLost, get_leased_rows
from events.services import record_event
from metrics.agreement import drift
from projects.models import Question
from quality import recomputation
from quality.alerts.kinds import ABOUT_QUESTION, ABOUT_RATER, KINDS
from quality.models import (
    Alert,
    AlertCause,
    AlertKind,
    AlertMeasure,
    AlertScan,
    AlertState,
    AlertStep,
    DriftState,
)
from ratings.models import ImportRun
from ratings.services.rating_timestamps import date_from_day

from .candidates import OPEN_END, AlertCandidate, AlertPeriod, build_pair_subject, match_periods
from .scan import ScanResult, to_day_number


def get_input_versions(only: int | None = None) -> recomputation.InputVersions:
    """Return {question id: input version of its alerts}, of all counted questions or of one.

    Besides counts and scale, a version contains what changes the result of a scan: guidelines,
    sensitivity, ratings wanted per item, attribute of clusters, and alerts with the cause
    NOT_RATER.
    """
    excused_alerts: dict[int, list[int]] = defaultdict(list)
    alerts = Alert.objects.filter(
        cause=AlertCause.NOT_RATER, **recomputation.build_question_filter(only)
    )
    alerts = alerts.filter(kind=AlertKind.RATER_DRIFT)
    for question_id, alert_id in alerts.order_by("pk").values_list("question_id", "pk"):
        excused_alerts[question_id].append(alert_id)
    versions = recomputation.get_count_versions(
        only,
        guidelines="project__guidelines_version",
        rules="project__alert_settings__sensitivity",
        overlap="project__overlap",
        clusters="project__cluster_attribute",
    )
    for question_id, version in versions.items():
        version["excused"] = excused_alerts[question_id]
    return versions


def list_outdated_questions() -> list[int]:
    """Return ids of the questions that changed since their last scan, oldest result first.

    After them come unchanged questions in which time alone makes items lack ratings
    (AlertScan.next_scan_on). Questions into which an import is writing are left out until it is
    complete: an incomplete history may raise alerts that the complete one does not.
    """
    running_imports = ImportRun.objects.filter(state=ImportRun.State.WRITING)
    importing_ids = set(running_imports.values_list("question_id", flat=True))
    outdated_ids = recomputation.list_outdated(AlertScan, get_input_versions())
    due_scans = AlertScan.objects.filter(next_scan_on__lte=timezone.now().date()).order_by("pk")
    due_ids = due_scans.values_list("pk", flat=True)
    # A question may be outdated and due: keep its first place.
    question_ids = dict.fromkeys([*outdated_ids, *due_ids])
    return [question_id for question_id in question_ids if question_id not in importing_ids]


BATCH_SIZE = 1_000
# Kinds of alerts that have a kind of event of their own, beside alert.opened.
EVENT_OF_KIND: dict[str, str] = {
    AlertKind.QUESTION_FELL: "question.fell",
    AlertKind.RATER_DRIFT: "rater.drifted",
}
PAIR_KINDS = (AlertKind.PAIR_DIVERGED, AlertKind.RATER_COPIES)


@transaction.atomic
def store_scan(run: AlertScan, question: Question, result: ScanResult) -> list[Alert]:
    """Create new alerts, replace the raters' drift states, and return the new alerts.

    Locks the run's row. Raises LeaseLost, with nothing written, if another worker holds the run.
    """
    if get_leased_rows(run).select_for_update().first() is None:
        raise LeaseLost
    if result.drift is None:
        DriftState.objects.filter(question=question).delete()
        return []
    new_alerts = create_alerts(question, result.candidates, SCANNED_KINDS)
    _replace_drift_states(question, result.drift)
    return new_alerts


SCANNED_KINDS = frozenset(AlertKind.values) - {
    AlertKind.GOLD_SUSPECTED
}  # kinds that a scan detects


def create_alerts(
    question: Question, candidates: Sequence[AlertCandidate], kinds: Collection[str]
) -> list[Alert]:
    """Create an alert for each new candidate of these kinds, and return the new alerts.

    Sets ``supported`` of the stored alerts of these kinds: whether a candidate still matches. The
    caller's transaction must hold a lock against other writers of these kinds.
    """
    stored_alerts = list(Alert.objects.filter(question=question).order_by("pk").defer("chart"))
    new_alerts = []
    for kind in AlertKind.values:
        if kind not in kinds:
            continue
        alerts_of_kind = [alert for alert in stored_alerts if alert.kind == kind]
        candidates_of_kind = [candidate for candidate in candidates if candidate.kind == kind]
        periods = match_periods(
            [candidate.period for candidate in candidates_of_kind],
            [_build_period(alert) for alert in alerts_of_kind],
        )
        matched_indexes = set(periods.alert_index_of.values())
        for index, alert in enumerate(alerts_of_kind):
            if alert.supported != (index in matched_indexes):
                alert.supported = index in matched_indexes
                alert.save(update_fields=["supported"])
        for index, candidate in enumerate(candidates_of_kind):
            if periods.is_new(index) and not _has_alert_of_same_cause(candidate, stored_alerts):
                alert = _create_alert(question, candidate)
                stored_alerts.append(alert)
                new_alerts.append(alert)
    return new_alerts


def _has_alert_of_same_cause(candidate: AlertCandidate, stored_alerts: Sequence[Alert]) -> bool:
    """Return whether an unresolved, supported alert of another kind has the candidate's cause.

    It has if it is about the same rater, or about the question on overlapping days.
    """
    period, about = candidate.period, KINDS[candidate.kind].about
    for alert in stored_alerts:
        if (
            alert.kind == candidate.kind
            or alert.state == AlertState.RESOLVED
            or not alert.supported
        ):
            continue
        if about != KINDS[alert.kind].about:
            continue
        if about == ABOUT_RATER and set(period.about) & set(_get_subjects(alert)):
            return True
        if about == ABOUT_QUESTION and not period.count_days_to(_build_period(alert)):
            return True
    return False


def _get_subjects(alert: Alert) -> tuple[int, ...]:
    """Return what an alert is about, as ``AlertPeriod.about``."""
    if alert.kind == AlertKind.CATEGORY_COLLAPSED:
        return (alert.code or 0,)
    raters = [rater for rater in (alert.rater_id, alert.other_rater_id) if rater is not None]
    return build_pair_subject(raters) if alert.kind in PAIR_KINDS else tuple(raters) or (0,)


def _build_period(alert: Alert) -> AlertPeriod:
    """Return the period of a stored alert, for matching it with candidates."""
    if (
        not KINDS[alert.kind].about and alert.state != AlertState.RESOLVED
    ):  # it lasts until it is resolved
        return AlertPeriod(_get_subjects(alert), to_day_number(alert.since), OPEN_END)
    if alert.kind == AlertKind.GOLD_SUSPECTED:  # further suspected gold is a new alert
        return AlertPeriod((), to_day_number(alert.since), to_day_number(alert.detected_on))
    return AlertPeriod(
        _get_subjects(alert), to_day_number(alert.since), to_day_number(alert.detected_on)
    )


def _create_alert(question: Question, candidate: AlertCandidate) -> Alert:
    """Create an alert with its first step and its event."""
    alert = Alert(
        question=question, kind=candidate.kind, created_at=timezone.now(), **candidate.fields
    )
    alert.impact = alert.compute_own_impact()
    alert.save()
    AlertStep.objects.create(alert=alert, at=alert.created_at, state=AlertState.OPEN)
    record_alert_event(alert, "alert.opened")
    if alert.kind in EVENT_OF_KIND:
        record_alert_event(alert, EVENT_OF_KIND[alert.kind])
    return alert


def record_alert_event(alert: Alert, kind: str, *, by: Any = None, **data: Any) -> None:
    """Record an event of an alert in the caller's transaction.

    Its data are the numbers of the alert, its error rate in words, and ``data``.
    """
    with translation.override("en"):  # as everywhere in the API
        promise = KINDS[alert.kind].error_rate(alert)
    record_event(
        project_id=alert.question.project_id,
        kind=kind,
        subject=f"alert/{alert.pk}",
        data={
            "alert": alert.pk,
            "kind": alert.kind,
            "question": alert.question.key,
            "rater": alert.rater.key if alert.rater else None,
            "other_rater": alert.other_rater.key if alert.other_rater else None,
            "measure": alert.measure,
            "since": alert.since.isoformat(),
            "since_earliest": alert.since_earliest.isoformat(),
            "since_latest": alert.since_latest.isoformat(),
            "detected_on": alert.detected_on.isoformat(),
            "size": alert.size,
            "low": alert.low,
            "high": alert.high,
            "n": alert.n,
            "n_before": alert.n_before,
            "evidence": alert.evidence,
            "promise": promise,
            **data,
        },
        by=by,
    )


# --- drift states of raters


def _replace_drift_states(question: Question, drift_result: drift.DriftResult) -> None:
    """Delete all drift states of the question, and store those of the result."""
    rows = build_drift_states(question, drift_result)
    DriftState.objects.filter(question=question).delete()
    DriftState.objects.bulk_create(rows, batch_size=BATCH_SIZE)


def build_drift_states(question: Question, drift_result: drift.DriftResult) -> list[DriftState]:
    """Return an unsaved DriftState for each rater of the drift result."""
    charts = {chart.rater: chart for chart in drift_result.charts}
    rows = []
    for index, state in enumerate(drift_result.raters):
        row = DriftState(
            question=question,
            rater_id=state.rater,
            evidence=state.evidence,
            max_evidence=state.max_evidence,
            watched=state.watched,
            n=state.n,
            reason=state.reason or "",
        )
        if index in charts and not state.reason:
            _set_drift_fields(row, charts[index])
        rows.append(row)
    return rows


def _set_drift_fields(row: DriftState, chart: drift.ControlChart) -> None:
    """Set measure, onset and size from the channel with the most evidence on the newest day.

    Nothing is set without an onset.
    """
    day_index = chart.day.size - 1
    channel = chart.find_leading_channel(day_index)
    evidence = chart.channels[channel]
    onset = int(evidence.onset[day_index])
    if onset < 0:
        return
    extent = chart.estimate_shift(channel, day_index)
    row.measure = AlertMeasure(drift.SCORE_OF_CHANNEL[channel])
    row.since = date_from_day(int(chart.day[onset]))
    row.size, row.low, row.high = float(evidence.step[day_index]), extent.low, extent.high
