"""`manage.py report PROJECT`: a report on a question, as of now or of a past moment."""

from __future__ import annotations

import datetime
import json
from typing import Any
from zoneinfo import ZoneInfo

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from metrics.reports import compute_report_facts
from metrics.views.reports import cautions_and_methods, document
from projects.models import Project, Question


class Command(BaseCommand):
    help = (
        "Print a report on a question as Markdown: the headline, what it is based on, its "
        "limitations, a paragraph for a methods section, and the hash of the ratings. "
        "As of now, or of a past moment: the same moment always gives the same report."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", type=int, metavar="PROJECT", help="the project's ID")
        parser.add_argument("--question", metavar="KEY", help="default: the first question")
        parser.add_argument(
            "--as-of",
            metavar="TIME",
            help="ISO 8601, like 2026-03-02 or 2026-03-02T18:00+08:00; default time zone: the "
            "project's",
        )
        parser.add_argument("--json", action="store_true", help="names and figures as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        question = _get_question(options["project"], options["question"])
        project = question.project
        moment = _parse_moment(options["as_of"], ZoneInfo(project.time_zone))
        facts = compute_report_facts(question, moment)
        if options["json"]:
            data = cautions_and_methods.build_json(facts)
            self.stdout.write(json.dumps(data, ensure_ascii=False, allow_nan=False))
        else:
            self.stdout.write(document.render_markdown(facts, question))


def _get_question(project_id: int, key: str | None) -> Question:
    project = Project.objects.filter(pk=project_id).first()
    if project is None:
        raise CommandError(f"There is no project {project_id}.")
    questions = list(project.questions.select_related("project"))
    if not questions:
        raise CommandError(f"Project {project_id} has no question yet.")
    for question in questions:
        if key in (None, question.key):
            return question
    available = ", ".join(question.key for question in questions)
    raise CommandError(f"There is no question '{key}'; one of {available}.")


def _parse_moment(text: str | None, zone: ZoneInfo) -> datetime.datetime:
    now = timezone.now()
    if text is None:
        return now
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(
            f"--as-of must be a time like 2026-03-02T18:00+08:00, not '{text}'."
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    if moment > now:
        raise CommandError(f"--as-of {text} is in the future.")
    return moment
