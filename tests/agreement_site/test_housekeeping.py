"""What workers tidy up beside the numbers."""

from __future__ import annotations

import datetime
import os
import time
from pathlib import Path

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from agreement_site import housekeeping


@pytest.mark.django_db
def test_sessions_that_have_ended_are_removed() -> None:
    now = timezone.now()
    for key, days in (("over", -1), ("living", 1)):
        Session.objects.create(session_key=key, expire_date=now + datetime.timedelta(days=days))
    housekeeping.remove_sessions()
    assert list(Session.objects.values_list("session_key", flat=True)) == ["living"]


def test_uploads_that_nobody_finished_are_removed(tmp_path: Path) -> None:
    for name, age in (("old.upload", housekeeping.ABANDONED + 60), ("new.upload", 60)):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    (tmp_path / "folder").mkdir()
    housekeeping.remove_uploads(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "new.upload"]
