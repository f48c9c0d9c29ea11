"""Command ``manage.py gate PROJECT NAME``: decide a gate, for a job that depends on it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from projects.models import Project
from quality.gates import services, verdict_jobs, verdict_texts
from quality.gates.verdicts import Document, compute_verdict
from quality.models import Gate, VerdictValue

EXIT_STATUSES = {
    VerdictValue.PASS.value: 0,
    VerdictValue.FAIL.value: 1,
    VerdictValue.NOT_ENOUGH.value: 2,
}
ERROR_STATUS = 3


class GateCommandParser(CommandParser):
    """Parser whose errors have the exit status of this command, not that of a verdict."""

    def error(self, message: str) -> Any:
        self.print_usage(sys.stderr)
        self.exit(ERROR_STATUS, f"{self.prog}: error: {message}\n")


class Command(BaseCommand):
    help = (
        "Decide a gate, as of now or of a past moment. Exit status: 0 it passes, 1 it fails,"
        " 2 not enough data, 3 error."
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.__class__ = GateCommandParser
        return parser

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", type=int, metavar="PROJECT", help="the project's ID")
        parser.add_argument("name", metavar="NAME", help="the name of the gate")
        parser.add_argument(
            "--as-of",
            metavar="TIME",
            help="ISO 8601, like 2026-03-02 or 2026-03-02T18:00+08:00; default time zone: the "
            "project's",
        )
        parser.add_argument("--json", action="store_true", help="the signed verdict as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            document = self._compute_verdict(options)
        except CommandError:
            raise
        except Exception as error:  # any other exit status would be a verdict
            message = f"The gate could not be decided: {error}"
            raise CommandError(message, returncode=ERROR_STATUS) from error
        if options["json"]:
            self.stdout.write(json.dumps(document, ensure_ascii=False, allow_nan=False))
        else:
            self.stdout.write(verdict_texts.describe_verdict(document))
            for line in verdict_texts.list_rule_sentences(document):
                self.stdout.write(f"  {line}")
        if status := EXIT_STATUSES[document["verdict"]]:
            sys.exit(status)

    def _compute_verdict(self, options: Mapping[str, Any]) -> Document:
        gate = _get_gate(options["project"], options["name"])
        if options["as_of"] is None:
            return compute_verdict(gate, timezone.now())
        try:
            zone = ZoneInfo(gate.project.time_zone)
            moment = verdict_jobs.parse_moment(options["as_of"], zone)
        except verdict_jobs.InvalidMoment as error:
            raise CommandError(f"--as-of: {error}", returncode=ERROR_STATUS) from None
        return compute_verdict(gate, moment)


def _get_gate(project_id: int, name: str) -> Gate:
    project = Project.objects.filter(pk=project_id).first()
    if project is None:
        raise CommandError(f"There is no project {project_id}.", returncode=ERROR_STATUS)
    gates = {gate.name: gate for gate in services.list_gates(project)}
    if name not in gates:
        available = ", ".join(gates) or "none"
        raise CommandError(
            f"There is no gate '{name}'; one of: {available}", returncode=ERROR_STATUS
        )
    return gates[name]
