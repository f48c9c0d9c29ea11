"""The Celery application, and the periodic sweeps that every worker runs.

A sweep is a thread of the worker and needs no broker: a worker that cannot reach the queue still
finds every uncounted rating and every pending import in the database (docs/architecture.md,
principle 3).
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
import warnings
from dataclasses import dataclass
from typing import Any

from celery import Celery, bootsteps, signals
from celery.platforms import SecurityWarning

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agreement_site.settings")
# Django's checks load all URLs, and with them the pages and the API, which a worker does not need.
# `manage.py check` runs them (docs/operations.md).
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

# Celery's warning about root concerns pickled messages, which are not accepted here. The
# supervisor prints a warning of its own.
warnings.filterwarnings("ignore", category=SecurityWarning)

app = Celery("concord", task_cls="agreement_site.monitoring.logs:LoggedTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pace:
    """Intervals between two sweeps, in multiples of SWEEP_SECONDS: after a change, and at rest."""

    after_change: float = 1.0
    at_rest: float = 1.0


class Sweeper(bootsteps.StartStopStep):
    """Run each of SWEEPS periodically while the worker runs.

    Each has a thread of its own, so that a long import does not delay the counting. After a change
    (core.jobs.wakeup) all sweeps run at once, and then at their faster pace for AWAKE_SECONDS. The
    slower pace afterwards finds the changes whose message was lost.
    """

    AWAKE_SECONDS = 30.0
    SWEEPS = {
        "metrics.tasks.sweep_all": Pace(1.0, 2.0),
        "ratings.tasks.resume_stalled": Pace(1.0, 3.0),
        "ratings.tasks.sweep_connections": Pace(1.0, 3.0),
        "metrics.jobs.permanent_deletions.process_pending_deletions": Pace(1.0, 3.0),
        "quality.tasks.sweep_labels_and_queues": Pace(0.4, 6.0),
        "quality.tasks.sweep_gold_and_repeats": Pace(0.4, 6.0),
        "quality.tasks.sweep_raters": Pace(0.4, 3.0),
        "quality.tasks.sweep_gates": Pace(0.4, 6.0),
        "events.tasks.sweep_events": Pace(),
        "events.tasks.sweep_deliveries": Pace(1.0, 3.0),
        "agreement_site.notifications.outbox.sweep_mail": Pace(1.0, 3.0),
        "agreement_site.housekeeping.run_due_housekeeping": Pace(1.0, 3.0),
        "quality.tasks.sweep_alerts": Pace(2.0, 6.0),
    }

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        self.stop_event = threading.Event()
        self.woken = {path: threading.Event() for path in self.SWEEPS}
        self.awake_until = time.monotonic() + self.AWAKE_SECONDS
        self.schema_checked_at = 0.0

    def start(self, worker: Any) -> None:
        # Not above: it imports prometheus_client, which reads its folder of metrics when it is
        # imported, and the settings name that folder.
        from core.jobs import wakeup
        from metrics.jobs import heartbeat

        heartbeat.set_worker_name(worker.hostname)
        wakeup.register_listener(self.wake)
        for path in self.SWEEPS:
            threading.Thread(target=self.run, args=[path], name=path, daemon=True).start()

    def stop(self, worker: Any) -> None:
        self.stop_event.set()
        self.wake()

    terminate = stop

    def wake(self) -> None:
        """Make all sweeps of this worker run soon."""
        self.awake_until = time.monotonic() + self.AWAKE_SECONDS
        for event in self.woken.values():
            event.set()

    def wait(self, path: str, sweep_seconds: float) -> bool:
        """Wait until the next sweep of ``path`` is due; return False when the worker stops."""
        pace, event = self.SWEEPS[path], self.woken[path]
        self.stop_event.wait(pace.after_change * sweep_seconds)
        if time.monotonic() >= self.awake_until:
            event.wait((pace.at_rest - pace.after_change) * sweep_seconds)
        event.clear()
        return not self.stop_event.is_set()

    def run(self, path: str) -> None:
        from django.conf import settings
        from django.db import close_old_connections
        from django.utils.module_loading import import_string

        from agreement_site.monitoring.logs import log_context
        from core import telemetry

        sweep = import_string(path)
        while self.wait(path, settings.SWEEP_SECONDS):
            close_old_connections()
            with log_context(task=path):
                try:
                    if mismatch := self.find_schema_mismatch(settings.SWEEP_SECONDS):
                        self.stop_worker(mismatch)
                        return
                    with telemetry.TASK_SECONDS.labels(path).time():
                        if sweep():
                            self.wake()
                except Exception:
                    telemetry.TASKS_FAILED.labels(path).inc()
                    logger.exception("%s failed; the next sweep tries again", path)

    def find_schema_mismatch(self, interval_seconds: float) -> str | None:
        """Return a sentence if the database schema is of another release, else None.

        It is also None if the database was asked less than ``interval_seconds`` ago.
        """
        from agreement_site import releases

        now = time.monotonic()
        if now - self.schema_checked_at < interval_seconds:
            return None
        self.schema_checked_at = now
        return releases.describe_schema_mismatch()

    def stop_worker(self, reason: str) -> None:
        """Shut this worker down cleanly; its supervisor then starts the installed release."""
        logger.error("%s This worker ends.", reason)
        os.kill(os.getpid(), signal.SIGTERM)


app.steps["worker"].add(Sweeper)


@signals.task_postrun.connect
def wake_sweeps(**_: Any) -> None:
    from core.jobs import wakeup

    wakeup.notify_listeners()


@signals.worker_init.connect
def prepare_worker(**_: Any) -> None:
    """Exit if the schema is of another release; else record this worker's data folder.

    The database connections that this opened are closed.
    """
    from django.db import connections

    from agreement_site import releases
    from ratings.files import shared_folders

    releases.exit_on_schema_mismatch()
    shared_folders.record_folders_at_start()
    connections.close_all()
