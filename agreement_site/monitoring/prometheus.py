"""/metrics for Prometheus, protected by METRICS_TOKEN; without a token the page does not exist.

It has what the processes of this machine count, and what the database knows of all machines.
"""

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
from core.db.transactions import limit_statement_time
from metrics.counting import backlog
from metrics.integrity import schedule
from metrics.models import Worker
from ratings.imports import leases
from ratings.models import ImportRun, Revision

from . import health


@never_cache
@require_safe
def serve_metrics(request: HttpRequest) -> HttpResponse:
    if not settings.METRICS_TOKEN:
        raise Http404
    authorization = request.headers.get("Authorization", "").encode("utf-8", "replace")
    if not hmac.compare_digest(authorization, f"Bearer {settings.METRICS_TOKEN}".encode()):
        return HttpResponse("The token of METRICS_TOKEN is needed.\n", status=401)
    site_registry = CollectorRegistry()
    site_registry.register(SiteCollector())
    content = generate_latest(_get_process_registry()) + generate_latest(site_registry)
    return HttpResponse(content, content_type=CONTENT_TYPE_LATEST)


def _get_process_registry() -> CollectorRegistry:
    """Return a registry that sums the metrics of this machine's web server and workers.

    Without PROMETHEUS_MULTIPROC_DIR it is the registry of this process alone.
    """
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    return registry


def remove_dead_process_files(folder: Path) -> None:
    """Remove the counts of processes that no longer exist; called when the web server starts.

    The counters then begin at 0 again, as Prometheus expects of a restarted program.
    """
    for path in folder.glob("*_*.db"):
        pid = path.stem.rpartition("_")[2]
        if pid.isdecimal() and not Path("/proc", pid).exists():
            path.unlink(missing_ok=True)


class SiteCollector:
    """Collect values for prometheus_client at the time of the request."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        info = GaugeMetricFamily("concord_release", "The release that answers", labels=["release"])
        info.add_metric([releases.get_release()], 1)
        yield info
        yield _build_gauge(
            "disk_free_bytes", "Room on the disk of DATA_DIR", health.get_free_bytes()
        )
        try:
            gauges = _query_gauges()
        except DatabaseError:
            yield _build_gauge("database_up", "Whether the database answers", 0)
            return
        yield _build_gauge("database_up", "Whether the database answers", 1)
        for name, (description, value) in gauges.items():
            if value is not None:
                yield _build_gauge(name, description, value)


def _build_gauge(name: str, description: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"concord_{name}", description, value=value)


def _query_gauges() -> dict[str, tuple[str, Any]]:
    """Return {metric name: (description, value)}; the value is None if it cannot be measured."""
    now = timezone.now()
    with transaction.atomic():
        limit_statement_time(connection, health.STATEMENT_MILLISECONDS)
        lag = health.record_and_measure_lag(now)
        backlogs = backlog.get_progress_by_question().values()
        swept_at = Worker.objects.aggregate(at=Max("swept_at"))["at"]
        audit = schedule.get_audit_summary()
        imports = ImportRun.objects.filter(state__in=leases.WORKING_STATES).count()
        # Each rating given, changed or withdrawn is a row: the last id is about their number.
        n_revisions = Revision.objects.aggregate(last=Max("pk"))["last"] or 0
    return {
        "rating_changes": ("Ratings given, changed or withdrawn since the site began", n_revisions),
        "uncounted_ratings": ("Ratings that are not counted yet", lag.uncounted),
        "stale_changes": ("Changes that are counted but not in the results yet", lag.stale),
        "oldest_change_seconds": (
            "Age of the oldest change that is not in the results yet",
            lag.get_lag_seconds(now),
        ),
        "late_questions": ("Questions behind by a minute or more", lag.n_late),
        "backlog_ratings": (
            "Ratings of backlogs that are not counted yet",
            sum(progress["total"] - progress["done"] for progress in backlogs),
        ),
        "last_sweep_seconds": (
            "Time since a worker's last sweep",
            None if swept_at is None else max(0.0, (now - swept_at).total_seconds()),
        ),
        "running_imports": ("Imports that are checked or written", imports),
        "audit_age_seconds": ("Time since the last audit", audit["seconds_ago"] if audit else None),
        "audit_differing_questions": (
            "Questions that differ from a recount",
            audit["questions_that_differ"] if audit else None,
        ),
    }
