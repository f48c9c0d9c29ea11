"""Fixtures of a site that sends mail, and of a lead who has an address."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.mail.utils import DNS_NAME
from django.db import transaction
from django.utils import timezone

from agreement_site.models import NewsCursor
from agreement_site.notifications import preferences
from events import feed
from events.services import record_event
from projects.models import Question, Rater
from quality.alerts.storage import EVENT_OF_KIND, record_alert_event
from quality.gates.verdict_jobs import EVENT_KINDS
from quality.models import Alert, Gate
from tests.agreement_site.notifications.smtp_servers import SmtpServer, start_smtp_server


@pytest.fixture(autouse=True)
def mail_settings(settings: Any) -> None:
    """Configure a mail server; tests find mails in mail.outbox."""
    settings.SMTP_URL = "smtp://mail.example.org"
    settings.DEFAULT_FROM_EMAIL = "concord@example.org"
    settings.SITE_URL = "https://concord.example.org"


@pytest.fixture
def smtp_server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmtpServer]:
    """A real mail server instead of mail.outbox."""
    # Else Django asks the name server for the name of this host, which takes long without one.
    monkeypatch.setattr(DNS_NAME, "_fqdn", "localhost", raising=False)
    with start_smtp_server() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        yield server


@pytest.fixture(autouse=True)
def lead_settings(lead: User, project: Any) -> None:
    """Give the lead an address and the default settings; the feed is read from its beginning."""
    lead.email = "lead@example.org"
    lead.save()
    preferences.create_missing_settings()
    NewsCursor.objects.create(pk=1)


@pytest.fixture
def decide_gate() -> Callable[..., Gate]:
    """``decide_gate(question, "fail")`` stores a verdict of the gate "release" with its event."""

    def decide(question: Question, verdict: str, name: str = "release") -> Gate:
        now = timezone.now()
        fields = {"question": question, "rules": [], "created_at": now, "changed_at": now}
        gate, _created = Gate.objects.update_or_create(
            project=question.project, name=name, defaults={**fields, "verdict": verdict}
        )
        data = {"gate": gate.name, "question": question.key, "rules": []}
        with transaction.atomic():
            record_event(
                project_id=gate.project_id,
                kind=EVENT_KINDS[verdict],
                subject=f"gate/{gate.pk}",
                data=data,
            )
        feed.publish_events()
        return gate

    return decide


@pytest.fixture
def open_alert(make_alert: Any) -> Callable[..., Alert]:
    """``open_alert(question, "ann", **fields)`` creates an alert as a scan does, with its events."""

    def create(question: Question, key: str, **fields: Any) -> Alert:
        rater, _created = Rater.objects.get_or_create(project=question.project, key=key)
        alert: Alert = make_alert(question, rater, **fields)
        with transaction.atomic():
            record_alert_event(alert, "alert.opened")
            if alert.kind in EVENT_OF_KIND:
                record_alert_event(alert, EVENT_OF_KIND[alert.kind])
        feed.publish_events()
        return alert

    return create
