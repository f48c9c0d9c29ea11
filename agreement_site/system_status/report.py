"""How the site stands: what waits to be in the numbers, who counts, what is full. For the page of
whoever runs it and for `manage.py status`."""

from __future__ import annotations

from typing import Any

import redis
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agreement_site import releases
from agreement_site.monitoring import health, stale_results
from agreement_site.server import embedded_broker
from metrics.counting import backlog
from metrics.integrity import schedule
from metrics.jobs import heartbeat, hints, question_updates
from metrics.models import Worker
from ratings.imports import leases
from ratings.models import ImportRun

LOW_BYTES = 1 << 30  # of DATA_DIR's disk: imports and, on SQLite, ratings need it


def standing() -> dict[str, Any]:
    """What `manage.py status --json` prints; ``late`` are the ids of questions."""
    now = timezone.now()
    behind = stale_results.look(now)
    workers = {
        name: (now - swept_at).total_seconds()
        for name, swept_at in Worker.objects.order_by("-swept_at").values_list("name", "swept_at")
    }
    found: dict[str, Any] = {
        "release": releases.release(),
        "tables": releases.trouble() or "of this release",
        "uncounted": behind.uncounted + behind.unread,
        "oldest_uncounted_seconds": None if behind.oldest is None else behind.seconds(now),
        "failing_questions": behind.failing,
        "late": sorted(behind.late),
        "questions_waiting": len(question_updates.waiting_questions()),
        "backlogs": {
            str(question_id): progress for question_id, progress in backlog.all_progress().items()
        },
        "imports_under_way": ImportRun.objects.filter(state__in=leases.WORKING).count(),
        "audit": schedule.last(),
        "workers": workers,
        "broker": broker(),
        "disk_free_bytes": health.free_bytes(),
    }
    return {**found, "problems": problems(found)}


def broker() -> str:
    if settings.REDIS_URL:
        client = hints.client()
    elif embedded_broker.broker_answers(settings.DATA_DIR):
        # a shell beside `make run`, which has told its own processes
        socket = str(embedded_broker.broker_socket(settings.DATA_DIR))
        client = redis.Redis(unix_socket_path=socket, socket_timeout=0.5)
    else:
        return "none"
    try:
        client.ping()
        # A broker whose memory is full answers, and takes no hint.
        client.set(
            f"{settings.CELERY_BROKER_TRANSPORT_OPTIONS['global_keyprefix']}status", 1, ex=60
        )
    except redis.ResponseError as error:
        return f"takes nothing ({type(error).__name__})"
    except (redis.RedisError, OSError) as error:
        return f"does not answer ({type(error).__name__})"
    return "answers"


def problems(found: dict[str, Any]) -> list[str]:
    """What somebody should look at, in sentences."""
    said = []
    if found["tables"] != "of this release":
        said.append(found["tables"])
    if found["disk_free_bytes"] < LOW_BYTES:
        free = {"free": found["disk_free_bytes"] >> 20}
        said.append(_("the disk of DATA_DIR has %(free)s MB left") % free)
    if found["broker"].startswith("takes nothing"):
        said.append(_("the broker answers, but takes nothing"))
    last = min(found["workers"].values(), default=None)
    if last is None:
        said.append(_("no worker has swept within the last hour"))
    elif last > heartbeat.LATE_SECONDS:
        said.append(_("no worker has swept for %(seconds)d s") % {"seconds": round(last)})
    oldest = found["oldest_uncounted_seconds"]
    if oldest is not None and oldest > heartbeat.LATE_SECONDS:
        waits = _("a rating has been waiting to be in the numbers for %(seconds)d s")
        said.append(waits % {"seconds": round(oldest)})
    if number := found["failing_questions"]:
        said.append(
            ngettext(
                "%(number)s question is not brought up to date",
                "%(number)s questions are not brought up to date",
                number,
            )
            % {"number": number}
        )
    if found["audit"] and (number := found["audit"]["questions_that_differ"]):
        said.append(
            ngettext(
                "%(number)s question differs from a recount (manage.py audit)",
                "%(number)s questions differ from a recount (manage.py audit)",
                number,
            )
            % {"number": number}
        )
    return said
