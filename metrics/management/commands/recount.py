"""`manage.py recount`: count a question from scratch, as if all its ratings were new."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from metrics.jobs import question_updates
from metrics.management.question_argument import add_question_argument, get_questions
from metrics.results import refresh


class Command(BaseCommand):
    help = (
        "Delete the counts and results of one question, or of all, "
        "and compute them again from the ratings."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_question_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        for question in get_questions(options["question"]):
            question_updates.delete_counts_and_results(question)
            n_items = question_updates.update_question(question.pk)
            refresh.recompute_deferred_cumulative_results(question.pk)
            self.stdout.write(f"{question.project_id}/{question.key}: {n_items} items counted")
