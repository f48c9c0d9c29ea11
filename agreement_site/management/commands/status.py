"""`manage.py status`: show uncounted ratings, workers, and whether the broker answers."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import (
    BaseCommand,
    CommandError,
    CommandParser,
    no_translations,
)

from agreement_site.notifications.outbox import MailQueueState
from agreement_site.system_status import SystemStatus, collect_status
from metrics.integrity.schedule import AuditSummary
from metrics.jobs import heartbeat


class Command(BaseCommand):
    help = (
        "Show uncounted ratings, running imports, the workers' last sweeps and the broker. "
        "Exits with status 1 when no worker has swept, or a rating is in no result, for "
        f"{heartbeat.LATE_SECONDS:.0f} s, an audit found a difference, the tables belong to "
        "another release, or a disk or the broker is full."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="for programs")

    @no_translations  # programs read the output
    def handle(self, *args: Any, **options: Any) -> None:
        status = collect_status()
        if options["json"]:
            self.stdout.write(json.dumps(status.to_json()))
        else:
            self.stdout.write("\n".join(format_status_lines(status)))
        if problems := status.problems:
            raise CommandError("; ".join(problems), returncode=1)


def format_audit_state(audit: AuditSummary | None) -> str:
    if audit is None:
        return "-"
    outcome = (
        f"{audit['questions_that_differ']} questions differ"
        if audit["questions_that_differ"]
        else "exact"
    )
    return f"{audit['seconds_ago']:.0f} s ago, {outcome}"


def format_mails(mails: MailQueueState | None) -> str:
    if mails is None:
        return "-"
    return f"{mails['waiting']}; {mails['failed']} failed in the last day"


def format_status_lines(status: SystemStatus) -> list[str]:
    oldest = status.oldest_uncounted_seconds
    return [
        f"Release               {status.release}; schema {status.schema}",
        f"Uncounted ratings     {status.uncounted}",
        f"Oldest of them        {'-' if oldest is None else f'{oldest:.0f} s'}",
        f"Questions with work   {status.pending_questions}",
        f"Failing questions     {status.late_questions}",
        *(
            f"Backlog of question {question_id}: {progress['done']} of {progress['total']} "
            f"ratings counted"
            for question_id, progress in status.backlogs.items()
        ),
        f"Queued mails          {format_mails(status.mails)}",
        f"Imports under way     {status.running_imports}",
        f"Last audit            {format_audit_state(status.audit)}",
        f"Broker                {status.broker}",
        f"Free in DATA_DIR      {status.disk_free_bytes >> 20} MB",
        *(f"Worker {name} swept {seconds:.0f} s ago" for name, seconds in status.workers.items()),
        *status.separate_folders,
    ]
