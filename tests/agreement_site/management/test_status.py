"""`manage.py status` tells an administrator, and a monitor by its exit status, whether counting
goes on."""

from __future__ import annotations

import datetime
import io
import json
import os
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from agreement_site import releases
from agreement_site.celery import Sweeper
from agreement_site.models import UnreadSince
from agreement_site.monitoring import health
from metrics import tasks
from metrics.jobs import heartbeat, hints
from metrics.models import CountState, Worker
from ratings.models import Rating
from tests.faults.brokers import Broker, private_broker

pytestmark = pytest.mark.django_db


@pytest.fixture
def broker(settings: Any) -> Iterator[Broker]:
    with private_broker(settings) as running:
        yield running


def said(*arguments: str) -> str:
    output = io.StringIO()
    call_command("status", *arguments, stdout=output)
    return output.getvalue()


@pytest.fixture(autouse=True)
def no_broker(settings: Any) -> None:
    settings.REDIS_URL = ""


def ago(seconds: float) -> datetime.datetime:
    return timezone.now() - datetime.timedelta(seconds=seconds)


def test_all_is_well(question: Any, rate: Any) -> None:
    rate(question, "item", "rater", "minor")
    tasks.sweep_all()
    lines = said().splitlines()
    assert lines[0].split()[:2] == ["Release", releases.get_release() + ";"]
    assert lines[1].split() == ["Uncounted", "ratings", "0"]
    assert lines[3].split()[-1] == "0"
    assert re.search(r"swept \d+ s ago$", lines[-1])


def test_for_programs(question: Any, rate: Any) -> None:
    tasks.sweep_all()
    rate(question, "item", "rater", "minor")
    found = json.loads(said("--json"))
    assert found["uncounted"] == 1
    assert found["questions_waiting"] == 1
    assert found["imports_under_way"] == 0
    assert found["problems"] == []
    assert 0 <= found["oldest_uncounted_seconds"] < heartbeat.LATE_SECONDS
    assert len(found["workers"]) == 1


def test_nobody_ever_swept() -> None:
    with pytest.raises(CommandError, match="no worker has swept within the last hour") as problem:
        said()
    assert problem.value.returncode == 1


def test_the_last_worker_is_gone() -> None:
    Worker.objects.create(name="one:1", swept_at=ago(600))
    with pytest.raises(CommandError, match="no worker has swept for 6"):
        said()


def test_a_rating_waits_although_workers_sweep(question: Any, rate: Any) -> None:
    rate(question, "item", "rater", "minor")
    Rating.objects.update(changed_at=ago(300))
    heartbeat.record_sweep()
    with pytest.raises(CommandError, match="a rating has been waiting to be in the numbers for 30"):
        said()


def test_a_change_is_counted_and_read_by_nobody(question: Any, rate: Any) -> None:
    rate(question, "item", "rater", "minor")
    tasks.sweep_all()
    CountState.objects.update(unread=994, read_at=ago(3600))
    found = json.loads(said("--json"))
    assert (found["uncounted"], found["problems"]) == (994, [])
    UnreadSince.objects.update(since=ago(90))
    with pytest.raises(CommandError, match="1 question is not brought up to date"):
        said()


def test_tables_of_another_release() -> None:
    heartbeat.record_sweep()
    MigrationRecorder(connection).record_applied("ratings", "9999_from_the_future")
    with pytest.raises(CommandError, match="newer release"):
        said()


def test_a_disk_that_is_nearly_full(monkeypatch: pytest.MonkeyPatch) -> None:
    heartbeat.record_sweep()
    monkeypatch.setattr(health, "get_free_bytes", lambda: 100 << 20)
    with pytest.raises(CommandError, match="the disk of DATA_DIR has 100 MB left"):
        said()


def test_a_broker_that_answers_and_takes_nothing(broker: Broker, settings: Any) -> None:
    settings.REDIS_URL = broker.url
    heartbeat.record_sweep()
    hints.get_redis_client().config_set("maxmemory", "1")
    with pytest.raises(CommandError, match="takes nothing"):
        said()
    hints.get_redis_client().config_set("maxmemory", "0")


def test_workers_of_long_ago_are_forgotten() -> None:
    Worker.objects.create(name="one:1", swept_at=ago(7200))
    heartbeat.record_sweep()
    assert Worker.objects.count() == 1
    assert heartbeat.get_last_sweep() is not None


def test_workers_are_told_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Started anew, one stands there once; its like under another name stays."""
    monkeypatch.setattr(heartbeat, "_this_process", heartbeat._ThisProcess("somewhere"))
    for name in ("worker1@here:1", "worker11@here:2", "worker1@there:3"):
        Worker.objects.create(name=name, swept_at=ago(30))
    monkeypatch.setattr(Sweeper, "SWEEPS", {})
    Sweeper(None).start(SimpleNamespace(hostname="worker1@here"))
    heartbeat.record_sweep()
    own = f"worker1@here:{os.getpid()}"
    names = {own, "worker11@here:2", "worker1@there:3"}
    assert set(json.loads(said("--json"))["workers"]) == names
    Worker.objects.create(name="worker1@here:1", swept_at=ago(0))  # two of one name both live
    heartbeat.record_sweep()
    assert set(json.loads(said("--json"))["workers"]) == names | {"worker1@here:1"}


def test_a_broker_that_answers_and_one_that_does_not(broker: Broker, settings: Any) -> None:
    settings.REDIS_URL = broker.url
    heartbeat.record_sweep()
    assert json.loads(said("--json"))["broker"] == "answers"
    broker.freeze()
    assert json.loads(said("--json"))["broker"] == "does not answer (TimeoutError)"
    broker.thaw()
    broker.kill()
    assert "does not answer" in said()  # no problem of its own: the sweep counts without it
