"""`manage.py status` reports whether counting goes on, in its text and by its exit status."""

from __future__ import annotations

import datetime
import io
import json
import os
import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from agreement_site import releases
from agreement_site.celery import Sweeper
from agreement_site.models import StaleQuestion
from agreement_site.monitoring import health
from core.jobs import dispatch
from metrics import tasks
from metrics.jobs import heartbeat
from metrics.models import CountState, Worker
from ratings.models import Rating
from tests.faults.brokers import Broker

pytestmark = pytest.mark.django_db


def run_status(*arguments: str) -> str:
    output = io.StringIO()
    call_command("status", *arguments, stdout=output)
    return output.getvalue()


@pytest.fixture(autouse=True)
def no_broker(settings: Any) -> None:
    settings.REDIS_URL = ""


def get_past_time(seconds: float) -> datetime.datetime:
    return timezone.now() - datetime.timedelta(seconds=seconds)


def test_healthy_site_has_no_problems(question: Any, rate: Any) -> None:
    rate(question, "item", "rater", "minor")
    tasks.sweep_all()
    lines = run_status().splitlines()
    assert lines[0].split()[:2] == ["Release", releases.get_release() + ";"]
    assert lines[1].split() == ["Uncounted", "ratings", "0"]
    assert lines[3].split()[-1] == "0"
    assert re.search(r"swept \d+ s ago$", lines[-1])


def test_json_output_has_all_values(question: Any, rate: Any) -> None:
    tasks.sweep_all()
    rate(question, "item", "rater", "minor")
    status = json.loads(run_status("--json"))
    assert status["uncounted"] == 1
    assert status["pending_questions"] == 1
    assert status["running_imports"] == 0
    assert status["problems"] == []
    assert 0 <= status["oldest_uncounted_seconds"] < heartbeat.LATE_SECONDS
    assert len(status["workers"]) == 1


def test_no_sweep_at_all_is_a_problem() -> None:
    with pytest.raises(CommandError, match="No worker active for an hour") as error:
        run_status()
    assert error.value.returncode == 1


def test_worker_that_stopped_sweeping_is_a_problem() -> None:
    Worker.objects.create(name="one:1", swept_at=get_past_time(600))
    with pytest.raises(CommandError, match="No worker active for 6"):
        run_status()


def test_rating_that_stays_uncounted_is_a_problem(question: Any, rate: Any) -> None:
    rate(question, "item", "rater", "minor")
    Rating.objects.update(changed_at=get_past_time(300))
    heartbeat.record_sweep()
    with pytest.raises(CommandError, match="A rating is still uncounted after 30"):
        run_status()


def test_results_that_stay_stale_are_a_problem(question: Any, rate: Any) -> None:
    rate(question, "item", "rater", "minor")
    tasks.sweep_all()
    CountState.objects.update(unrefreshed=994, refreshed_at=get_past_time(3600))
    status = json.loads(run_status("--json"))
    assert (status["uncounted"], status["problems"]) == (994, [])
    StaleQuestion.objects.update(since=get_past_time(90))
    with pytest.raises(CommandError, match="1 question with outdated results"):
        run_status()


def test_tables_of_a_newer_release_are_a_problem() -> None:
    heartbeat.record_sweep()
    MigrationRecorder(connection).record_applied("ratings", "9999_from_the_future")
    with pytest.raises(CommandError, match="newer release"):
        run_status()


def test_nearly_full_disk_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    heartbeat.record_sweep()
    monkeypatch.setattr(health, "get_free_bytes", lambda: 100 << 20)
    with pytest.raises(CommandError, match="Only 100 MB left for DATA_DIR"):
        run_status()


def test_broker_that_accepts_no_messages_is_a_problem(broker: Broker, settings: Any) -> None:
    settings.REDIS_URL = broker.url
    heartbeat.record_sweep()
    dispatch.get_redis_client().config_set("maxmemory", "1")
    with pytest.raises(CommandError, match="rejects writes"):
        run_status()
    dispatch.get_redis_client().config_set("maxmemory", "0")


def test_old_workers_are_removed() -> None:
    Worker.objects.create(name="one:1", swept_at=get_past_time(7200))
    heartbeat.record_sweep()
    assert Worker.objects.count() == 1
    assert Worker.objects.get().swept_at > get_past_time(60)


def test_restarted_worker_replaces_its_old_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A restarted worker is listed once; one with a similar name stays listed."""
    monkeypatch.setattr(heartbeat, "_this_process", heartbeat._ThisProcess("somewhere"))
    for name in ("worker1@here:1", "worker11@here:2", "worker1@there:3"):
        Worker.objects.create(name=name, swept_at=get_past_time(30))
    monkeypatch.setattr(Sweeper, "SWEEPS", {})
    Sweeper(None).start(SimpleNamespace(hostname="worker1@here"))
    heartbeat.record_sweep()
    own_name = f"worker1@here:{os.getpid()}"
    names = {own_name, "worker11@here:2", "worker1@there:3"}
    assert set(json.loads(run_status("--json"))["workers"]) == names
    Worker.objects.create(
        name="worker1@here:1", swept_at=get_past_time(0)
    )  # two live workers of one name
    heartbeat.record_sweep()
    assert set(json.loads(run_status("--json"))["workers"]) == names | {"worker1@here:1"}


def test_status_shows_whether_the_broker_answers(broker: Broker, settings: Any) -> None:
    settings.REDIS_URL = broker.url
    heartbeat.record_sweep()
    assert json.loads(run_status("--json"))["broker"] == "answers"
    broker.freeze()
    assert json.loads(run_status("--json"))["broker"] == "does not answer (TimeoutError)"
    broker.thaw()
    broker.kill()
    assert (
        "does not answer" in run_status()
    )  # not a problem by itself: the sweep counts without a broker
