"""The web server: granian with the settings that Concord needs.

    HOST=127.0.0.1 PORT=8000 python -m agreement_site.server.web_server

WEB_PROCESSES processes are forked; each works on WEB_THREADS requests at a time
(concurrency_limit.py). SIGTERM stops the server when the current requests are answered.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import logging
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from wsgiref.util import setup_testing_defaults

from agreement_site.server import heap
from agreement_site.startup_errors import exit_with_one_sentence

if TYPE_CHECKING:
    from django.core.handlers.wsgi import WSGIHandler

    from agreement_site.monitoring.health import HealthProbes

# Threads per process. Most wait: for the rest of a body, for a slot, for a slow client.
THREADS_PER_PROCESS = 256
# Connections of all processes together. Further clients wait in the kernel's queue.
MAX_CONNECTIONS = 2048
# Time limit for a request's headers; idle kept-alive connections are closed after it, too.
HEADER_TIMEOUT_MILLISECONDS = 15_000
MAX_HEADER_BYTES = 1 << 16  # of all headers of a request together
# Time for the current requests when the server is stopped.
STOP_TIMEOUT_SECONDS = 25
# A process is replaced after a day, so that neither leaks nor lost clients add up.
PROCESS_LIFETIME_SECONDS = 24 * 60 * 60


def resolve_free_address(host: str, port: int) -> tuple[str, int]:
    """Return the address in numbers, with a free port for port 0. Raises OSError if it is in use.

    Granian accepts numbers only, and would share the port with a server that listens there already.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        address, free_port, *_rest = probe.getsockname()
    return address, free_port


@functools.cache
def _load_site() -> WSGIHandler:
    from django.core.wsgi import get_wsgi_application

    return get_wsgi_application()


@functools.cache
def create_application() -> HealthProbes:
    """Return the WSGI application that each process serves."""
    from django.conf import settings

    from agreement_site.monitoring.health import HealthProbes
    from agreement_site.server.concurrency_limit import ConcurrencyLimiter

    return HealthProbes(ConcurrencyLimiter(_load_site(), settings.WEB_THREADS))


@functools.cache
def preload_site() -> None:
    """Load the site before processes are forked, so that they share its memory."""
    import django
    import granian  # noqa: F401 - loaded for `_run_granian`
    from django.urls import reverse

    from agreement_site.celery import app

    django.setup()
    app.loader.import_default_modules()  # the tasks
    reverse("healthz")  # loads the URLs, and with them every view
    create_application()  # loads the middlewares


@functools.cache
def prepare_fork() -> None:
    """Compute what each process would compute at its first page, then freeze the objects in memory.

    Forked processes share the frozen objects.
    """
    from django.apps import apps
    from django.db import connections

    from agreement_site.monitoring import health
    from ratings.files import shared_folders

    gc.collect()  # so that what follows fills the gaps that loading has left
    shared_folders.record_folders_at_start()
    health.probe_readiness()
    _serve_sign_in_page()
    for model in apps.get_models(include_auto_created=True):
        options = model._meta
        # These read all fields and relations, and Django caches them.
        _ = options.fields_map, options.related_objects, options.default_manager
        _ = options.concrete_fields, options.db_returning_fields
    connections.close_all()  # a connection must not be used by two processes
    # Garbage collection writes to every object it visits, which would then no longer be shared.
    gc.collect()
    gc.freeze()
    heap.fill_free_pieces()


def _serve_sign_in_page() -> None:
    """Render the sign-in page once, with this thread's database connection.

    The connection is closed before the fork.
    """
    from django.conf import settings
    from django.urls import reverse

    site_url = urlsplit(settings.SITE_URL)
    environ = {
        "PATH_INFO": reverse("sign_in"),
        "HTTP_HOST": site_url.netloc,
        "wsgi.url_scheme": site_url.scheme,
    }
    setup_testing_defaults(environ)
    logging.disable()  # nobody requested this page
    try:
        with contextlib.closing(
            _load_site()(environ, lambda *_parts: lambda _body: None)
        ) as response:
            list(response)
    finally:
        logging.disable(logging.NOTSET)


def main() -> None:
    """Load the site, exit if the database schema is of another release, and serve."""
    with exit_with_one_sentence():
        preload_site()
    from agreement_site import releases

    releases.exit_on_schema_mismatch()
    serve()


def serve() -> None:
    """Load the site, unless the supervisor has loaded it before its fork, and serve it."""
    host, port = os.environ.get("HOST") or "127.0.0.1", int(os.environ.get("PORT") or 8000)
    try:
        host, port = resolve_free_address(host, port)
    except OSError as error:
        sys.exit(f"The web server cannot listen on {host}, port {port}: {error.strerror or error}.")
    with exit_with_one_sentence():
        preload_site()
        prepare_fork()
    from django.conf import settings

    if settings.METRICS_TOKEN:
        from agreement_site.monitoring.prometheus import remove_dead_process_files

        remove_dead_process_files(settings.METRICS_DIR)
    _run_granian(host, port)


def _run_granian(host: str, port: int) -> None:
    from django.conf import settings
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels

    # A new process inherits granian's handler, which only sets a flag of the parent. Until it has
    # its own, SIGTERM must end it, or it would be waited for in vain.
    os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))
    Granian(
        "agreement_site.server.web_server:create_application",
        factory=True,
        process_name="concord web_server",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=settings.WEB_PROCESSES,
        blocking_threads=THREADS_PER_PROCESS,
        backlog=MAX_CONNECTIONS,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(
            header_read_timeout=HEADER_TIMEOUT_MILLISECONDS,
            max_buffer_size=MAX_HEADER_BYTES,
        ),
        websockets=False,
        respawn_failed_workers=True,
        workers_lifetime=PROCESS_LIFETIME_SECONDS,
        workers_kill_timeout=STOP_TIMEOUT_SECONDS,
        log_level=LogLevels.error,  # its warnings advise against so many threads
        log_dictconfig=settings.LOGGING,
    ).serve()


if __name__ == "__main__":
    main()
