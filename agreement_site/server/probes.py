"""/livez and /healthz before everything else: under any name, without a seat, and within two
seconds, whatever the database does.

A table that is locked keeps every seat waiting, so that a probe that needed one would hang when it
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

from django.db import DEFAULT_DB_ALIAS, connections

from agreement_site.monitoring import health

PATIENCE = 1.8  # seconds until a look that has not ended is taken for "the database is away"
FRESH = 1.0  # seconds for which a look is good: probes cost the database one a second at most
CONNECT_SECONDS = 2

Answer = list[bytes]


class Probes:
    """The WSGI application ``site`` with the two probes in front of it."""

    def __init__(self, site: Callable[..., Any]) -> None:
        self._site = site
        self._readiness = Readiness()
        self._answers = {"/livez": health.alive, "/healthz": self._readiness.answer}

    def __call__(self, request: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        answer = self._answers.get(request.get("PATH_INFO", ""))
        if answer is None or request.get("REQUEST_METHOD") not in ("GET", "HEAD"):
            return self._site(request, start_response)
        status, said = answer()
        content = json.dumps(said).encode()
        headers = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(content))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        start_response("200 OK" if status == 200 else "503 Service Unavailable", headers)
        return [content] if request["REQUEST_METHOD"] == "GET" else []


class Readiness:
    """Asks ``look`` in a thread of its own, one at a time, and answers without it when it is
    late."""

    def __init__(self, look: Callable[[], health.Answer] | None = None) -> None:
        self._look = look or with_own_connection
        self._lock = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None  # made after the fork
        self._last: Future[health.Answer] | None = None
        self._begun = 0.0

    def answer(self) -> health.Answer:
        with self._lock:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="health")
            is_old = time.monotonic() - self._begun > FRESH
            if self._last is None or (self._last.done() and is_old):
                self._begun = time.monotonic()
                self._last = self._thread.submit(self._look)
            last, begun = self._last, self._begun
        try:
            return last.result(timeout=max(0.0, begun + PATIENCE - time.monotonic()))
        except TimeoutError:
            return health.no_database()


_own = threading.local()


def with_own_connection() -> health.Answer:
    """A look by a connection that waits for nothing long; closed when it found something wrong."""
    if not hasattr(_own, "connection"):
        made = connections.create_connection(DEFAULT_DB_ALIAS)
        made.settings_dict = copy.deepcopy(made.settings_dict)
        options = made.settings_dict["OPTIONS"]
        if made.vendor == "postgresql":
            options["connect_timeout"] = CONNECT_SECONDS
        else:
            options["timeout"] = PATIENCE
        _own.connection = connections[DEFAULT_DB_ALIAS] = made
    _own.connection.close_if_unusable_or_obsolete()
    status, said = health.ready()
    if status != 200:
        _own.connection.close()
    return status, said
