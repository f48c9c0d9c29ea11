"""`manage.py audit`: compare the stored counts and results with a recount from the ratings."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics.integrity.audit import REGISTERED_AUDITS, audit_question
from metrics.jobs import question_updates
from metrics.management.question_argument import add_question_argument, get_questions
from metrics.results import refresh
from projects.models import Question

MAX_PRINTED_DIFFERENCES = 20


class Command(BaseCommand):
    help = (
        "Recount all ratings in memory and compare with the stored counts, integer for integer;"
        " recompute the final labels and compare them, too. "
        "Exits with 0 if everything is equal, else with 1 and the differences."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_question_argument(parser)
        parser.add_argument(
            "--repair",
            action="store_true",
            help="recount the questions that differ from scratch",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        questions = get_questions(options["question"])
        different = [question for question in questions if not self.audit_and_print(question)]
        if different and options["repair"]:
            for question in different:
                question_updates.delete_counts_and_results(question)
                question_updates.update_question(question.pk)
                refresh.recompute_deferred_cumulative_results(question.pk)
                for registered in REGISTERED_AUDITS:
                    registered.repair(question.pk)
            self.stdout.write("Recounted:")
            different = [question for question in different if not self.audit_and_print(question)]
        if different:
            raise CommandError(
                f"{len(different)} of {len(questions)} questions differ from a recount."
            )
        self.stdout.write(f"{len(questions)} questions: all counts are exact.")

    def audit_and_print(self, question: Question) -> bool:
        """Audit a question and print the result; return True if there is no difference."""
        audit_findings = audit_question(question.pk)
        for registered in REGISTERED_AUDITS:
            audit_findings.differences += registered.find_differences(question.pk)
        parts = [
            f"{audit_findings.n_ratings} ratings counted",
            f"{audit_findings.n_uncounted} uncounted",
        ]
        if not audit_findings.results_compared:
            parts.append("results are stale and were not compared")
        parts.append(
            f"{len(audit_findings.differences)} differences"
            if audit_findings.differences
            else "exact"
        )
        self.stdout.write(f"{question.project_id}/{question.key}: {', '.join(parts)}")
        for difference in audit_findings.differences[:MAX_PRINTED_DIFFERENCES]:
            self.stderr.write(f"  {difference}")
        if len(audit_findings.differences) > MAX_PRINTED_DIFFERENCES:
            self.stderr.write(
                f"  and {len(audit_findings.differences) - MAX_PRINTED_DIFFERENCES} more"
            )
        return not audit_findings.differences
