"""A Celery worker with the settings that Concord needs.

    WORKER_THREADS=2 python -m agreement_site.server.worker [NAME]

It has threads, not forked children: one process takes half the memory, and NumPy and the database
release the interpreter lock. A long import on one thread leaves the other for counting.
"""

from __future__ import annotations

import os
import sys

from django.conf import settings

from agreement_site.celery import app
from agreement_site.startup_errors import exit_with_one_sentence

# A worker may wait for the broker; a web request may not (settings.py).
SOCKET_TIMEOUT_SECONDS = 30


def run_worker(name: str = "worker") -> None:
    """Run a worker until it receives SIGTERM, and exit with its status."""
    with exit_with_one_sentence():
        app.conf.broker_transport_options |= {"socket_timeout": SOCKET_TIMEOUT_SECONDS}
        worker = app.Worker(
            hostname=f"{name}@{os.uname().nodename}",
            pool="threads",
            concurrency=settings.WORKER_THREADS,
            loglevel="INFO",
            quiet=True,
            # These events are not used, and without them an idle worker sends nothing.
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )
        worker.start()
    sys.exit(worker.exitcode)


if __name__ == "__main__":
    run_worker(*sys.argv[1:2])
