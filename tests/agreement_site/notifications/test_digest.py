"""Digests: when they are due, for whom, and that they say what the pages say."""

from __future__ import annotations

import datetime
import html
import re
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agreement_site.models import NotificationSettings, Preference, QueuedMail
from agreement_site.notifications import digest, mail_contents, outbox, preferences
from agreement_site.notifications.mail_contents import Line, Section
from core.jobs.outbox import MAX_JITTER
from events import feed
from events.models import Event
from projects.models import Member, Question
from projects.services.rater_changes import set_rater_paused
from quality.alerts.services import change_alert_state
from quality.models import Alert, Gate
from tests.cast import make_project as create_project

pytestmark = pytest.mark.django_db

MONDAY = datetime.datetime(2026, 11, 30, 8, tzinfo=datetime.UTC)
SUNDAY = MONDAY - datetime.timedelta(days=1)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    after=st.datetimes(
        datetime.datetime(2026, 1, 1),
        datetime.datetime(2027, 12, 31),
        timezones=st.just(datetime.UTC),
    ),
    zone=st.sampled_from(
        ["UTC", "Europe/Berlin", "Asia/Shanghai", "America/St_Johns", "Asia/Kathmandu"]
    ),
    hour=st.integers(0, 23),
    weekday=st.integers(0, 6),
    digest=st.sampled_from(["daily", "weekly"]),
)
def test_next_digest_is_the_first_such_hour(
    after: datetime.datetime, zone: str, hour: int, weekday: int, digest: str
) -> None:
    row = NotificationSettings(digest=digest, weekday=weekday, hour=hour, time_zone=zone)
    due = preferences.compute_next_digest(row, after)
    local = due.astimezone(ZoneInfo(zone))
    days = 1 if digest == "daily" else 7
    assert after < due <= after + datetime.timedelta(days=days, hours=1)  # a longer day in autumn
    # In the hour that spring skips, the digest comes an hour later.
    assert local.hour == hour or (local - datetime.timedelta(hours=1)).hour == hour
    assert digest == "daily" or local.weekday() == weekday


def send_digest() -> Any:
    """Run the sweep on Monday and return the only mail."""
    with time_machine.travel(MONDAY + datetime.timedelta(minutes=1)):
        outbox.sweep_mail()
    [message] = mail.outbox
    return message


def test_monday_mail_of_a_lead(
    lead: User,
    question: Question,
    open_alert: Callable[..., Alert],
    decide_gate: Callable[..., Gate],
    client_for: Any,
) -> None:
    """One story: the same rows as the inbox, what changed, links, headers, text and HTML."""
    with time_machine.travel(SUNDAY):
        NotificationSettings.objects.all().delete()
        preferences.create_missing_settings()
        first = open_alert(question, "ann", size=-0.9)
        second = open_alert(question, "ben", size=-0.1)
        resolved_alert = open_alert(question, "cleo")
        change_alert_state(
            alert=resolved_alert, state="resolved", cause="real", reason="talked", by=lead
        )
        decide_gate(question, "fail")
        assert resolved_alert.rater is not None
        set_rater_paused(rater=resolved_alert.rater, paused=True, by=lead)
        feed.publish_events()
        outbox.sweep_mail()
        assert [message.subject for message in mail.outbox] == [
            "[Concord] Reviews: 2 new alerts or failed gates"
        ], "the rater drifts: news at once, one mail of the project"
        mail.outbox.clear()
    message = send_digest()
    assert (message.to, message.from_email) == (["lead@example.org"], "concord@example.org")
    assert message.subject == "[Concord] 2 entries in your inbox"
    text = message.body
    page = html.unescape(re.sub(r"<[^>]+>", "", client_for(lead).get("/inbox/").text))
    positions = []
    for alert in (first, second):
        url = f"https://concord.example.org/projects/{question.project_id}/alerts/{alert.pk}/"
        [sentence] = re.findall(rf"\* (?!New: )(.+) \(Reviews\)\n  {url}", text)
        assert sentence in page
        positions.append((text.index(url), page.index(sentence)))
    assert positions == sorted(positions), "in the order of the page"
    changed = text[text.index("What changed in “Reviews”") :]
    assert changed.count("New: ") == 2 and changed.count("Resolved: ") == 1
    assert "“release” fails" in changed and "cleo is paused" in changed
    [(markup, media_type)] = message.alternatives
    assert media_type == "text/html" and '<html lang="en">' in markup
    assert not re.search(r"<(img|link|script|iframe)|src=|url\(", markup), "nothing is loaded"
    for url in re.findall(r'href="([^"]+)"', markup):
        assert url.startswith("https://concord.example.org/") and url in text
    headers = message.message()
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert headers["List-Unsubscribe"].startswith("<https://concord.example.org/unsubscribe/")
    assert headers["Auto-Submitted"] == "auto-generated"


def test_digest_states_no_verdict_that_a_gate_no_longer_has(
    lead: User, question: Question, decide_gate: Callable[..., Gate]
) -> None:
    """A change of the rules clears the verdict; a deleted gate has none."""
    with time_machine.travel(SUNDAY):
        preferences.save_preferences(user=lead, at_once=[])
        gate = decide_gate(question, "fail")
    Gate.objects.update(verdict="")
    with time_machine.travel(MONDAY + datetime.timedelta(minutes=1)):
        outbox.sweep_mail()
    assert not mail.outbox
    with time_machine.travel(MONDAY + datetime.timedelta(days=1)):
        decide_gate(question, "pass")
        gate.delete()
    with time_machine.travel(MONDAY + datetime.timedelta(days=7, minutes=1)):
        outbox.sweep_mail()
    assert not mail.outbox


def test_one_query_reads_all_gates_of_a_digest(
    question: Question, decide_gate: Callable[..., Gate]
) -> None:
    for verdict, name in (("fail", "release"), ("pass", "weekly"), ("not_enough", "pilot")):
        decide_gate(question, verdict, name)
    events = list(Event.objects.filter(kind__in=mail_contents.GATE_VERDICTS).order_by("pk"))
    with CaptureQueriesContext(connection) as queries:
        lines = mail_contents.describe_changes(events)
    assert [line.text.partition("”")[0] for line in lines] == ["“release", "“weekly", "“pilot"]
    assert len(queries) == 1


def test_digest_says_which_alerts_later_ratings_would_not_raise(
    lead: User, question: Question, open_alert: Callable[..., Alert]
) -> None:
    with time_machine.travel(SUNDAY):
        preferences.save_preferences(user=lead, at_once=[])
        alerts = [open_alert(question, key) for key in ("ann", "ben")]
    Alert.objects.filter(pk=alerts[1].pk).update(supported=False)
    changed = send_digest().body
    changed = changed[changed.index("What changed in") :]
    notice = "Later ratings wouldn’t raise this alert."
    assert changed.count("New: ") == 2 and changed.count(notice) == 1
    assert changed.index("ben has") < changed.index(notice)


def test_digest_without_a_change_says_so_in_the_subject(
    lead: User, question: Question, open_alert: Callable[..., Alert], monkeypatch: Any
) -> None:
    """Raters to check alone are nothing that changed."""
    with time_machine.travel(SUNDAY):
        preferences.save_preferences(user=lead, at_once=[])
    section = Section("Raters to check", (Line("ann: Check"),))
    monkeypatch.setattr(digest, "_list_raters", lambda user: [section])
    assert send_digest().subject == "[Concord] Raters to check"


def test_digest_tells_what_is_new_and_an_empty_one_is_not_sent(
    lead: User, question: Question, open_alert: Callable[..., Alert]
) -> None:
    with time_machine.travel(SUNDAY):
        preferences.save_preferences(user=lead, at_once=[])
        first, second = open_alert(question, "ann"), open_alert(question, "ben")
    assert "New: " in send_digest().body
    with time_machine.travel(MONDAY + datetime.timedelta(days=7, minutes=1)):
        outbox.sweep_mail()
    assert "What changed" not in mail.outbox[-1].body, "only what is new, but still what to do"
    for alert in (first, second):
        change_alert_state(alert=alert, state="resolved", cause="real", reason="x", by=lead)
    feed.publish_events()
    with time_machine.travel(MONDAY + datetime.timedelta(days=14, minutes=1)):
        outbox.sweep_mail()
    assert "Resolved: " in mail.outbox[-1].body
    with time_machine.travel(MONDAY + datetime.timedelta(days=21, minutes=1)):
        outbox.sweep_mail()
    assert len(mail.outbox) == 3, "an empty digest is not sent"
    assert QueuedMail.objects.filter(kind="digest").latest("pk").state == "skipped"


def test_digest_contains_what_the_roles_may_see_when_it_is_sent(
    lead: User,
    viewer: User,
    annotator: User,
    question: Question,
    open_alert: Callable[..., Alert],
) -> None:
    other = create_project("Other").questions.get()
    left = create_project("Left").questions.get()
    Member.objects.create(project=left.project, user=viewer, role="lead")
    with time_machine.travel(SUNDAY):
        for user in (viewer, annotator):
            user.email = f"{user.username}@example.org"
            user.save()
            preferences.save_preferences(user=user, digest="weekly", at_once=["alerts"])
        preferences.save_preferences(user=lead, digest="off", at_once=[])
        for row in (question, other, left):
            open_alert(row, "ann")
        set_rater_paused(rater=question.project.raters.get(key="ann"), paused=True, by=lead)
        feed.publish_events()
        outbox.queue_due_digests()
        Member.objects.filter(user=viewer, project=left.project).delete()
    message = send_digest()
    assert message.to == ["viewer@example.org"], "nothing for the annotator, nothing for the lead"
    assert f"/projects/{question.project_id}/" in message.body
    assert "paused" not in message.body, "pauses are for leads"
    for row in (other, left):
        assert f"/projects/{row.project_id}/" not in message.body


def test_language_and_zone_are_those_of_the_person(
    lead: User, question: Question, open_alert: Callable[..., Alert]
) -> None:
    with time_machine.travel(SUNDAY):
        Preference.objects.create(user=lead, language="zh-hans")
        row = preferences.save_preferences(user=lead, time_zone="Asia/Shanghai", at_once=[])
        assert row.next_digest_at == datetime.datetime(2026, 11, 30, 0, tzinfo=datetime.UTC)
        open_alert(question, "ann")
    message = send_digest()
    assert "decision" not in message.subject
    assert '<html lang="zh-hans">' in message.alternatives[0][0]
    mail.outbox.clear()
    preferences.save_preferences(user=lead, language="en", digest="daily")
    with time_machine.travel(MONDAY + datetime.timedelta(days=1)):
        outbox.sweep_mail()
    assert mail.outbox[0].subject == "[Concord] 1 entry in your inbox"


def test_names_become_neither_headers_nor_markup(
    lead: User, question: Question, open_alert: Callable[..., Alert]
) -> None:
    question.project.name = "A\r\nBcc: victim@example.org\x0b<b>&"
    question.project.save()
    open_alert(question, "<i>ann")
    outbox.sweep_mail()
    message: Any = mail.outbox[0]
    raw = message.message()
    assert raw["Bcc"] is None and "\n" not in message.subject
    assert (
        "<b>" not in message.alternatives[0][0] and "&lt;b&gt;&amp;" in message.alternatives[0][0]
    )
    assert message.recipients() == ["lead@example.org"]


def test_many_people_are_queued_in_batches(
    lead: User, project: Any, django_assert_max_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preferences, "PEOPLE_PER_TRANSACTION", 40)
    monkeypatch.setattr(outbox, "PEOPLE_PER_TRANSACTION", 40)
    users = User.objects.bulk_create(
        User(username=f"u{n}", email=f"u{n}@example.org") for n in range(100)
    )
    Member.objects.bulk_create(Member(project=project, user=user, role="lead") for user in users)
    assert preferences.create_missing_settings() == 100
    with time_machine.travel(timezone.now() + datetime.timedelta(days=8)):
        with django_assert_max_num_queries(45):
            assert outbox.queue_due_digests() == 101
        assert outbox.queue_due_digests() == 0
    assert QueuedMail.objects.filter(kind="digest").count() == 101


def test_nothing_is_queued_without_a_mail_server(
    lead: User, question: Question, open_alert: Callable[..., Alert], settings: Any
) -> None:
    settings.SMTP_URL = ""
    open_alert(question, "ann")
    with time_machine.travel(timezone.now() + datetime.timedelta(days=8)):
        assert outbox.sweep_mail() == 0
        assert QueuedMail.objects.count() == 0
        settings.SMTP_URL = "smtp://mail.example.org"
        outbox.sweep_mail()
    assert [m.subject for m in mail.outbox] == ["[Concord] 1 entry in your inbox"], "no old news"


def test_digest_that_failed_is_told_by_the_next_one(
    lead: User, question: Question, open_alert: Callable[..., Alert], monkeypatch: Any
) -> None:
    with time_machine.travel(SUNDAY):
        preferences.save_preferences(user=lead, at_once=[])
        open_alert(question, "ann")
    with monkeypatch.context() as patch, time_machine.travel(MONDAY) as clock:

        def fail(*_args: Any) -> None:
            raise RuntimeError("no template")

        patch.setattr(outbox, "compose_message", fail)
        for delay in (*outbox.RETRY_DELAYS, datetime.timedelta()):
            outbox.sweep_mail()
            clock.shift(delay * (1 + MAX_JITTER))
        row = QueuedMail.objects.get(kind="digest")
        assert (row.state, row.attempts) == ("failed", 7)
    with time_machine.travel(MONDAY + datetime.timedelta(days=7, hours=1)):
        outbox.sweep_mail()
    assert "New: " in mail.outbox[0].body
