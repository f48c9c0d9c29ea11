"""Options of commands that read labels from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError, CommandParser

from ratings.imports.values.label_interpretation import JOIN, KEEP, LabelOptions, parse_label_list


def add_label_arguments(parser: CommandParser) -> None:
    """Add command options for missing-value codes and similar labels."""
    parser.add_argument(
        "--missing",
        action="append",
        default=[],
        metavar="TEXTS",
        help="further texts that stand for a missing value, separated by commas; usual ones such "
        "as NA, NaN, n/a, - and ? are known. Write --missing=-99 for a negative number",
    )
    parser.add_argument(
        "--not-missing",
        action="append",
        default=[],
        metavar="TEXTS",
        help="texts that are labels although they usually stand for a missing value",
    )
    parser.add_argument(
        "--similar",
        choices=[JOIN, KEEP],
        default="",
        help="labels that differ only in capital letters, blanks, or as yes and y do: join makes "
        "them one label",
    )


def parse_label_options(options: Mapping[str, Any]) -> LabelOptions:
    """Return the choices for labels. Raises CommandError."""
    missing, not_missing = (
        [label for text in options[name] for label in parse_list_option(f"--{name}", text)]
        for name in ("missing", "not_missing")
    )
    return LabelOptions(missing, not_missing, options["similar"])


def parse_list_option(name: str, text: str | None) -> list[str]:
    """Return the labels of an option, none for None. Raises CommandError."""
    try:
        return parse_label_list(text or "")
    except ValueError as error:
        raise CommandError(f"{name.replace('_', '-')}: {error}") from None
