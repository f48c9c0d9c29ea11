"""Test the sensitivity of alerts: set per project, explained on the page, kept in the audit log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from projects.models import Question, Rater
from quality import tasks
from quality.alerts import chart_annotations, sensitivity, storage
from quality.models import Alert, AlertScan, AlertSettings

pytestmark = pytest.mark.django_db(transaction=True)


def test_lead_chooses_the_sensitivity(
    make_stream: Callable[..., Question], client_for: Any, lead: Any, viewer: Any
) -> None:
    question = make_stream(moves={"dan": 30})
    tasks.sweep_alerts()
    assert [alert.facts for alert in Alert.objects.all()] == [{"level": 5000.0}]
    page = f"/projects/{question.project_id}/alerts/settings/"
    assert client_for(viewer).get(page).status_code == 403
    client = client_for(lead)
    text = client.get(page).text
    assert "Chance alone causes at most one false alert per rater in 20 years" in text
    assert "per year" in text
    assert "shared items." in text
    assert client.post(page, {"sensitivity": "odd"}).status_code == 400
    assert not AlertSettings.objects.exists()
    assert client.post(page, {"sensitivity": "high"}).status_code == 302
    assert client.post(page, {"sensitivity": "high"}).status_code == 302
    assert storage.list_outdated_questions() == [question.pk]
    assert (
        "Alert sensitivity changed"
        in client.get(f"/projects/{question.project_id}/audit-log/").text
    )
    AlertScan.objects.update(computed_at=None)
    assert tasks.sweep_alerts() == 1
    assert Alert.objects.filter(rater__key="dan", facts__level=5000.0, supported=True).count() == 1
    alerts_of_others = Alert.objects.exclude(rater__key="dan")
    assert {alert.facts["level"] for alert in alerts_of_others} <= {250.0}
    rows = sensitivity.list_expected_alerts(question.project)
    assert [row.level for row in rows] == [5000, 1000, 250]
    assert [row.false_alerts_per_year for row in rows] == sorted(
        row.false_alerts_per_year or 0 for row in rows
    )
    assert [row.items for row in rows] == sorted((row.items or 0 for row in rows), reverse=True)


def test_open_alert_is_marked_on_trend_charts(question: Question, make_alert: Any) -> None:
    rater = Rater.objects.get(key="ann")
    alert = make_alert(question, rater)
    assert chart_annotations.list_chart_annotations(question, None) == [
        ("2026-08-17", f"Alert: {rater}")
    ]
    assert chart_annotations.list_chart_annotations(question, rater) == [("2026-08-17", "Alert")]
    assert (
        chart_annotations.list_chart_annotations(
            question, Rater.objects.create(project=question.project, key="ben")
        )
        == []
    )
    Alert.objects.filter(pk=alert.pk).update(state="resolved")
    assert chart_annotations.list_chart_annotations(question, None) == []
