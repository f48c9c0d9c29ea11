"""/metrics for Prometheus, behind METRICS_TOKEN: what the processes of this machine count, and what
the database says of all machines. Without a token there is no such page."""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Max
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from agreement_site import releases
from metrics.counting import backlog
from metrics.integrity import schedule
from metrics.models import Worker
from ratings.imports import leases
from ratings.models import ImportRun, Revision

from . import health, stale_results


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    if not settings.METRICS_TOKEN:
        raise Http404
    given = request.headers.get("Authorization", "").encode("utf-8", "replace")
    if not hmac.compare_digest(given, f"Bearer {settings.METRICS_TOKEN}".encode()):
        return HttpResponse("The token of METRICS_TOKEN is needed.\n", status=401)
    of_site = CollectorRegistry()
    of_site.register(Site())
    content = generate_latest(_of_processes()) + generate_latest(of_site)
    return HttpResponse(content, content_type=CONTENT_TYPE_LATEST)


def _of_processes() -> CollectorRegistry:
    """The sum over web server and workers of this machine; in a process alone its own."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    return registry


def forget_processes(folder: Path) -> None:
    """Remove what processes counted that are gone; to be called when the web server starts.

    What they counted begins at 0 again, as Prometheus expects of a program that was started anew.
    """
    for path in folder.glob("*_*.db"):
        number = path.stem.rpartition("_")[2]
        if number.isdecimal() and not Path("/proc", number).exists():
            path.unlink(missing_ok=True)


class Site:
    """Values that are read when somebody asks, as prometheus_client collects them."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        info = GaugeMetricFamily("concord_release", "The release that answers", labels=["release"])
        info.add_metric([releases.release()], 1)
        yield info
        yield _gauge("disk_free_bytes", "Room on the disk of DATA_DIR", health.free_bytes())
        try:
            found = _asked()
        except DatabaseError:
            yield _gauge("database_up", "Whether the database answers", 0)
            return
        yield _gauge("database_up", "Whether the database answers", 1)
        for name, (about, value) in found.items():
            if value is not None:
                yield _gauge(name, about, value)


def _gauge(name: str, about: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"concord_{name}", about, value=value)


def _asked() -> dict[str, tuple[str, Any]]:
    """name -> what it is, and its value; None where there is none."""
    now = timezone.now()
    with transaction.atomic():
        health.bound_statements(connection)
        behind = stale_results.look(now)
        open_ones = backlog.all_progress().values()
        swept_at = Worker.objects.aggregate(at=Max("swept_at"))["at"]
        audit = schedule.last() or {}
        imports = ImportRun.objects.filter(state__in=leases.WORKING).count()
        # Each rating given, changed or withdrawn is a line: its number counts them, about.
        lines = Revision.objects.aggregate(last=Max("pk"))["last"] or 0
    return {
        "ratings_taken": ("Ratings given, changed or withdrawn since the site began", lines),
        "uncounted_ratings": ("Ratings that the counts do not hold", behind.uncounted),
        "unread_changes": ("Changes that are counted and in no reading", behind.unread),
        "oldest_unseen_seconds": ("Age of the oldest change in no number", behind.seconds(now)),
        "failing_questions": ("Questions behind by a minute or more", behind.failing),
        "backlog_ratings": (
            "Ratings of backlogs that are not counted yet",
            sum(one["total"] - one["done"] for one in open_ones),
        ),
        "last_sweep_seconds": (
            "Time since a worker's last sweep",
            None if swept_at is None else max(0.0, (now - swept_at).total_seconds()),
        ),
        "imports_under_way": ("Imports that are checked or written", imports),
        "audit_age_seconds": ("Time since the last audit", audit.get("seconds_ago")),
        "audit_differing_questions": (
            "Questions that differ from a recount",
            audit.get("questions_that_differ"),
        ),
    }
