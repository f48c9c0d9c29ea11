"""The Celery application, and the sweeps that every worker carries.

A sweep is a thread of the worker and needs no broker: a worker that cannot reach the queue still
finds every uncounted rating and every waiting import in the database (docs/architecture.md, idea
3).
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from typing import Any

from celery import Celery, bootsteps
from celery.platforms import SecurityWarning

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agreement_site.settings")

# Celery's advice against root is about pickled messages, which are not accepted here; the
# supervisor says the rest.
warnings.filterwarnings("ignore", category=SecurityWarning)

app = Celery("concord", task_cls="agreement_site.answers.logs:LoggedTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

logger = logging.getLogger(__name__)


class Sweeper(bootsteps.StartStopStep):
    """Runs each of SWEEPS every SWEEP_SECONDS from the worker's start to its end.

    Each in a thread of its own: a long import must not keep the counting waiting.
    """

    SWEEPS = ("metrics.tasks.sweep_all", "ratings.tasks.resume_stalled")

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        self.ending = threading.Event()

    def start(self, worker: Any) -> None:
        for path in self.SWEEPS:
            threading.Thread(target=self.run, args=[path], name=path, daemon=True).start()

    def stop(self, worker: Any) -> None:
        self.ending.set()

    terminate = stop

    def run(self, path: str) -> None:
        from django.conf import settings
        from django.db import close_old_connections
        from django.utils.module_loading import import_string

        from agreement_site.answers.logs import working_on

        sweep = import_string(path)
        while not self.ending.wait(settings.SWEEP_SECONDS):
            close_old_connections()
            with working_on(task=path):
                try:
                    sweep()
                except Exception:
                    logger.exception(
                        "%s failed; it is tried again in %s s", path, settings.SWEEP_SECONDS
                    )


app.steps["worker"].add(Sweeper)
