"""The Celery application, and the sweeps that every worker carries.

A sweep is a thread of the worker and needs no broker: a worker that cannot reach the queue still
finds every uncounted rating and every waiting import in the database (docs/architecture.md, idea
3).
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

# Celery's advice against root is about pickled messages, which are not accepted here; the
# supervisor says the rest.
warnings.filterwarnings("ignore", category=SecurityWarning)

app = Celery("concord", task_cls="agreement_site.monitoring.logs:LoggedTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

logger = logging.getLogger(__name__)


class Sweeper(bootsteps.StartStopStep):
    """Runs each of SWEEPS every so many seconds from the worker's start to its end.

    Each in a thread of its own: a long import must not keep the counting waiting.
    """

    # Path -> how often, as a multiple of SWEEP_SECONDS. No message tells that labels are old, so
    # they are looked after more often.
    SWEEPS = {
        "metrics.tasks.sweep_all": 1.0,
        "ratings.tasks.resume_stalled": 1.0,
        "metrics.jobs.deletions.sweep": 1.0,
        "quality.tasks.sweep_all": 0.4,
        "quality.tasks.sweep_gold": 0.4,
        "quality.tasks.sweep_raters": 0.4,
        "agreement_site.housekeeping.sweep": 1.0,
        "quality.tasks.sweep_alarms": 2.0,
    }

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        self.ending = threading.Event()

    def start(self, worker: Any) -> None:
        from metrics.jobs import heartbeat

        heartbeat.be_called(worker.hostname)
        for path in self.SWEEPS:
            threading.Thread(target=self.run, args=[path], name=path, daemon=True).start()

    def stop(self, worker: Any) -> None:
        self.ending.set()

    terminate = stop

    def run(self, path: str) -> None:
        from django.conf import settings
        from django.db import close_old_connections
        from django.utils.module_loading import import_string

        from agreement_site import releases
        from agreement_site.monitoring.logs import working_on
        from core.web import prometheus

        sweep = import_string(path)
        seconds = settings.SWEEP_SECONDS * self.SWEEPS[path]
        while not self.ending.wait(seconds):
            close_old_connections()
            with working_on(task=path):
                try:
                    if said := releases.trouble():
                        self.end(said)
                        return
                    with prometheus.TASK_SECONDS.labels(path).time():
                        sweep()
                except Exception:
                    prometheus.TASKS_FAILED.labels(path).inc()
                    logger.exception("%s failed; it is tried again in %s s", path, seconds)

    def end(self, why: str) -> None:
        """End this worker in order: who started it starts the release that is installed now."""
        logger.error("%s This worker ends.", why)
        os.kill(os.getpid(), signal.SIGTERM)


app.steps["worker"].add(Sweeper)


@signals.worker_init.connect
def refuse_other_tables(**_: Any) -> None:
    from agreement_site import releases

    releases.refuse_other_tables()
