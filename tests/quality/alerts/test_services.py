"""A case has a life, and each step of it is kept."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone

from events.models import Event
from projects.models import Question, Rater
from quality.alerts import services
from quality.models import Alarm, AlarmStep

pytestmark = pytest.mark.django_db

TODAY = timezone.now().date()
TOMORROW = TODAY + datetime.timedelta(days=1)


@pytest.fixture
def case(question: Question, make_alarm: Any) -> Alarm:
    return make_alarm(question, Rater.objects.get())


def test_each_step_is_kept_and_told(case: Alarm, lead: Any) -> None:
    services.change_alert_state(alert=case, state="looked_at", by=lead)
    services.change_alert_state(
        alert=case, state="muted", reason="On holiday", until=TOMORROW, by=lead
    )
    services.change_alert_state(
        alert=case, state="resolved", reason="Trained", answer="real", by=lead
    )
    case.refresh_from_db()
    assert (case.state, case.answer, case.until) == ("resolved", "real", None)
    steps = AlarmStep.objects.values_list("state", "reason", "answer", "until", "by")
    assert list(steps) == [
        ("looked_at", "", "", None, lead.pk),
        ("muted", "On holiday", "", TOMORROW, lead.pk),
        ("resolved", "Trained", "real", None, lead.pk),
    ]
    events = list(Event.objects.all())
    assert [event.kind for event in events] == [
        "alarm_looked_at",
        "alarm_muted",
        "alarm_resolved",
    ]
    assert events[1].data["until"] == TOMORROW.isoformat()
    assert {event.by for event in events} == {lead}


def test_the_same_step_again_changes_nothing(case: Alarm, lead: Any) -> None:
    services.change_alert_state(alert=case, state="looked_at", by=lead)
    services.change_alert_state(alert=case, state="looked_at", by=lead)
    assert AlarmStep.objects.count() == Event.objects.count() == 1


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"state": "gone"}, "state"),
        ({"state": "muted"}, "reason"),
        ({"state": "muted", "reason": "  "}, "reason"),
        ({"state": "resolved"}, "reason"),
        ({"state": "resolved", "reason": "x" * 2001}, "reason"),
        ({"state": "resolved", "reason": "x", "answer": "maybe"}, "answer"),
        ({"state": "open", "answer": "real"}, "answer"),
        ({"state": "open", "until": TOMORROW}, "until"),
        ({"state": "muted", "reason": "x", "until": TODAY}, "until"),
    ],
)
def test_what_is_missing_or_wrong_is_named(
    case: Alarm, lead: Any, given: dict[str, Any], field: str
) -> None:
    with pytest.raises(services.InvalidAlertStep) as refused:
        services.change_alert_state(alert=case, by=lead, **given)
    assert refused.value.field == field
    case.refresh_from_db()
    assert case.state == "open"
    assert not AlarmStep.objects.exists()
    assert not Event.objects.exists()


def test_what_was_muted_until_a_day_opens_by_itself(case: Alarm, lead: Any) -> None:
    services.change_alert_state(alert=case, state="muted", reason="x", until=TOMORROW, by=lead)
    assert services.end_mutes() == 0
    Alarm.objects.update(until=TODAY)
    assert services.end_mutes() == 1
    case.refresh_from_db()
    assert (case.state, case.until) == ("open", None)
    last = AlarmStep.objects.last()
    assert last is not None
    assert (last.state, last.by) == ("open", None)


def test_what_was_muted_without_an_end_stays_so(case: Alarm, lead: Any) -> None:
    services.change_alert_state(alert=case, state="muted", reason="x", by=lead)
    assert services.end_mutes() == 0


def test_a_step_is_never_changed(case: Alarm, lead: Any) -> None:
    services.change_alert_state(alert=case, state="looked_at", by=lead)
    step = AlarmStep.objects.get()
    with pytest.raises(TypeError):
        step.save()
    with pytest.raises(TypeError):
        step.delete()
