"""Liveness (/livez: the process answers) and readiness (/healthz: a rating can be stored).

/healthz also says how far results are behind the ratings. Both are public and say nothing else.
Behind the real web server both are answered before a request needs a connection slot, within
two seconds whatever the database does (agreement_site/server/probes.py); elsewhere by these
views.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from agreement_site import releases
from agreement_site.models import AttemptCounter
from core.db.transactions import limit_statement_time
from metrics.counting import backlog
from metrics.integrity import schedule

from . import stale_results

logger = logging.getLogger(__name__)

HealthResponse = tuple[int, Mapping[str, object]]  # status and body

STATEMENT_MILLISECONDS = 1500
MIN_FREE_BYTES = 32 << 20  # on the disk of the database


def probe_liveness() -> HealthResponse:
    return 200, {"status": "alive", "release": releases.get_release()}


def build_not_ready(status: str, message: str) -> HealthResponse:
    """Return a 503; ``status`` is database, release or disk, ``message`` a sentence for people."""
    body = {"status": status, "message": message, "release": releases.get_release()}
    return 503, body


def build_no_database() -> HealthResponse:
    return build_not_ready("database", "The database does not answer, or takes nothing.")


def probe_readiness() -> HealthResponse:
    """Check disk, schema and database; database errors become a 503."""
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
    """Write a row of our own: a read-only database is not ready."""
    AttemptCounter.objects.update_or_create(key="ready", defaults={"since": timezone.now()})


def _build_ready_body() -> dict[str, object]:
    now = timezone.now()
    lag = stale_results.record_and_measure_lag(now)
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
