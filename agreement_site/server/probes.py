"""WSGI wrapper that answers the probes /livez and /healthz before the site.

They work under any host name, without a connection slot, and within two seconds whatever the
database does. A locked table keeps every slot busy, so a probe that needed one would hang when it
is needed most.
"""

from __future__ import annotations

import copy
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from wsgiref.types import WSGIEnvironment

from django.db import DEFAULT_DB_ALIAS, connections

from agreement_site.monitoring import health

CHECK_TIMEOUT_SECONDS = (
    1.8  # seconds until an unfinished check counts as "the database does not answer"
)
CHECK_REUSE_SECONDS = 1.0  # seconds for which a result is reused: at most one check per second
CONNECT_TIMEOUT_SECONDS = 2

ResponseBody = list[bytes]


class HealthProbes:
    """WSGI application that answers the two probes and passes everything else to ``site``."""

    def __init__(self, site: Callable[..., Any]) -> None:
        self._site = site
        self._readiness = ReadinessCheck()
        self._checks = {"/livez": health.probe_liveness, "/healthz": self._readiness.get_response}

    def __call__(self, environ: WSGIEnvironment, start_response: Callable[..., Any]) -> Any:
        check = self._checks.get(environ.get("PATH_INFO", ""))
        if check is None or environ.get("REQUEST_METHOD") not in ("GET", "HEAD"):
            return self._site(environ, start_response)
        status, body = check()
        content = json.dumps(body).encode()
        headers = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(content))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        start_response("200 OK" if status == 200 else "503 Service Unavailable", headers)
        return [content] if environ["REQUEST_METHOD"] == "GET" else []


class ReadinessCheck:
    """Run the readiness check in a thread, and answer 503 if it takes too long.

    A result is reused for CHECK_REUSE_SECONDS.
    """

    def __init__(self, check: Callable[[], health.HealthResponse] | None = None) -> None:
        self._check = check or probe_with_own_connection
        self._lock = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None  # created after the fork
        self._last: Future[health.HealthResponse] | None = None
        self._started = 0.0

    def get_response(self) -> health.HealthResponse:
        with self._lock:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="health")
            is_old = time.monotonic() - self._started > CHECK_REUSE_SECONDS
            if self._last is None or (self._last.done() and is_old):
                self._started = time.monotonic()
                self._last = self._thread.submit(self._check)
            last, started = self._last, self._started
        try:
            return last.result(timeout=max(0.0, started + CHECK_TIMEOUT_SECONDS - time.monotonic()))
        except TimeoutError:
            return health.build_no_database()


_thread_local = threading.local()


def probe_with_own_connection() -> health.HealthResponse:
    """Check readiness on a connection with short timeouts; close it when the check fails."""
    if not hasattr(_thread_local, "connection"):
        own_connection = connections.create_connection(DEFAULT_DB_ALIAS)
        own_connection.settings_dict = copy.deepcopy(own_connection.settings_dict)
        options = own_connection.settings_dict["OPTIONS"]
        if own_connection.vendor == "postgresql":
            options["connect_timeout"] = CONNECT_TIMEOUT_SECONDS
        else:
            options["timeout"] = CHECK_TIMEOUT_SECONDS
        _thread_local.connection = connections[DEFAULT_DB_ALIAS] = own_connection
    _thread_local.connection.close_if_unusable_or_obsolete()
    status, body = health.probe_readiness()
    if status != 200:
        _thread_local.connection.close()
    return status, body
