"""`manage.py recount`: count a question again from nothing, as if all its ratings had just come
in."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from metrics.jobs import question_updates
from metrics.management.question_argument import add_question_argument, chosen_questions
from metrics.results import refresh


class Command(BaseCommand):
    help = (
        "Forget the counts and readings of one question, or of all, "
        "and make them again from the ratings."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_question_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        for question in chosen_questions(options["question"]):
            question_updates.recount(question)
            items = question_updates.bring_up_to_date(question.pk)
            refresh.finish(question.pk)
            self.stdout.write(f"{question.project_id}/{question.key}: {items} items counted")
