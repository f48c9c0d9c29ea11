"""The questions that a command is told to work on."""

from __future__ import annotations

from django.core.management.base import CommandError, CommandParser

from projects.models import Question


def add_question_argument(parser: CommandParser) -> None:
    parser.add_argument(
        "--question", metavar="PROJECT/KEY", help="one question, like 7/severity; all when left out"
    )


def chosen_questions(name: str | None) -> list[Question]:
    """The named question, or all. CommandError for a name that is none."""
    questions = Question.objects.order_by("pk")
    if name is None:
        return list(questions)
    project, _, key = name.partition("/")
    found = (
        list(questions.filter(project=int(project), key=key))
        if project.isascii() and project.isdigit()
        else []
    )
    if not found:
        raise CommandError(f"There is no question '{name}'; write PROJECT/KEY, like 7/severity.")
    return found
