"""Test the steps of an alert, each of which is saved."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone

from events.models import Event
from projects.models import Question, Rater
from quality.alerts import services
from quality.models import Alert, AlertStep

pytestmark = pytest.mark.django_db

TODAY = timezone.now().date()
TOMORROW = TODAY + datetime.timedelta(days=1)


@pytest.fixture
def alert(question: Question, make_alert: Any) -> Alert:
    return make_alert(question, Rater.objects.get())


def test_each_step_is_saved_with_an_event(alert: Alert, lead: Any) -> None:
    services.change_alert_state(alert=alert, state="acknowledged", by=lead)
    services.change_alert_state(
        alert=alert, state="muted", reason="On holiday", muted_until=TOMORROW, by=lead
    )
    services.change_alert_state(
        alert=alert, state="resolved", reason="Trained", cause="real", by=lead
    )
    alert.refresh_from_db()
    assert (alert.state, alert.cause, alert.muted_until) == ("resolved", "real", None)
    steps = AlertStep.objects.values_list("state", "reason", "cause", "muted_until", "by")
    assert list(steps) == [
        ("acknowledged", "", "", None, lead.pk),
        ("muted", "On holiday", "", TOMORROW, lead.pk),
        ("resolved", "Trained", "real", None, lead.pk),
    ]
    events = list(Event.objects.all())
    assert [event.kind for event in events] == [
        "alert.acknowledged",
        "alert.muted",
        "alert.resolved",
    ]
    assert events[1].data["muted_until"] == TOMORROW.isoformat()
    assert {event.by for event in events} == {lead}


def test_repeated_step_changes_nothing(alert: Alert, lead: Any) -> None:
    services.change_alert_state(alert=alert, state="acknowledged", by=lead)
    services.change_alert_state(alert=alert, state="acknowledged", by=lead)
    assert AlertStep.objects.count() == Event.objects.count() == 1


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"state": "gone"}, "state"),
        ({"state": "muted"}, "reason"),
        ({"state": "muted", "reason": "  "}, "reason"),
        ({"state": "resolved"}, "reason"),
        ({"state": "resolved", "reason": "x" * 2001}, "reason"),
        ({"state": "resolved", "reason": "x", "cause": "maybe"}, "cause"),
        ({"state": "open", "cause": "real"}, "cause"),
        ({"state": "open", "muted_until": TOMORROW}, "muted_until"),
        ({"state": "muted", "reason": "x", "muted_until": TODAY}, "muted_until"),
    ],
)
def test_invalid_step_raises_error_with_its_field(
    alert: Alert, lead: Any, arguments: dict[str, Any], field: str
) -> None:
    with pytest.raises(services.InvalidAlertStep) as error_info:
        services.change_alert_state(alert=alert, by=lead, **arguments)
    assert error_info.value.field == field
    alert.refresh_from_db()
    assert alert.state == "open"
    assert not AlertStep.objects.exists()
    assert not Event.objects.exists()


def test_alert_muted_until_a_day_reopens_automatically(alert: Alert, lead: Any) -> None:
    services.change_alert_state(
        alert=alert, state="muted", reason="x", muted_until=TOMORROW, by=lead
    )
    assert services.end_expired_mutes() == 0
    Alert.objects.update(muted_until=TODAY)
    assert services.end_expired_mutes() == 1
    alert.refresh_from_db()
    assert (alert.state, alert.muted_until) == ("open", None)
    last = AlertStep.objects.last()
    assert last is not None
    assert (last.state, last.by) == ("open", None)


def test_alert_muted_without_end_stays_muted(alert: Alert, lead: Any) -> None:
    services.change_alert_state(alert=alert, state="muted", reason="x", by=lead)
    assert services.end_expired_mutes() == 0


def test_saved_step_cannot_be_changed_or_deleted(alert: Alert, lead: Any) -> None:
    services.change_alert_state(alert=alert, state="acknowledged", by=lead)
    step = AlertStep.objects.get()
    with pytest.raises(TypeError):
        step.save()
    with pytest.raises(TypeError):
        step.delete()
