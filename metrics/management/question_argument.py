"""The --question argument of management commands."""

from __future__ import annotations

from django.core.management.base import CommandError, CommandParser

from projects.models import Question


def add_question_argument(parser: CommandParser) -> None:
    """Add the option ``--question PROJECT/KEY`` of a command to its parser."""
    parser.add_argument(
        "--question", metavar="PROJECT/KEY", help="one question, like 7/severity; all when left out"
    )


def get_questions(name: str | None) -> list[Question]:
    """Return the question named as PROJECT/KEY in a list, or all questions for None.

    Raises CommandError for an unknown name.
    """
    questions = Question.objects.order_by("pk")
    if name is None:
        return list(questions)
    project, _, key = name.partition("/")
    matches = (
        list(questions.filter(project=int(project), key=key))
        if project.isascii() and project.isdigit()
        else []
    )
    if not matches:
        raise CommandError(f"There is no question '{name}'; write PROJECT/KEY, like 7/severity.")
    return matches
