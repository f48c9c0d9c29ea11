"""Input version of a question's alerts: values that change whenever a scan is due."""

from __future__ import annotations

from collections import defaultdict

from quality import recomputation
from quality.models import Alert, AlertCause, AlertKind, AlertScan
from ratings.models import ImportRun


def get_input_versions(only: int | None = None) -> recomputation.InputVersions:
    """Return {question id: input version of its alerts}, of all counted questions or of one.

    New guidelines begin a new segment, an excused drift readmits ratings as peers, and the
    sensitivity sets the threshold.
    """
    excused_alerts: dict[int, list[int]] = defaultdict(list)
    alerts = Alert.objects.filter(
        cause=AlertCause.NOT_RATER, **recomputation.build_question_filter(only)
    )
    alerts = alerts.filter(kind=AlertKind.RATER_DRIFT)
    for question_id, alert_id in alerts.order_by("pk").values_list("question_id", "pk"):
        excused_alerts[question_id].append(alert_id)
    versions = recomputation.get_count_versions(
        only, guidelines="project__guidelines_version", rules="project__alert_settings__sensitivity"
    )
    for question_id, version in versions.items():
        version["excused"] = excused_alerts[question_id]
    return versions


def list_outdated_questions() -> list[int]:
    """Return ids of the questions that changed since their last scan, oldest result first.

    A question that an import writes into is left out until the import is complete: half of a
    history may suggest what the whole does not.
    """
    running_imports = ImportRun.objects.filter(state=ImportRun.State.WRITING)
    importing_ids = set(running_imports.values_list("question_id", flat=True))
    outdated_ids = recomputation.list_outdated(AlertScan, get_input_versions())
    return [question_id for question_id in outdated_ids if question_id not in importing_ids]
