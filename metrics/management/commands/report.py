"""`manage.py report PROJECT`: what there is to say of a question, of now or of any past moment."""

from __future__ import annotations

import datetime
import json
from typing import Any
from zoneinfo import ZoneInfo

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from metrics.reports.report_facts import facts_at
from metrics.views.reports import document, texts
from projects.models import Project, Question


class Command(BaseCommand):
    help = (
        "A report on a question as Markdown: the coefficient to read, what it rests on, what must "
        "not be claimed from it, a paragraph for a methods section, and the hash of the ratings. "
        "Of now, or of any past moment: the same moment gives the same report for ever."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", type=int, metavar="PROJECT", help="the project's number")
        parser.add_argument("--question", metavar="KEY", help="the first one when left out")
        parser.add_argument(
            "--as-of",
            metavar="TIME",
            help="ISO-8601, like 2026-03-02 or 2026-03-02T18:00+08:00; in the project's time zone "
            "where it names none",
        )
        parser.add_argument("--json", action="store_true", help="names and figures as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        question = _question(options["project"], options["question"])
        project = question.project
        moment = _moment(options["as_of"], ZoneInfo(project.time_zone))
        facts = facts_at(question, moment)
        if options["json"]:
            told = texts.as_json(facts)
            self.stdout.write(json.dumps(told, ensure_ascii=False, allow_nan=False))
        else:
            self.stdout.write(document.markdown(facts, project.time_zone))


def _question(project_id: int, key: str | None) -> Question:
    project = Project.objects.filter(pk=project_id).first()
    if project is None:
        raise CommandError(f"There is no project {project_id}.")
    questions = list(project.questions.select_related("project"))
    if not questions:
        raise CommandError(f"Project {project_id} has no question yet.")
    for question in questions:
        if key in (None, question.key):
            return question
    known = ", ".join(question.key for question in questions)
    raise CommandError(f"There is no question '{key}'; one of {known}.")


def _moment(text: str | None, zone: ZoneInfo) -> datetime.datetime:
    now = timezone.now()
    if text is None:
        return now
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(
            f"--as-of must be a time like 2026-03-02T18:00+08:00, not '{text}'."
        ) from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=zone)
    if found > now:
        raise CommandError(f"--as-of {text} is yet to come.")
    return found
