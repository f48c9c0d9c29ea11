"""The page of notification settings, and links that end a subscription without a session."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agreement_site.models import NotificationSettings
from agreement_site.notifications import preferences

pytestmark = pytest.mark.django_db

PATH = "/account/notifications/"
CHOICE = {
    "digest": "daily",
    "weekday": "4",
    "hour": "17",
    "time_zone": "Asia/Shanghai",
    "at_once": ["alerts", "gates"],
    "personal": "on",
    "language": "zh-hans",
}


def test_settings_begin_with_the_default_of_the_roles(
    lead: User, viewer: User, annotator: User, project: Any
) -> None:
    expected = {lead: ("weekly", ["drift"]), viewer: ("off", []), annotator: ("off", [])}
    for user, values in expected.items():
        row = preferences.get_preferences(user)
        assert (row.digest, row.at_once) == values
        assert (row.weekday, row.hour, row.time_zone) == (0, 8, project.time_zone)
    assert NotificationSettings.objects.count() == 1, "stored for those who decide something"


def test_person_chooses_what_is_mailed(viewer: User, project: Any, client_for: Any) -> None:
    client = client_for(viewer)
    assert "Add an email address" in client.get(PATH).text
    assert client.post(PATH, CHOICE).status_code == 302
    row = NotificationSettings.objects.get(user=viewer)
    assert (row.digest, row.weekday, row.hour, row.time_zone) == ("daily", 4, 17, "Asia/Shanghai")
    assert (row.at_once, row.personal, row.language) == (["alerts", "gates"], True, "zh-hans")
    assert row.next_digest_at is not None and row.next_digest_at.hour == 9
    for name, value in (
        ("digest", "hourly"),
        ("hour", "24"),
        ("weekday", "7"),
        ("time_zone", "Mars/Phobos"),
        ("at_once", ["everything"]),
        ("language", "xx"),
    ):
        response = client.post(PATH, {**CHOICE, name: value})
        assert response.status_code == 400 and name in response.context["form"].errors
    row.refresh_from_db()
    assert (row.digest, row.hour) == ("daily", 17)


@pytest.mark.parametrize(
    ("subscription", "field", "value"),
    [("digest", "digest", "off"), ("news", "at_once", []), ("personal", "personal", False)],
)
def test_link_ends_one_subscription_without_a_session(
    lead: User, subscription: str, field: str, value: Any
) -> None:
    url = preferences.build_unsubscribe_url(lead, subscription)
    path = url.removeprefix("https://concord.example.org")
    assert path != url
    before = NotificationSettings.objects.filter(user=lead).values().get()
    client = Client(enforce_csrf_checks=True)
    page = client.get(path)
    assert page.status_code == 200 and "<button" in page.text and lead.username not in page.text
    assert NotificationSettings.objects.filter(user=lead).values().get() == before
    # As a mail program posts it (RFC 8058).
    for _time in range(2):
        response = client.post(path, {"List-Unsubscribe": "One-Click"})
        assert response.status_code == 200 and "sessionid" not in response.cookies
    after: Any = NotificationSettings.objects.filter(user=lead).values().get()
    assert after[field] == value
    changed = {name for name, stored in before.items() if after[name] != stored} - {
        "next_digest_at"
    }
    assert changed == {field}


def test_forged_link_changes_nothing(lead: User) -> None:
    token = preferences.build_unsubscribe_url(lead, "digest").split("/")[-2]
    for forged in (token[:-1], f"{token}x", "x", "a" * 1000):
        assert Client().post(f"/unsubscribe/{forged}/").status_code == 404
    assert NotificationSettings.objects.get(user=lead).digest == "weekly"
