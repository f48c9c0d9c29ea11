"""News at once: who gets them, one mail of a project in a quarter of an hour, nothing lost."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.core import mail
from django.utils import timezone

from agreement_site.models import NotificationSettings, QueuedMail
from agreement_site.notifications import news, outbox, preferences
from agreement_site.notifications.mail_contents import CHANGE_KINDS
from projects.models import Member, Question
from projects.services.projects import archive_project
from quality.alerts.services import change_alert_state
from quality.models import Alert, Gate
from tests.cast import make_project as create_project

pytestmark = pytest.mark.django_db


def test_all_news_have_a_line_in_mail() -> None:
    assert set(news.NEWS_EVENTS) <= set(CHANGE_KINDS), (
        "describe each event of NEWS in agreement_site/notifications/mail_contents.py:"
        " a group in CHANGE_KINDS, and its case in describe_changes"
    )


def test_one_mail_of_a_project_in_a_quarter_of_an_hour(
    lead: User, question: Question, open_alert: Callable[..., Alert]
) -> None:
    other = create_project("Other").questions.get()
    Member.objects.create(project=other.project, user=lead, role="lead")
    with time_machine.travel(timezone.now()) as clock:
        for key in ("ann", "ben"):
            open_alert(question, key)
        open_alert(other, "cleo")
        open_alert(question, "dan", kind="rater_fast")  # not wanted at once
        assert outbox.sweep_mail() == 2
        assert sorted(message.subject for message in mail.outbox)[1] == (
            "[Concord] Reviews: 2 new alerts or failed gates"
        )
        text = next(m.body for m in mail.outbox if "Reviews" in m.subject)
        assert text.count("/alerts/") == 2
        mail.outbox.clear()
        for key in ("eve", "fay"):
            open_alert(question, key)
            clock.shift(datetime.timedelta(minutes=5))
            assert outbox.sweep_mail() == 0
        answered = open_alert(question, "gus")
        change_alert_state(alert=answered, state="acknowledged", by=lead)
        clock.shift(datetime.timedelta(minutes=6))
        assert outbox.sweep_mail() == 1
    [message] = mail.outbox
    assert [message.body.count(name) for name in ("eve", "fay", "gus", "ann")] == [2, 2, 0, 0] or (
        message.body.count("/alerts/") == 2
    )
    assert not QueuedMail.objects.filter(state="pending").exists()


def test_event_during_a_sending_is_in_the_next_mail(
    lead: User, question: Question, open_alert: Callable[..., Alert]
) -> None:
    open_alert(question, "ann")
    news.queue_mails_of_events()
    row = QueuedMail.objects.get()
    claimed = outbox._claim_mail(row.pk)
    assert claimed is not None
    open_alert(question, "ben")
    news.queue_mails_of_events()
    outbox._store_final_state(claimed, "sent")
    second = QueuedMail.objects.get(state="pending")
    assert second.after_event >= claimed.until_event
    with time_machine.travel(timezone.now() + outbox.NEWS_INTERVAL):
        outbox.sweep_mail()
    assert mail.outbox[0].body.count("/alerts/") == 1 and "ben" in mail.outbox[0].body


def test_each_event_is_queued_once(
    lead: User, viewer: User, question: Question, open_alert: Callable[..., Alert], monkeypatch: Any
) -> None:
    """A worker that fails before the commit leaves the cursor, and the next one queues the same."""
    viewer.email = "viewer@example.org"
    viewer.save()
    preferences.save_preferences(user=viewer, at_once=["alerts", "gates"])
    open_alert(question, "ann")
    with monkeypatch.context() as patch:
        patch.setattr(news, "_queue_personal_mails", lambda _events: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            news.queue_mails_of_events()
    assert QueuedMail.objects.count() == 0
    assert (news.queue_mails_of_events(), news.queue_mails_of_events()) == (2, 0)
    assert set(QueuedMail.objects.values_list("user", flat=True)) == {lead.pk, viewer.pk}


def test_what_is_no_longer_allowed_or_wanted_is_not_sent(
    lead: User, viewer: User, question: Question, open_alert: Callable[..., Alert]
) -> None:
    viewer.email = "viewer@example.org"
    viewer.save()
    preferences.save_preferences(user=viewer, at_once=["drift"])
    open_alert(question, "ann")
    news.queue_mails_of_events()
    Member.objects.filter(user=viewer).delete()
    NotificationSettings.objects.filter(user=lead).update(at_once=[])
    assert outbox.send_due_mails() == 0
    assert set(QueuedMail.objects.values_list("state", flat=True)) == {"skipped"}
    NotificationSettings.objects.filter(user=lead).update(at_once=["drift"])
    open_alert(question, "ben")
    archive_project(project=question.project, archived=True, by=lead)
    assert outbox.sweep_mail() == 0


def test_no_news_of_a_gate_that_passes_again(
    lead: User, question: Question, decide_gate: Callable[..., Gate]
) -> None:
    with time_machine.travel(timezone.now()) as clock:
        preferences.save_preferences(user=lead, at_once=["gates"])
        decide_gate(question, "fail")
        decide_gate(question, "pass")
        outbox.sweep_mail()
        assert not mail.outbox
        decide_gate(question, "fail")
        clock.shift(datetime.timedelta(minutes=16))
        outbox.sweep_mail()
        [message] = mail.outbox
        assert "“release” fails" in message.subject
