"""Whether the site is alive (/livez: it answers) and ready (/healthz: it can take a rating, and how
far its numbers are behind). Open to everybody, so they say nothing else.

Behind the real web server both are answered before a request needs a seat, and within two seconds
whatever the database does (agreement_site/server/probes.py); elsewhere these views answer.
"""

from __future__ import annotations

import logging
import shutil
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from agreement_site import releases
from agreement_site.models import SignInTries
from metrics.counting import backlog
from metrics.integrity import schedule

from . import stale_results

logger = logging.getLogger(__name__)

Answer = tuple[int, dict[str, Any]]  # status and body

STATEMENT_MILLISECONDS = 1500
LEAST_FREE_BYTES = 32 << 20  # of a disk that the database lies on


def alive() -> Answer:
    return 200, {"status": "alive", "release": releases.release()}


def not_ready(status: str, message: str) -> Answer:
    """``status`` is database, release or disk; ``message`` a sentence for people."""
    said = {"status": status, "message": message, "release": releases.release()}
    return 503, said


def no_database() -> Answer:
    return not_ready("database", "The database does not answer, or takes nothing.")


def ready() -> Answer:
    """Looks at the database; raises nothing that the database raises."""
    if connection.vendor == "sqlite" and free_bytes() < LEAST_FREE_BYTES:
        return not_ready("disk", "The disk of the database is full.")
    try:
        with transaction.atomic():
            bound_statements(connection)
            if said := releases.trouble():
                return not_ready("release", said)
            if connection.vendor == "postgresql":
                _write()
            return 200, _numbers()
    except DatabaseError as error:
        logger.warning("not ready: %s", error)
        return no_database()


def bound_statements(database: Any) -> None:
    """Until the transaction ends no statement of it takes long (PostgreSQL)."""
    if database.vendor == "postgresql":
        with database.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {STATEMENT_MILLISECONDS}")


def free_bytes() -> int:
    return shutil.disk_usage(settings.DATA_DIR).free


def _write() -> None:
    """A row of our own, for a database that only reads is not ready."""
    SignInTries.objects.update_or_create(key="ready", defaults={"since": timezone.now()})


def _numbers() -> dict[str, Any]:
    now = timezone.now()
    behind = stale_results.look(now)
    open_ones = backlog.all_progress().values()
    return {
        "status": "ok",
        "release": releases.release(),
        "uncounted": behind.uncounted + behind.unread,
        "oldest_uncounted_seconds": round(behind.seconds(now), 3),
        "failing_questions": behind.failing,
        "backlog": {name: sum(one[name] for one in open_ones) for name in ("done", "total")},
        "audit": schedule.last(),
    }


@never_cache
@require_safe
def livez(request: HttpRequest) -> JsonResponse:
    status, said = alive()
    return JsonResponse(said, status=status)


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    status, said = ready()
    return JsonResponse(said, status=status)
