"""`manage.py import_file FILE ...`: what the import wizard does, with the same readers, from the
command line."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from projects.models import Project, Scale
from ratings.imports import command
from ratings.imports.decoding.encodings import ENCODINGS
from ratings.imports.mapping.columns import ROLES
from ratings.imports.mapping.import_mapping import AGAIN, STANDS
from ratings.imports.readers import SOURCES

AUTO = "auto"
SEVERAL = ("parts", "attributes")  # roles of several columns


class Command(BaseCommand):
    help = (
        "Import items, ratings and gold answers from files: tables (CSV, Excel workbook, JSON) and "
        "the exports of other tools. Prints what came in as JSON; the exit status is 1 when "
        "nothing was stored."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
        where = parser.add_mutually_exclusive_group(required=True)
        where.add_argument("--project", type=int, metavar="ID", help="into this project")
        where.add_argument("--name", help="into a new project of this name; needs --owner")
        parser.add_argument("--owner", metavar="USER", help="who leads the new project")
        parser.add_argument(
            "--source",
            choices=[AUTO, *SOURCES],
            default=AUTO,
            help="what the files are; guessed from their content when left out",
        )
        parser.add_argument(
            "--encoding", choices=list(ENCODINGS), help="of a text that is not in UTF-8"
        )
        parser.add_argument(
            "--map",
            nargs="+",
            action="extend",
            default=[],
            metavar="ROLE=COLUMN",
            help=f"what a table's columns mean; a role is one of {', '.join([*ROLES, *SEVERAL])}. "
            "The others are guessed; ROLE= takes a guess back",
        )
        parser.add_argument("--layout", choices=["long", "wide", "items"])
        parser.add_argument("--question", metavar="KEY", help="what the labels of a table answer")
        parser.add_argument("--rater", metavar="KEY", help="who gave answers that name nobody")
        parser.add_argument(
            "--match-raters",
            action="store_true",
            help="raters who have the e-mail address or the name of a member are this member",
        )
        parser.add_argument(
            "--member",
            nargs="+",
            action="extend",
            default=[],
            metavar="RATER=USER",
            help="this rater of the file is this member",
        )
        parser.add_argument(
            "--rename-question",
            nargs="+",
            action="extend",
            default=[],
            metavar="KEY=KEY",
            help="a question of the file, and its key in the project",
        )
        parser.add_argument(
            "--scale", choices=Scale.values, help="of the questions that are made; guessed else"
        )
        parser.add_argument(
            "--order", help="their categories from lowest to highest, separated by commas"
        )
        parser.add_argument(
            "--stands",
            choices=[*STANDS, AGAIN[0]],
            default="last",
            help="of several rows of a rater and an item: the last one, or the first one; repeat: "
            "the second is kept as a repeat of the first; again: what the project has stands, too, "
            "and what the file says again is a repeat of it",
        )
        parser.add_argument("--dry-run", action="store_true", help="check only; store nothing")
        parser.add_argument("--json", action="store_true", help="on one line")

    def handle(self, *args: Any, **options: Any) -> None:
        project, owner = _where(options)
        order = [label.strip() for label in (options["order"] or "").split(",") if label.strip()]
        wishes = command.Wishes(
            source="" if options["source"] == AUTO else options["source"],
            encoding=options["encoding"] or "",
            columns=_columns(options["map"]),
            layout=options["layout"] or "",
            question=options["question"] or "",
            rater=options["rater"] or "",
            match_raters=options["match_raters"],
            members=_pairs("--member", options["member"]),
            questions=_pairs("--rename-question", options["rename_question"]),
            project_name=options["name"] or "",
            scale=options["scale"] or "",
            order=order,
            stands=options["stands"],
            dry_run=options["dry_run"],
        )
        results = []
        for path in options["files"]:
            if not path.is_file():
                raise CommandError(f"{path}: there is no such file.")
            result = command.import_file(path, project=project, by=owner, wishes=wishes)
            results.append(result)
            project = project or result.project
        told = _together(results, project)
        indent = None if options["json"] else 2
        self.stdout.write(json.dumps(told, indent=indent, ensure_ascii=False))
        if not any(result.stored for result in results):
            sys.exit(1)


def _where(options: dict[str, Any]) -> tuple[Project | None, Any]:
    """(the project, who imports)."""
    owner = None
    if options["owner"]:
        owner = get_user_model().objects.filter(username=options["owner"], is_active=True).first()
        if owner is None:
            raise CommandError(f"There is no active user '{options['owner']}'.")
    if options["project"] is None:
        if owner is None:
            raise CommandError("--name makes a project, which needs its lead: --owner USER.")
        return None, owner
    project = Project.objects.filter(pk=options["project"]).first()
    if project is None:
        raise CommandError(f"There is no project {options['project']}.")
    return project, owner


def _columns(said: list[str]) -> list[tuple[str, str]]:
    """(role, name of the column) of each ROLE=COLUMN."""
    found = []
    for one in said:
        role, parted, column = one.partition("=")
        if not parted or role not in (*ROLES, *SEVERAL):
            roles = ", ".join([*ROLES, *SEVERAL])
            raise CommandError(f"--map {one}: ROLE=COLUMN is needed, with a role of {roles}.")
        found.append((role, column))
    return found


def _pairs(option: str, said: list[str]) -> list[tuple[str, str]]:
    """A rater's key may hold "=", a user name and a question's key may not."""
    found = []
    for one in said:
        key, parted, value = one.rpartition("=")
        if not (key and parted and value):
            raise CommandError(f"{option} {one}: what stands in the file, '=', what it is here.")
        found.append((key, value))
    return found


def _together(results: list[command.Result], project: Project | None) -> dict[str, Any]:
    """What several files brought, as one."""
    counts: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    problems = []
    notes = []
    for result in results:
        if not result.problems:  # one problem is enough: nothing of the file was stored
            counts.update(result.counts)
        left_out.update(result.left_out)
        problems += result.problems
        notes += result.notes
    names = ("items", "raters", "ratings", "gold")
    return {
        "project": project.pk if project else None,
        **{name: counts[name] for name in names},
        "left_out": dict(left_out),
        "problems": problems,
        "notes": notes,
        "skipped": counts["skipped"],
        "sources": {str(result.path): result.source for result in results},
    }
