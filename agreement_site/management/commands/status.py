"""`manage.py status`: what waits to be counted, who counts, and whether the broker answers."""

from __future__ import annotations

import json
from typing import Any

import redis
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from agreement_site import releases
from agreement_site.answers import health, unread
from agreement_site.running import embedded
from metrics.auditing import schedule
from metrics.counting import backlog
from metrics.models import Worker
from metrics.work import heartbeat, hints, sweep
from ratings.importing import leases
from ratings.models import ImportRun

LOW_BYTES = 1 << 30  # of DATA_DIR's disk: imports and, on SQLite, ratings need it


class Command(BaseCommand):
    help = (
        "Show uncounted ratings, imports under way, the workers' last sweeps and the broker. "
        "Ends with status 1 when no worker has swept, or a rating is in no number, for "
        f"{heartbeat.LATE_SECONDS:.0f} s, an audit found a difference, the tables are another "
        "release's, or a disk or the broker is full."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        found = status()
        if options["json"]:
            self.stdout.write(json.dumps(found))
        else:
            self.stdout.write("\n".join(lines(found)))
        if found["problems"]:
            raise CommandError("; ".join(found["problems"]), returncode=1)


def status() -> dict[str, Any]:
    now = timezone.now()
    behind = unread.look(now)
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
        "questions_waiting": len(sweep.waiting_questions()),
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
    elif embedded.broker_answers(settings.DATA_DIR):
        # a shell beside `make run`, which has told its own processes
        socket = str(embedded.broker_socket(settings.DATA_DIR))
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


def audit_line(audit: dict[str, Any] | None) -> str:
    if audit is None:
        return "-"
    wrong = (
        f"{audit['questions_that_differ']} questions differ"
        if audit["questions_that_differ"]
        else "exact"
    )
    return f"{audit['seconds_ago']:.0f} s ago, {wrong}"


def problems(found: dict[str, Any]) -> list[str]:
    said = []
    if found["tables"] != "of this release":
        said.append(found["tables"])
    if found["disk_free_bytes"] < LOW_BYTES:
        said.append(f"the disk of DATA_DIR has {found['disk_free_bytes'] >> 20} MB left")
    if found["broker"].startswith("takes nothing"):
        said.append("the broker answers, but takes nothing")
    last = min(found["workers"].values(), default=None)
    if last is None:
        said.append("no worker has swept within the last hour")
    elif last > heartbeat.LATE_SECONDS:
        said.append(f"no worker has swept for {last:.0f} s")
    oldest = found["oldest_uncounted_seconds"]
    if oldest is not None and oldest > heartbeat.LATE_SECONDS:
        said.append(f"a rating has been waiting to be in the numbers for {oldest:.0f} s")
    if found["failing_questions"]:
        said.append(f"{found['failing_questions']} questions are not brought up to date")
    if found["audit"] and found["audit"]["questions_that_differ"]:
        said.append(
            f"{found['audit']['questions_that_differ']} questions differ from a recount "
            f"(manage.py audit)"
        )
    return said


def lines(found: dict[str, Any]) -> list[str]:
    oldest = found["oldest_uncounted_seconds"]
    return [
        f"Release               {found['release']}; tables {found['tables']}",
        f"Uncounted ratings     {found['uncounted']}",
        f"Oldest of them        {'-' if oldest is None else f'{oldest:.0f} s'}",
        f"Questions with work   {found['questions_waiting']}",
        f"Failing questions     {found['failing_questions']}",
        *(
            f"Backlog of question {question_id}: {progress['done']} of {progress['total']} "
            f"ratings counted"
            for question_id, progress in found["backlogs"].items()
        ),
        f"Imports under way     {found['imports_under_way']}",
        f"Last audit            {audit_line(found['audit'])}",
        f"Broker                {found['broker']}",
        f"Free in DATA_DIR      {found['disk_free_bytes'] >> 20} MB",
        *(f"Worker {name} swept {seconds:.0f} s ago" for name, seconds in found["workers"].items()),
    ]
