"""What the workers remove by its age."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.utils import timezone

from agreement_site import housekeeping, retention
from agreement_site.models import TrailLine
from projects.models import ApiToken

pytestmark = pytest.mark.django_db


def days_ago(days: float) -> datetime.datetime:
    return timezone.now() - datetime.timedelta(days=days)


@pytest.fixture
def lines() -> None:
    for days in (40, 20, 0):
        line = TrailLine.objects.create(what=f"{days}", address="192.0.2.1")
        TrailLine.objects.filter(pk=line.pk).update(at=days_ago(days))


def kept() -> dict[str, str]:
    return dict(TrailLine.objects.values_list("what", "address"))


def test_the_trail_is_kept_for_ever_unless_told_otherwise(settings: Any, lines: None) -> None:
    settings.KEEP_ADDRESSES_DAYS = 0
    retention.apply_rules()
    assert kept() == dict.fromkeys(("40", "20", "0"), "192.0.2.1")


def test_lines_of_the_trail_go(settings: Any, lines: None) -> None:
    settings.KEEP_TRAIL_DAYS = 30
    retention.apply_rules()
    assert set(kept()) == {"20", "0"}


def test_addresses_go_and_the_lines_stay(settings: Any, lines: None) -> None:
    settings.KEEP_ADDRESSES_DAYS = 30
    retention.apply_rules()
    assert kept() == {"40": "", "20": "192.0.2.1", "0": "192.0.2.1"}


def test_tokens_that_open_nothing_go(settings: Any, lead: Any) -> None:
    settings.KEEP_TOKENS_DAYS = 30
    for name, dates in {
        "revoked long ago": {"revoked_at": days_ago(40)},
        "revoked lately": {"revoked_at": days_ago(20)},
        "ended long ago": {"expires_at": days_ago(40)},
        "ends later": {"expires_at": days_ago(-20)},
        "living": {},
    }.items():
        token = ApiToken.objects.create(user=lead, digest=name, prefix="concord")
        ApiToken.objects.filter(pk=token.pk).update(created_at=days_ago(50), **dates)
    retention.apply_rules()
    left = set(ApiToken.objects.values_list("digest", flat=True))
    assert left == {"revoked lately", "ends later", "living"}


def test_sessions_that_have_ended_are_listed_no_more(lead: Any) -> None:
    Session.objects.create(session_key="living", expire_date=days_ago(-1))
    seen = {"living": 3, "ended": 3, "just beginning": 0}
    for key, days in seen.items():
        UserSession.objects.create(
            user=lead, ip="192.0.2.1", session_key=key, last_seen_at=days_ago(days)
        )
    housekeeping.remove_expired_sessions()
    retention.apply_rules()
    assert set(UserSession.objects.values_list("session_key", flat=True)) == {
        "living",
        "just beginning",
    }


def test_the_workers_apply_the_rules(
    monkeypatch: pytest.MonkeyPatch, settings: Any, lines: None
) -> None:
    settings.KEEP_TRAIL_DAYS = 30
    monkeypatch.setattr(housekeeping, "_cleaned_at", 0.0)
    housekeeping.sweep()
    assert set(kept()) == {"20", "0"}
