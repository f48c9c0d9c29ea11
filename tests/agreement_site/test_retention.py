"""Tests of retention: workers remove rows by age."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.utils import timezone

from agreement_site import housekeeping
from agreement_site.models import AuditLogEntry
from metrics.jobs import permanent_deletions
from projects.models import ApiToken, Deletion, Project

pytestmark = pytest.mark.django_db


def get_days_ago(days: float) -> datetime.datetime:
    return timezone.now() - datetime.timedelta(days=days)


@pytest.fixture
def audit_log_entries() -> None:
    """Create audit log entries that are 40, 20 and 0 days old."""
    for days in (40, 20, 0):
        entry = AuditLogEntry.objects.create(action=f"{days}", address="192.0.2.1")
        AuditLogEntry.objects.filter(pk=entry.pk).update(created_at=get_days_ago(days))


def list_entries() -> dict[str, str]:
    """Return action -> address of the remaining audit log entries."""
    return dict(AuditLogEntry.objects.values_list("action", "address"))


def test_audit_log_is_kept_forever_by_default(settings: Any, audit_log_entries: None) -> None:
    settings.KEEP_ADDRESSES_DAYS = 0
    housekeeping.apply_retention_rules()
    assert list_entries() == dict.fromkeys(("40", "20", "0"), "192.0.2.1")


def test_old_audit_log_entries_are_deleted(settings: Any, audit_log_entries: None) -> None:
    settings.KEEP_AUDIT_LOG_DAYS = 30
    housekeeping.apply_retention_rules()
    assert set(list_entries()) == {"20", "0"}


def test_old_addresses_are_removed_from_entries(settings: Any, audit_log_entries: None) -> None:
    settings.KEEP_ADDRESSES_DAYS = 30
    housekeeping.apply_retention_rules()
    assert list_entries() == {"40": "", "20": "192.0.2.1", "0": "192.0.2.1"}


def test_projects_archived_long_ago_are_deleted(settings: Any, project: Project) -> None:
    lately, active, held = (Project.objects.create(name=name) for name in ("b", "c", "d"))
    for row, days in ((project, 40), (lately, 20), (held, 50)):
        Project.objects.filter(pk=row.pk).update(archived_at=get_days_ago(days))
    housekeeping.apply_retention_rules()
    assert not Deletion.objects.exists()  # by default they stay
    settings.KEEP_ARCHIVED_PROJECTS_DAYS, settings.LEGAL_HOLD = 30, [str(held.pk)]
    settings.SECOND_PERSON = "lead"  # the operator's setting needs no approval
    housekeeping.apply_retention_rules()
    housekeeping.apply_retention_rules()
    assert Deletion.objects.get().target == project.pk
    while permanent_deletions.process_pending_deletions():
        pass
    assert set(Project.objects.all()) == {lately, active, held}
    settings.LEGAL_HOLD = ["all"]
    Project.objects.filter(pk=lately.pk).update(archived_at=get_days_ago(60))
    housekeeping.apply_retention_rules()
    assert Deletion.objects.count() == 1


def test_old_invalid_tokens_are_deleted(settings: Any, lead: Any) -> None:
    settings.KEEP_TOKENS_DAYS = 30
    for name, dates in {
        "revoked long ago": {"revoked_at": get_days_ago(40)},
        "revoked lately": {"revoked_at": get_days_ago(20)},
        "ended long ago": {"expires_at": get_days_ago(40)},
        "ends later": {"expires_at": get_days_ago(-20)},
        "living": {},
    }.items():
        token = ApiToken.objects.create(user=lead, digest=name, prefix="concord")
        ApiToken.objects.filter(pk=token.pk).update(created_at=get_days_ago(50), **dates)
    housekeeping.apply_retention_rules()
    remaining = set(ApiToken.objects.values_list("digest", flat=True))
    assert remaining == {"revoked lately", "ends later", "living"}


def test_ended_sessions_are_not_listed(lead: Any) -> None:
    Session.objects.create(session_key="living", expire_date=get_days_ago(-1))
    days_since_last_use = {"living": 3, "ended": 3, "just beginning": 0}
    for key, days in days_since_last_use.items():
        UserSession.objects.create(
            user=lead, ip="192.0.2.1", session_key=key, last_seen_at=get_days_ago(days)
        )
    housekeeping.remove_expired_sessions()
    housekeeping.apply_retention_rules()
    assert set(UserSession.objects.values_list("session_key", flat=True)) == {
        "living",
        "just beginning",
    }


def test_sweep_applies_retention(
    monkeypatch: pytest.MonkeyPatch, settings: Any, audit_log_entries: None
) -> None:
    settings.KEEP_AUDIT_LOG_DAYS = 30
    monkeypatch.setattr(housekeeping, "_cleaned_at", 0.0)
    housekeeping.run_due_housekeeping()
    assert set(list_entries()) == {"20", "0"}
