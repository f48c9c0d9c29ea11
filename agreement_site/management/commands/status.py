"""`manage.py status`: what waits to be counted, who counts, and whether the broker answers."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import (
    BaseCommand,
    CommandError,
    CommandParser,
    no_translations,
)

from agreement_site.system_status.report import standing
from metrics.jobs import heartbeat


class Command(BaseCommand):
    help = (
        "Show uncounted ratings, imports under way, the workers' last sweeps and the broker. "
        "Ends with status 1 when no worker has swept, or a rating is in no number, for "
        f"{heartbeat.LATE_SECONDS:.0f} s, an audit found a difference, the tables are another "
        "release's, or a disk or the broker is full."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="for programs")

    @no_translations  # programs read it
    def handle(self, *args: Any, **options: Any) -> None:
        found = standing()
        if options["json"]:
            self.stdout.write(json.dumps(found))
        else:
            self.stdout.write("\n".join(lines(found)))
        if found["problems"]:
            raise CommandError("; ".join(found["problems"]), returncode=1)


def audit_line(audit: dict[str, Any] | None) -> str:
    if audit is None:
        return "-"
    wrong = (
        f"{audit['questions_that_differ']} questions differ"
        if audit["questions_that_differ"]
        else "exact"
    )
    return f"{audit['seconds_ago']:.0f} s ago, {wrong}"


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
