"""`manage.py recount`: count a question again from nothing, as if all its ratings had just come
in."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from metrics.management.selecting import add_question_argument, chosen_questions
from metrics.readings import project
from metrics.work import sweep


class Command(BaseCommand):
    help = (
        "Forget the counts and readings of one question, or of all, "
        "and make them again from the ratings."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_question_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        for question in chosen_questions(options["question"]):
            sweep.recount(question)
            items = sweep.bring_up_to_date(question.pk)
            project.finish(question.pk)
            self.stdout.write(f"{question.project_id}/{question.key}: {items} items counted")
