"""`manage.py audit`: do the stored counts and readings equal a recount from the ratings?"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics.integrity import audit_hooks
from metrics.integrity.audit import audit
from metrics.jobs import question_updates
from metrics.management.question_argument import add_question_argument, chosen_questions
from metrics.results import refresh
from projects.models import Question

SHOWN = 20


class Command(BaseCommand):
    help = (
        "Count all ratings again in memory and compare with what is stored, integer for integer;"
        " make the labels anew and compare them too. "
        "Ends with 0 when all is equal, with 1 and the differences otherwise."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_question_argument(parser)
        parser.add_argument(
            "--repair",
            action="store_true",
            help="count the questions that differ again from nothing",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        questions = chosen_questions(options["question"])
        wrong = [question for question in questions if not self.is_exact(question)]
        if wrong and options["repair"]:
            for question in wrong:
                question_updates.recount(question)
                question_updates.bring_up_to_date(question.pk)
                refresh.finish(question.pk)
                for stored in audit_hooks.ALL:
                    stored.repair(question.pk)
            self.stdout.write("Counted again:")
            wrong = [question for question in wrong if not self.is_exact(question)]
        if wrong:
            raise CommandError(f"{len(wrong)} of {len(questions)} questions differ from a recount.")
        self.stdout.write(f"{len(questions)} questions: all counts are exact.")

    def is_exact(self, question: Question) -> bool:
        found = audit(question.pk)
        for stored in audit_hooks.ALL:
            found.differences += stored.differences(question.pk)
        said = [f"{found.ratings} ratings counted", f"{found.uncounted} waiting"]
        if not found.settled:
            said.append("readings wait for a worker")
        said.append(f"{len(found.differences)} differences" if found.differences else "exact")
        self.stdout.write(f"{question.project_id}/{question.key}: {', '.join(said)}")
        for difference in found.differences[:SHOWN]:
            self.stderr.write(f"  {difference}")
        if len(found.differences) > SHOWN:
            self.stderr.write(f"  and {len(found.differences) - SHOWN} more")
        return not found.differences
