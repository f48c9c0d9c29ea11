"""Sending by a real mail server: refusals, two workers, and a worker that is killed in between."""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from agreement_site.models import NotificationSettings, QueuedMail
from agreement_site.notifications import outbox
from core.jobs.outbox import KEEP_ENDED, MAX_JITTER
from projects.models import Question
from quality.models import Alert
from tests.agreement_site.notifications.smtp_servers import SmtpServer
from tests.database_templates import replace_database_name


def queue_news(user: User, project: Any) -> QueuedMail:
    now = timezone.now()
    return QueuedMail.objects.create(
        kind="news", user=user, project=project, until_event=10**6, next_at=now, created_at=now
    )


@pytest.mark.django_db
def test_mail_arrives_once_with_both_parts(
    smtp_server: SmtpServer,
    lead: User,
    question: Question,
    open_alert: Callable[..., Alert],
) -> None:
    open_alert(question, "项目")
    row = queue_news(lead, question.project)
    assert (outbox.send_due_mails(), outbox.send_due_mails()) == (1, 0)
    [message] = smtp_server.messages
    parts = [part.get_content_type() for part in message.walk()]
    assert parts == ["multipart/alternative", "text/plain", "text/html"]
    assert message["To"] == "lead@example.org" and "项目" in str(message["Subject"])
    row.refresh_from_db()
    assert (row.state, row.attempts, row.next_at) == ("sent", 1, None)
    call_command("send_test_mail", "me@example.org")
    assert smtp_server.messages[-1]["To"] == "me@example.org"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("answer", "state", "n_mails"),
    [("550 no such user", "failed", 1), ("451 try later", "sent", 2)],
)
def test_refusal_by_the_server(
    smtp_server: SmtpServer,
    lead: User,
    question: Question,
    open_alert: Callable[..., Alert],
    answer: str,
    state: str,
    n_mails: int,
) -> None:
    open_alert(question, "ann")
    row = queue_news(lead, question.project)
    smtp_server.respond = lambda _message: answer
    outbox.send_due_mails()
    smtp_server.respond = lambda _message: "250 OK"
    with time_machine.travel(timezone.now() + outbox.RETRY_DELAYS[0] * (1 + MAX_JITTER)):
        outbox.send_due_mails()
    row.refresh_from_db()
    assert (row.state, len(smtp_server.messages)) == (state, n_mails)
    assert len({message["Message-ID"] for message in smtp_server.messages}) == 1


@pytest.mark.django_db
def test_server_that_is_down_costs_no_attempt(
    lead: User, question: Question, open_alert: Callable[..., Alert], settings: Any
) -> None:
    open_alert(question, "ann")
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_USE_TLS = "127.0.0.1", 9, False
    row = queue_news(lead, question.project)
    assert outbox.send_due_mails() == 0
    row.refresh_from_db()
    assert (row.state, row.attempts, row.leased_until) == ("pending", 0, None)
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    with time_machine.travel(timezone.now() + datetime.timedelta(days=8)):
        assert outbox.send_due_mails() == 0, "after a week it is on the pages alone"
    row.refresh_from_db()
    assert row.state == "skipped"


@pytest.mark.django_db
def test_mail_that_another_worker_sends_is_left_alone(
    smtp_server: SmtpServer, lead: User, question: Question, open_alert: Callable[..., Alert]
) -> None:
    """While the server has a mail, another worker sweeps."""
    open_alert(question, "ann")
    row = queue_news(lead, question.project)
    claimed = outbox._claim_mail(row.pk)
    assert claimed is not None
    assert outbox.send_due_mails() == 0, "the lease holds"
    with time_machine.travel(timezone.now() + outbox.LEASE):
        assert outbox.send_due_mails() == 1
    outbox._store_final_state(claimed, "failed")
    row.refresh_from_db()
    assert row.state == "sent", "who lost the lease writes nothing"


@pytest.mark.django_db(transaction=True)
def test_mail_of_killed_workers_is_sent_again(
    smtp_server: SmtpServer, lead: User, question: Question, open_alert: Callable[..., Alert]
) -> None:
    open_alert(question, "ann")
    row = queue_news(lead, question.project)
    name = str(connection.settings_dict["NAME"])
    url = f"sqlite:///{name}"
    if connection.vendor == "postgresql":
        url = replace_database_name(os.environ["DATABASE_URL"], name)
    code = (
        "import django; django.setup();"
        "from django.core.mail.utils import DNS_NAME; DNS_NAME._fqdn = 'localhost';"
        "from agreement_site.notifications import outbox; outbox.send_due_mails()"
    )
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "agreement_site.settings",
        "SECRET_KEY": django_settings.SECRET_KEY,
        "SITE_URL": django_settings.SITE_URL,
        "SMTP_URL": f"smtp://127.0.0.1:{smtp_server.port}",
        "SMTP_TLS": "0",
        "MAIL_FROM": "concord@example.org",
    }
    worker: list[int] = []

    def kill_worker(_message: Any) -> str:
        while not worker:
            pass
        os.kill(worker[0], signal.SIGKILL)
        return "250 OK"

    smtp_server.respond = kill_worker
    with subprocess.Popen([sys.executable, "-c", code], env=environment) as process:
        worker.append(process.pid)
        assert process.wait(timeout=150) == -signal.SIGKILL
    assert outbox.send_due_mails() == 0, "the lease of the dead worker holds"
    assert len(smtp_server.messages) == 1

    def end_lease() -> None:
        QueuedMail.objects.update(leased_until=timezone.now() - datetime.timedelta(seconds=1))

    for _killed_worker in range(outbox.MAX_INTERRUPTED - 2):
        end_lease()
        assert outbox._claim_mail(row.pk) is not None, "a further worker dies with the mail"
    end_lease()
    smtp_server.respond = lambda _message: "250 OK"
    assert outbox.send_due_mails() == 1
    row.refresh_from_db()
    assert (row.state, row.failures, len(smtp_server.messages)) == ("sent", 0, 2)
    assert len({message["Message-ID"] for message in smtp_server.messages}) == 1


@pytest.mark.django_db
def test_interrupted_attempts_do_not_count_as_refused(
    smtp_server: SmtpServer, lead: User, question: Question, open_alert: Callable[..., Alert]
) -> None:
    """Each of the usual refusals follows an interrupted attempt, yet none of the mail is lost."""
    open_alert(question, "ann")
    row = queue_news(lead, question.project)
    smtp_server.respond = lambda _message: "451 try later"
    now = timezone.now()
    for refusals in range(1, len(outbox.RETRY_DELAYS) + 1):
        with time_machine.travel(now):
            assert outbox._claim_mail(row.pk) is not None
        with time_machine.travel(now + 2 * outbox.LEASE):
            outbox.send_due_mails()
        row.refresh_from_db()
        assert (row.state, row.attempts, row.failures) == ("pending", 2 * refusals, refusals)
        assert row.next_at is not None
        now = row.next_at
    assert len(smtp_server.messages) == len(outbox.RETRY_DELAYS)


@pytest.mark.django_db
def test_mail_that_ends_every_worker_is_given_up(
    lead: User, project: Any, caplog: pytest.LogCaptureFixture
) -> None:
    row = queue_news(lead, project)
    for _worker in range(outbox.MAX_INTERRUPTED):
        assert outbox._claim_mail(row.pk) is not None
        QueuedMail.objects.update(leased_until=timezone.now() - datetime.timedelta(seconds=1))
    assert outbox._claim_mail(row.pk) is None
    row.refresh_from_db()
    assert (row.state, "7 workers ended" in caplog.text) == ("failed", True)


@pytest.mark.django_db
def test_repeated_mail_has_the_same_message_id(
    smtp_server: SmtpServer, lead: User, question: Question, open_alert: Callable[..., Alert]
) -> None:
    """The worker dies after the server accepted the mail; another one sends it again."""
    open_alert(question, "ann")
    row = queue_news(lead, question.project)
    claimed = outbox._claim_mail(row.pk)
    assert claimed is not None
    sent = outbox.compose_message(claimed)
    assert sent is not None and sent.send() == 1
    QueuedMail.objects.update(leased_until=timezone.now() - datetime.timedelta(seconds=1))
    assert outbox.send_due_mails() == 1
    first, second = smtp_server.messages
    assert first["Message-ID"] == second["Message-ID"]
    assert first["Message-ID"].endswith("@concord.example.org>")


@pytest.mark.django_db
def test_old_rows_are_deleted(lead: User, project: Any) -> None:
    row = queue_news(lead, project)
    outbox._store_final_state(row, "sent")
    assert outbox.delete_old_mails() == 0
    with time_machine.travel(timezone.now() + KEEP_ENDED + datetime.timedelta(days=1)):
        assert outbox.delete_old_mails() == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("model", "fields", "constraint"),
    [
        (QueuedMail, {"state": "sent"}, "queued_mail_pending_has_time"),
        (QueuedMail, {"kind": "digest"}, "queued_mail_kind_has_project"),
        (QueuedMail, {}, "queued_mail_one_news"),
        (QueuedMail, {"kind": "digest", "project": None}, "queued_mail_one_digest"),
        (NotificationSettings, {"digest": "off"}, "notifications_digest_has_time"),
        (NotificationSettings, {"hour": 24}, "notifications_time_valid"),
    ],
)
def test_database_rejects_impossible_rows(
    lead: User, project: Any, model: Any, fields: dict[str, Any], constraint: str
) -> None:
    now = timezone.now()
    times = {"next_at": now, "created_at": now}
    if model is QueuedMail:
        rows = {"kind": "news", "user": lead, "project": project, **times}
        QueuedMail.objects.create(**rows)
        QueuedMail.objects.create(**{**rows, "kind": "digest", "project": None})
    else:
        NotificationSettings.objects.all().delete()
        rows = {"user": lead, "next_digest_at": now}
    with pytest.raises(IntegrityError) as error, transaction.atomic():
        model.objects.create(**{**rows, **fields})
    assert constraint in str(error.value) or "UNIQUE" in str(error.value)
