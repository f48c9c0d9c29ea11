"""Gunicorn's settings. The number of processes and threads, and where to listen, come from
services.py."""

import gc
from pathlib import Path
from typing import Any

from django.urls import reverse

from . import web_worker

wsgi_app = "agreement_site.wsgi:application"
worker_class = "agreement_site.running.web_worker.Worker"
# Loaded once and forked: the processes share what they do not change, which is most of their
# memory.
preload_app = True
timeout = 60
graceful_timeout = 30
# Processes are renewed one after the other, so that a leak cannot add up; not every few seconds
# under load.
max_requests = 50_000
max_requests_jitter = 5_000
limit_request_field_size = 8190
loglevel = "warning"
control_socket_disable = True
# Heartbeats are kept in memory where there is such a folder: a slow disc must not look like a hung
# process.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - files there have no name


def when_ready(server: Any) -> None:
    """Before the first fork: pages are loaded, and what is alive is kept from garbage collection,
    so stays shared."""
    reverse("healthz")  # loads the URLs, and with them every view
    gc.collect()
    gc.freeze()


def child_exit(server: Any, worker: Any) -> None:
    web_worker.forget(worker)
