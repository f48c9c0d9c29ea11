"""Command ``manage.py labels``: print the final labels of a project."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics.agreement.consensus import MIN_GOLD_ITEMS
from projects.models import Project, Question
from quality.consensus import recomputation
from quality.labels import data_card, files, selectors
from quality.models import Consensus
from ratings.files.parquet_file import has_parquet


class Command(BaseCommand):
    help = "Print the final label of each item: its decision, gold answer, or consensus."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", type=int, help="id of the project")
        parser.add_argument("--question", help="key; optional with a single question")
        parser.add_argument("--format", choices=[*files.FORMATS, "card"], default="csv")
        parser.add_argument("--at-least", type=float, help="minimum confidence, from 0 to 1")

    def handle(self, *args: Any, **options: Any) -> None:
        question = _get_question(options["project"], options["question"])
        at_least = options["at_least"]
        if at_least is not None and not 0 <= at_least <= 1:
            raise CommandError("--at-least must be between 0 and 1.")
        file_format = options["format"]
        if file_format == "parquet" and not has_parquet():
            raise CommandError("Parquet needs pyarrow: pip install -r requirements-extra.txt")
        recomputation.recompute_question(question.pk, at_once=True)
        if file_format == "card":
            self.stdout.write(data_card.build_data_card(question))
            return
        consensus = Consensus.objects.filter(question=question).first()
        if at_least is not None and consensus and not consensus.model.get("gold_items"):
            self.stderr.write(
                f"Without gold answers for {MIN_GOLD_ITEMS} items, errors that all raters share"
                " are missed, so confidence is often too high."
            )
        label_names = selectors.LabelNames.for_question(question, consensus)
        labels = selectors.get_labels(question, at_least=at_least)
        document = files.build_labels_document(question.project, label_names, file_format, labels)
        for chunk in document.iter_file():
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()


def _get_question(project_id: int, key: str | None) -> Question:
    project = Project.objects.filter(pk=project_id).first()
    if project is None:
        raise CommandError(f"There is no project {project_id}.")
    questions = list(project.questions.prefetch_related("categories"))
    if key is None and len(questions) == 1:
        return questions[0]
    for question in questions:
        if question.key == key:
            return question
    keys = ", ".join(question.key for question in questions) or "none"
    raise CommandError(f"Which question? --question is one of: {keys}")
