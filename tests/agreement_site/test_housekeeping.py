"""Tests of the clean-up that workers do: ended sessions and abandoned uploads."""

from __future__ import annotations

import datetime
import os
import time
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from agreement_site import housekeeping


@pytest.mark.django_db
def test_expired_sessions_are_removed() -> None:
    now = timezone.now()
    for key, days in (("over", -1), ("living", 1)):
        Session.objects.create(session_key=key, expire_date=now + datetime.timedelta(days=days))
    housekeeping.remove_expired_sessions()
    assert list(Session.objects.values_list("session_key", flat=True)) == ["living"]


@pytest.mark.django_db
def test_sweep_cleans_up_once_an_hour(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    monkeypatch.setattr(housekeeping, "_cleaned_at", 0.0)
    long_ago = timezone.now() - datetime.timedelta(days=1)

    def create_leftovers() -> None:
        Session.objects.create(session_key="over", expire_date=long_ago)
        (tmp_path / "old.upload").write_text("x")
        os.utime(tmp_path / "old.upload", (1, 1))

    def list_leftovers() -> tuple[bool, bool]:
        return Session.objects.exists(), (tmp_path / "old.upload").exists()

    create_leftovers()
    housekeeping.run_due_housekeeping()
    assert list_leftovers() == (False, False)
    create_leftovers()
    housekeeping.run_due_housekeeping()
    assert list_leftovers() == (True, True)
    monkeypatch.setattr(housekeeping, "CLEANUP_INTERVAL_SECONDS", 0)
    housekeeping.run_due_housekeeping()
    assert list_leftovers() == (False, False)


def test_abandoned_uploads_are_removed(tmp_path: Path) -> None:
    for name, age in (
        ("old.upload", housekeeping.ABANDONED_AFTER_SECONDS + 60),
        ("new.upload", 60),
    ):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    (tmp_path / "folder").mkdir()
    housekeeping.remove_abandoned_uploads(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "new.upload"]
