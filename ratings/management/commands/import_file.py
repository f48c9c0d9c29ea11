"""`manage.py import_file FILE ...`: the import wizard from the command line.

It uses the same readers and the same steps.
"""

from __future__ import annotations

import functools
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from projects.models import Project
from projects.services.project_validation import list_time_zones, normalize_time_zone
from ratings.imports import command
from ratings.imports.decoding.encodings import ENCODINGS
from ratings.imports.decoding.table_times import DATE_ORDERS
from ratings.imports.interpretation import FileInterpretation
from ratings.imports.mapping.column_options import (
    InvalidImportOptions,
    parse_column_roles,
    parse_scales,
)
from ratings.imports.mapping.display_texts import LAYOUT_TEXTS
from ratings.imports.mapping.import_mapping import (
    DUPLICATE_POLICIES,
    KEEP_EXISTING_POLICY,
    SHEET_CHOICES,
)
from ratings.imports.mapping.layout_guess import MULTI_COLUMN_ROLES, ROLES
from ratings.imports.readers import SOURCES
from ratings.management.label_arguments import (
    add_label_arguments,
    parse_label_options,
    parse_list_option,
)

AUTO_SOURCE = "auto"


class Command(BaseCommand):
    help = (
        "Import items, ratings and gold answers from files: tables (CSV, Excel workbook, JSON) and "
        "exports of other tools. Prints what was understood and the numbers of imported rows. The "
        "exit status is 1 if nothing was stored."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
        where = parser.add_mutually_exclusive_group(required=True)
        where.add_argument("--project", type=int, metavar="ID", help="import into this project")
        where.add_argument("--name", help="create a project with this name; needs --owner")
        parser.add_argument("--owner", metavar="USER", help="the lead of the new project")
        parser.add_argument(
            "--source",
            choices=[AUTO_SOURCE, *SOURCES],
            default=AUTO_SOURCE,
            help="format of the files; detected from their content by default",
        )
        parser.add_argument(
            "--encoding", choices=list(ENCODINGS), help="encoding of text that is not UTF-8"
        )
        parser.add_argument(
            "--map",
            nargs="+",
            action="extend",
            default=[],
            metavar="ROLE=COLUMN",
            help=f"role of a table's column, one of {', '.join([*ROLES, *MULTI_COLUMN_ROLES])}. "
            "Other roles are guessed; ROLE= removes a guess",
        )
        parser.add_argument("--layout", choices=list(LAYOUT_TEXTS))
        parser.add_argument(
            "--sheets",
            choices=list(SHEET_CHOICES),
            help="sheets of a workbook with the same columns: raters reads them all, each of one "
            "rater, rows one after another, first only the first",
        )
        parser.add_argument("--question", metavar="KEY", help="question of a table's labels")
        parser.add_argument("--rater", metavar="KEY", help="rater of a file that names none")
        parser.add_argument(
            "--match-raters",
            action="store_true",
            help="match raters with the member who has their e-mail address or name",
        )
        parser.add_argument(
            "--member",
            nargs="+",
            action="extend",
            default=[],
            metavar="RATER=USER",
            help="match a rater of the file with a member",
        )
        parser.add_argument(
            "--rename-question",
            nargs="+",
            action="extend",
            default=[],
            metavar="KEY=KEY",
            help="key of a question in the file, and its key in the project",
        )
        parser.add_argument(
            "--scale",
            default="",
            help="scale of new questions, or QUESTION=SCALE for each, separated by commas; guessed "
            "by default, unless the labels are three or more numbers",
        )
        parser.add_argument(
            "--order",
            help="categories of new questions, lowest first, separated by commas; a category with "
            "a comma stands in double quotes",
        )
        add_label_arguments(parser)
        parser.add_argument(
            "--duplicates",
            choices=[*DUPLICATE_POLICIES, KEEP_EXISTING_POLICY[0]],
            help="rating to use if a rater has several rows for an item: the last or the first, by "
            "time where all of them have one, else by row; repeat: the first, and the second is "
            "kept as a repeat; again: ratings in the "
            "project are kept, and those in the file are repeats of them. Default: last; a wide "
            "table with an item in several rows is rejected without this option",
        )
        parser.add_argument(
            "--zone",
            metavar="ZONE",
            help="time zone of times that name none, such as Europe/Berlin; that of the project by "
            "default",
        )
        parser.add_argument(
            "--dates",
            choices=DATE_ORDERS,
            help="order of day and month in dates such as 03/04/2026",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="only check the files; store nothing"
        )
        parser.add_argument("--json", action="store_true", help="print JSON on one line")

    def handle(self, *args: Any, **options: Any) -> None:
        project, owner = _get_project_and_owner(options)
        order = parse_list_option("--order", options["order"])
        import_options = command.ImportOptions(
            source="" if options["source"] == AUTO_SOURCE else options["source"],
            encoding=options["encoding"] or "",
            columns=_parse_option(parse_column_roles, options["map"]),
            layout=options["layout"] or "",
            sheets=options["sheets"] or "",
            question=options["question"] or "",
            rater=options["rater"] or "",
            match_raters=options["match_raters"],
            members=_parse_pairs("--member", options["member"]),
            questions=_parse_pairs("--rename-question", options["rename_question"]),
            project_name=options["name"] or "",
            scales=_parse_option(parse_scales, options["scale"]) if options["scale"] else {},
            order=order,
            duplicate_policy=options["duplicates"] or "",
            zone=_parse_zone(options["zone"]),
            date_order=options["dates"] or "",
            labels=parse_label_options(options),
            dry_run=options["dry_run"],
        )
        results = []
        for path in options["files"]:
            if not path.is_file():
                raise CommandError(f"{path}: there is no such file.")
            with path.open("rb") as file:
                result = command.import_file(
                    file,
                    path,
                    project=project,
                    by=owner,
                    options=import_options,
                    show_understood=functools.partial(
                        self._print_understood, path, is_json=options["json"]
                    ),
                )
            results.append(result)
            project = project or result.project
        summary = _summarize_results(results, project)
        indent = None if options["json"] else 2
        self.stdout.write(json.dumps(summary, indent=indent, ensure_ascii=False))
        if not any(result.stored for result in results):
            sys.exit(1)

    def _print_understood(
        self, path: Path, understood: FileInterpretation, *, is_json: bool
    ) -> None:
        """Print how a file was understood to standard error, unless the output is JSON."""
        if not is_json:
            self.stderr.write("\n  ".join([f"{path}:", *understood.format_lines()]))


def _parse_zone(name: str | None) -> str:
    """Return the canonical name of a time zone, or an empty text without a name.

    Raises CommandError if there is no such zone.
    """
    if not name:
        return ""
    zone = normalize_time_zone(name)
    if zone not in list_time_zones():
        raise CommandError(
            f"--zone {name}: there is no such time zone; use one like Europe/Berlin."
        )
    return zone


def _get_project_and_owner(options: dict[str, Any]) -> tuple[Project | None, Any]:
    """Return (project or None, the importing user or None). Raises CommandError."""
    owner = None
    if options["owner"]:
        owner = get_user_model().objects.filter(username=options["owner"], is_active=True).first()
        if owner is None:
            raise CommandError(f"There is no active user '{options['owner']}'.")
    if options["project"] is None:
        if owner is None:
            raise CommandError("--name creates a project and needs its lead: --owner USER.")
        return None, owner
    project = Project.objects.filter(pk=options["project"]).first()
    if project is None:
        raise CommandError(f"There is no project {options['project']}.")
    return project, owner


def _parse_option(parse: Callable[[Any], Any], value: Any) -> Any:
    """Return the parsed value of an option. Raises CommandError."""
    try:
        return parse(value)
    except InvalidImportOptions as error:
        raise CommandError(str(error)) from None


def _parse_pairs(option: str, arguments: list[str]) -> list[tuple[str, str]]:
    """Return (key in the file, key in the project) of each KEY=KEY. Raises CommandError.

    A rater's key may contain "=", user names and question keys may not.
    """
    pairs = []
    for argument in arguments:
        key, separator, value = argument.rpartition("=")
        if not (key and separator and value):
            raise CommandError(f"{option} {argument}: use KEY_IN_FILE=KEY_IN_PROJECT.")
        pairs.append((key, value))
    return pairs


def _summarize_results(
    results: list[command.FileResult], project: Project | None
) -> dict[str, object]:
    """Return the results of all files as one dictionary, for the output.

    ``project`` is None if no project exists yet.
    """
    counts: Counter[str] = Counter()
    skipped_records: Counter[str] = Counter()
    problems = []
    notes = []
    for result in results:
        if not result.problems:  # a file with a problem is not stored at all
            counts.update(result.counts)
        skipped_records.update(result.skipped_records)
        problems += result.problems
        notes += result.notes
    count_names = ("items", "raters", "ratings", "gold")
    return {
        "project": project.pk if project else None,
        **{name: counts[name] for name in count_names},
        "left_out": dict(skipped_records),
        "problems": problems,
        "notes": notes,
        "skips": counts["skips"],
        "labels": {str(result.path): result.labels for result in results},
        "sources": {str(result.path): result.source for result in results},
        "understood": {
            str(result.path): result.understood.to_json() for result in results if result.understood
        },
    }
