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
import warnings
from typing import Any

from celery import Celery, bootsteps, signals
from celery.platforms import SecurityWarning

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agreement_site.settings")

# Celery's warning about root concerns pickled messages, which are not accepted here. The
# supervisor prints a warning of its own.
warnings.filterwarnings("ignore", category=SecurityWarning)

app = Celery("concord", task_cls="agreement_site.monitoring.logs:LoggedTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

logger = logging.getLogger(__name__)


class Sweeper(bootsteps.StartStopStep):
    """Run each of SWEEPS periodically while the worker runs.

    Each has a thread of its own, so that a long import does not delay the counting.
    """

    # Dotted path -> interval as a multiple of SWEEP_SECONDS. No message announces outdated labels,
    # so they are checked more often.
    SWEEPS = {
        "metrics.tasks.sweep_all": 1.0,
        "ratings.tasks.resume_stalled": 1.0,
        "metrics.jobs.deletions.process_pending_deletions": 1.0,
        "quality.tasks.sweep_all": 0.4,
        "quality.tasks.sweep_gold": 0.4,
        "quality.tasks.sweep_raters": 0.4,
        "agreement_site.housekeeping.run_due_housekeeping": 1.0,
        "quality.tasks.sweep_alerts": 2.0,
    }

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        self.stop_event = threading.Event()

    def start(self, worker: Any) -> None:
        from metrics.jobs import heartbeat

        heartbeat.set_worker_name(worker.hostname)
        for path in self.SWEEPS:
            threading.Thread(target=self.run, args=[path], name=path, daemon=True).start()

    def stop(self, worker: Any) -> None:
        self.stop_event.set()

    terminate = stop

    def run(self, path: str) -> None:
        from django.conf import settings
        from django.db import close_old_connections
        from django.utils.module_loading import import_string

        from agreement_site import releases
        from agreement_site.monitoring.logs import log_context
        from core.web import prometheus

        sweep = import_string(path)
        seconds = settings.SWEEP_SECONDS * self.SWEEPS[path]
        while not self.stop_event.wait(seconds):
            close_old_connections()
            with log_context(task=path):
                try:
                    if mismatch := releases.describe_schema_mismatch():
                        self.stop_worker(mismatch)
                        return
                    with prometheus.TASK_SECONDS.labels(path).time():
                        sweep()
                except Exception:
                    prometheus.TASKS_FAILED.labels(path).inc()
                    logger.exception("%s failed; retrying in %s s", path, seconds)

    def stop_worker(self, reason: str) -> None:
        """End this worker in order; its supervisor then starts the installed release."""
        logger.error("%s This worker ends.", reason)
        os.kill(os.getpid(), signal.SIGTERM)


app.steps["worker"].add(Sweeper)


@signals.worker_init.connect
def check_schema(**_: Any) -> None:
    from agreement_site import releases

    releases.exit_on_schema_mismatch()
