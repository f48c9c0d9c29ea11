"""Liveness (/livez), readiness (/healthz), and how far results are behind the ratings.

/livez responds if the process does, /healthz if a rating can be stored; it also has the lag of
results. Both are public and say nothing else. Behind the real web server, HealthProbes answers both
before a request needs a connection slot, within two seconds whatever the database does; elsewhere
the views of this module do.

A question whose results cannot be computed would otherwise look up to date. Counts say how many
changes are not in a result, not since when. So every observer records the time: each sweep of a
worker, each health check, `manage.py status`.
"""

from __future__ import annotations

import copy
import datetime
import json
import logging
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from wsgiref.types import WSGIEnvironment

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections, transaction
from django.db.models import Q
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from agreement_site import releases
from agreement_site.models import AttemptCounter, StaleQuestion
from core.db.transactions import limit_statement_time
from metrics.counting import backlog
from metrics.integrity import schedule
from metrics.jobs.heartbeat import LATE_SECONDS
from metrics.models import CountState
from ratings.services import uncounted_ratings

# Results follow within seconds: until then nothing is recorded.
GRACE_PERIOD = datetime.timedelta(seconds=5)
LATE_AFTER = datetime.timedelta(seconds=LATE_SECONDS)


@dataclass(frozen=True, slots=True)
class ResultLag:
    """Lag of the counts and results behind the ratings."""

    uncounted: int  # ratings that are not in the counts
    stale: int  # changes that are in the counts and not in the results
    oldest: datetime.datetime | None  # time of the oldest of both
    late: frozenset[int]  # ids of questions with a change older than LATE_SECONDS

    @property
    def n_late(self) -> int:
        """Number of late questions."""
        return len(self.late)

    def get_lag_seconds(self, now: datetime.datetime) -> float:
        """Return the age in seconds of the oldest change that no result shows; 0 without one."""
        return 0.0 if self.oldest is None else max(0.0, (now - self.oldest).total_seconds())


def record_and_measure_lag(now: datetime.datetime) -> ResultLag:
    """Store which questions are stale at ``now``, and return the lag of their results."""
    uncounted, oldest_uncounted = uncounted_ratings.get_backlog()
    stale_counts = dict(
        CountState.objects.filter(unrefreshed__gt=0).values_list("pk", "unrefreshed")
    )
    stale_since = _record_stale_questions(now)
    failing = {
        question_id for question_id, moment in stale_since.items() if moment <= now - LATE_AFTER
    }
    if oldest_uncounted is not None and oldest_uncounted <= now - LATE_AFTER:
        late = uncounted_ratings.get_ratings().filter(changed_at__lte=now - LATE_AFTER).order_by()
        failing.update(late.values_list("question_id", flat=True).distinct())
    times = [moment for moment in (oldest_uncounted, *stale_since.values()) if moment is not None]
    oldest_change = min(times, default=None)
    return ResultLag(uncounted, sum(stale_counts.values()), oldest_change, frozenset(failing))


def _record_stale_questions(now: datetime.datetime) -> dict[int, datetime.datetime]:
    """Store the stale questions; return {question id: time at which it was first found stale}."""
    late = Q(refreshed_at__isnull=True) | Q(refreshed_at__lt=now - GRACE_PERIOD)
    stale_states = CountState.objects.filter(late, unrefreshed__gt=0).values_list(
        "pk", "refreshed_at"
    )
    read_at = dict(stale_states)
    recorded = {row.question_id: row for row in StaleQuestion.objects.all()}
    # Refreshed since, at least in part: what is stale now came later.
    outdated = [
        pk for pk, row in recorded.items() if pk not in read_at or read_at[pk] != row.read_at
    ]
    if outdated:
        StaleQuestion.objects.filter(pk__in=outdated).delete()
    since = {pk: row.since for pk, row in recorded.items() if pk not in outdated}
    new_rows = [
        StaleQuestion(question_id=pk, read_at=moment, since=now)
        for pk, moment in read_at.items()
        if pk not in since
    ]
    StaleQuestion.objects.bulk_create(new_rows, ignore_conflicts=True)
    return {**since, **{row.question_id: row.since for row in new_rows}}


logger = logging.getLogger(__name__)

HealthResponse = tuple[int, Mapping[str, object]]  # status and body

STATEMENT_MILLISECONDS = 1500
MIN_FREE_BYTES = 32 << 20  # on the disk of the database


def probe_liveness() -> HealthResponse:
    return 200, {"status": "alive", "release": releases.get_release()}


def build_not_ready(status: str, message: str) -> HealthResponse:
    """Return status 503 and its body.

    ``status`` is database, release or disk, ``message`` a sentence for people.
    """
    body = {"status": status, "message": message, "release": releases.get_release()}
    return 503, body


def build_no_database() -> HealthResponse:
    return build_not_ready("database", "The database does not answer, or takes nothing.")


def probe_readiness() -> HealthResponse:
    """Return status 200 and the lag of results; 503 if disk, schema or database are not ready."""
    if connection.vendor == "sqlite" and get_free_bytes() < MIN_FREE_BYTES:
        return build_not_ready("disk", "The disk of the database is full.")
    try:
        with transaction.atomic():
            limit_statement_time(connection, STATEMENT_MILLISECONDS)
            if mismatch := releases.describe_schema_mismatch():
                return build_not_ready("release", mismatch)
            if connection.vendor == "postgresql":
                _write_probe_row()
            return 200, _build_ready_body()
    except DatabaseError as error:
        logger.warning("Not ready: %s", error)
        return build_no_database()


def get_free_bytes() -> int:
    """Return the free bytes on the disk of DATA_DIR."""
    return shutil.disk_usage(settings.DATA_DIR).free


def _write_probe_row() -> None:
    """Write a row that only this check uses; this fails if the database is read-only."""
    AttemptCounter.objects.update_or_create(key="ready", defaults={"since": timezone.now()})


def _build_ready_body() -> dict[str, object]:
    now = timezone.now()
    lag = record_and_measure_lag(now)
    backlogs = backlog.get_progress_by_question().values()
    return {
        "status": "ok",
        "release": releases.get_release(),
        "uncounted": lag.uncounted + lag.stale,
        "oldest_uncounted_seconds": round(lag.get_lag_seconds(now), 3),
        "late_questions": lag.n_late,
        "backlog": {
            name: sum(progress[name] for progress in backlogs) for name in ("done", "total")
        },
        "audit": schedule.get_audit_summary(),
    }


@never_cache
@require_safe
def livez(request: HttpRequest) -> JsonResponse:
    status, body = probe_liveness()
    return JsonResponse(body, status=status)


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    status, body = probe_readiness()
    return JsonResponse(body, status=status)


CHECK_TIMEOUT_SECONDS = (
    1.8  # seconds until an unfinished check counts as "the database does not answer"
)
CHECK_REUSE_SECONDS = 1.0  # seconds for which a result is reused: at most one check per second
CONNECT_TIMEOUT_SECONDS = 2


class HealthProbes:
    """WSGI application that answers the two probes and passes everything else to ``site``."""

    def __init__(self, site: Callable[..., Any]) -> None:
        self._site = site
        self._readiness = ReadinessCheck()
        self._checks = {"/livez": probe_liveness, "/healthz": self._readiness.get_response}

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

    def __init__(self, check: Callable[[], HealthResponse] | None = None) -> None:
        self._check = check or probe_with_own_connection
        self._lock = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None  # created after the fork
        self._last: Future[HealthResponse] | None = None
        self._started = 0.0

    def get_response(self) -> HealthResponse:
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
            return build_no_database()


_thread_local = threading.local()


def probe_with_own_connection() -> HealthResponse:
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
    status, body = probe_readiness()
    if status != 200:
        _thread_local.connection.close()
    return status, body
