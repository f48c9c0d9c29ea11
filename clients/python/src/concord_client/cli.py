"""The command line: `concord --help`. Exit status 0: done, 3: error; `gate` also 1 and 2."""

from __future__ import annotations

import argparse
import csv
import getpass
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import models
from ._client import Client, ProjectClient
from ._core import add_counts, iter_batches
from ._errors import ApiError, ConcordError
from ._files import READ_ONLY_COLUMNS, ResumableFile, Row, format_cell, read_rows
from ._parsing import to_json
from ._settings import find_settings, normalize_url, save_settings
from ._webhooks import TOLERANCE_SECONDS, verify_webhook

VERDICT_STATUSES = {"pass": 0, "fail": 1, "not_enough": 2}
ERROR_STATUS = 3
MAX_SHOWN_LINES = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; ``arguments``: None for those of the process."""
    options = build_parser().parse_args(arguments)
    try:
        status = options.run(options) or 0
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # such as `concord labels 1 | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ConcordError, ValueError, ImportError, OSError) as error:
        print(f"concord: {error}", file=sys.stderr)
        return ERROR_STATUS
    except KeyboardInterrupt:
        return 130


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="concord", description="Command line of a Concord site.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add_command(name: str, run: Any, text: str, *positional: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        for argument in positional:
            kind = {"project": int, "file": Path}.get(argument, str)
            command.add_argument(argument, type=kind)
        return command

    login = add_command("login", log_in, "Save the address and a token of a site", "url")
    login.add_argument("--token-stdin", action="store_true", help="read the token from stdin")
    add_command("projects", list_projects, "List the projects")
    push = add_command("push", push_file, "Send a CSV or JSON Lines file", "project", "file")
    push.add_argument("--kind", choices=["ratings", "items", "raters"], default="ratings")
    push.add_argument("--dry-run", action="store_true", help="only check the rows")
    pull = add_command(
        "pull", pull_file, "Write a list to a .csv, .jsonl or .parquet file", "project"
    )
    pull.add_argument("kind", choices=["ratings", "labels", "items", "raters"])
    pull.add_argument("file", type=Path)
    agreement = add_command("agreement", show_agreement, "Show agreement", "project")
    labels = add_command(
        "labels", show_labels, "Write the final labels as CSV to stdout", "project"
    )
    gate = add_command("gate", ask_gate, "Ask a gate: 0 pass, 1 fail, 2 not enough, 3 error")
    gate.add_argument("project", type=int)
    gate.add_argument("name")
    gate.add_argument("--as-of", metavar="TIME")
    events = add_command("events", show_events, "Write events as JSON Lines to stdout")
    events.add_argument("--project", type=int)
    events.add_argument("--after", type=int, default=0, metavar="ID")
    events.add_argument("--kind")
    events.add_argument("--follow", action="store_true", help="wait for more events")
    webhook = add_command("webhook", check_webhook, "Verify a webhook", "action", "file")
    webhook.add_argument("-H", "--header", action="append", default=[], metavar="NAME: VALUE")
    webhook.add_argument("--any-time", action="store_true", help="also messages that are old")
    add_command("mcp", run_mcp_server, "Serve six read-only tools to a language model on stdio")
    for command in (agreement, labels, pull):
        command.add_argument("--question", metavar="KEY")
    for command in (agreement, gate):
        command.add_argument("--json", action="store_true")
    pull.add_argument("--since", metavar="TIME", help="only what changed at or after this time")
    agreement.add_argument("--wait", action="store_true", help="until all ratings are counted")
    return parser


class _Parser(argparse.ArgumentParser):
    """A parser whose errors have the exit status 3, because 2 says "not enough"."""

    def error(self, message: str) -> Any:
        self.print_usage(sys.stderr)
        self.exit(ERROR_STATUS, f"{self.prog}: {message}\n")


def log_in(options: Any) -> None:
    token = sys.stdin.readline() if options.token_stdin else getpass.getpass("Token: ")
    settings = find_settings(normalize_url(options.url), token.strip())
    with Client(settings.url, settings.token) as client:
        projects = client.projects().to_list()
    path = save_settings(settings)
    print(f"Saved in {path}. This token opens {len(projects)} projects.")


def list_projects(_options: Any) -> None:
    with Client() as client:
        for project in client.projects():
            questions = ", ".join(question.key for question in project.questions)
            print(f"{project.id}\t{project.name}\t{questions}")


def push_file(options: Any) -> int:
    """Send a file in batches, print the counts, and return the exit status.

    For invalid rows it prints their lines. Raises ConcordError for a file without rows.
    """
    total = None
    lines: list[int] = []
    n_stored = 0

    def iter_values(rows: Iterator[Row]) -> Iterator[dict[str, Any]]:
        for row in rows:
            lines.append(row.line)
            names = READ_ONLY_COLUMNS[options.kind]
            yield {name: value for name, value in row.values.items() if name not in names}

    rows = list(read_rows(options.file))  # a file that cannot be read sends nothing
    with Client() as client:
        push = getattr(client.project(options.project), f"push_{options.kind}")
        for batch in iter_batches(iter_values(iter(rows))):
            try:
                counts = push(batch, dry_run=options.dry_run)
            except ApiError as error:
                print_row_errors(error, options.file, lines[n_stored:])
                if n_stored and not options.dry_run:
                    print(f"The {n_stored} rows before these are stored.", file=sys.stderr)
                return ERROR_STATUS
            total = add_counts(total, counts)
            n_stored += len(batch)
    if total is None:
        raise ConcordError(f"{options.file} has no rows")
    verb = "Would be" if options.dry_run else "Stored"
    print(f"{verb}: " + ", ".join(f"{n} {name}" for name, n in to_json(total).items()))
    return 0


def print_row_errors(error: ApiError, path: Path, lines: list[int]) -> None:
    """Print the problem, and a line for each invalid row, with its line in the file."""
    print(f"concord: {error.detail}", file=sys.stderr)
    for problem in error.errors[:MAX_SHOWN_LINES]:
        place = f", line {lines[problem.row]}" if problem.row is not None else ""
        print(f"{path}{place}: {problem.detail}", file=sys.stderr)
    if len(error.errors) > MAX_SHOWN_LINES:
        print(f"and {len(error.errors) - MAX_SHOWN_LINES} more", file=sys.stderr)


def pull_file(options: Any) -> None:
    filters = {"question": options.question, "since": options.since}
    with Client() as client:
        project = client.project(options.project)
        if options.file.suffix.lower() == ".parquet":
            sources = {"ratings": "export", "labels": "labels"}
            if options.kind not in sources or options.since:
                raise ConcordError("As Parquet there are all ratings and all labels alone.")
            project.download(sources[options.kind], options.file, format="parquet", **filters)
            print(f"Wrote {options.file}")
            return
        source = json.dumps([client.settings.url, options.project, options.kind, filters])
        pages = getattr(project, options.kind)(**filters)
        n_rows = ResumableFile(options.file).write_pages(pages, source=source)
    print(f"Wrote {n_rows} rows to {options.file}")


def show_agreement(options: Any) -> None:
    with Client() as client:
        agreement = client.project(options.project).agreement(
            question=options.question, wait_until_counted=options.wait
        )
    if options.json:
        print(json.dumps(to_json(agreement), indent=2))
        return
    rows: list[tuple[str, Any]] = [(f"{agreement.headline.name} *", agreement.headline)]
    rows += list((agreement.coefficients or {}).items())
    for name, estimate in rows:
        print(f"{name:<32}{format_estimate(estimate)}")
    print(f"{agreement.ratings} ratings, {agreement.uncounted} of them not counted yet")


def format_estimate(estimate: Any) -> str:
    if estimate.value is None:
        return str(estimate.reason)
    interval = "" if estimate.low is None else f"  [{estimate.low:.3f}, {estimate.high:.3f}]"
    return f"{estimate.value:.3f}{interval}"


def show_labels(options: Any) -> None:
    writer = None
    with Client() as client:
        for label in client.project(options.project).labels(question=options.question):
            row = to_json(label)
            if writer is None:
                writer = csv.writer(sys.stdout)
                writer.writerow(row)
            writer.writerow([format_cell(value) for value in row.values()])


def ask_gate(options: Any) -> int:
    """Print a verdict; the exit status is that of `manage.py gate`."""
    with Client() as client:
        verdict = client.project(options.project).signed_verdict(options.name, as_of=options.as_of)
    if options.json:
        print(json.dumps(verdict, indent=2))
    else:
        print(f"{options.name}: {verdict['verdict']}")
        for rule in verdict["rules"]:
            print(f"  {format_rule(rule)}")
    return VERDICT_STATUSES[verdict["verdict"]]


def format_rule(rule: dict[str, Any]) -> str:
    estimate = rule["estimate"]
    bound = f">= {rule['at_least']}" if "at_least" in rule else f"<= {rule.get('at_most')}"
    value = "unknown" if estimate["value"] is None else f"{estimate['value']:.3f}"
    interval = (
        "" if estimate["low"] is None else f" [{estimate['low']:.3f}, {estimate['high']:.3f}]"
    )
    needed = f", about {rule['needed_items']} more items" if rule["needed_items"] else ""
    return f"{rule['name']} {value}{interval} {bound}: {rule['verdict']}{needed}"


def show_events(options: Any) -> None:
    with Client() as client:
        selection = {"after": options.after, "kind": options.kind}
        events: Any
        if options.follow:
            events = client.follow_events(project_id=options.project, **selection)
        else:
            source: Client | ProjectClient = client
            if options.project is not None:
                source = client.project(options.project)
            events = source.events(**selection)
        event: models.Event
        for event in events:
            print(json.dumps(to_json(event), ensure_ascii=False), flush=True)


def check_webhook(options: Any) -> None:
    """Verify the body in a file with its headers; the secret is CONCORD_WEBHOOK_SECRET.

    Raises ConcordError, also InvalidSignature, if it cannot be verified.
    """
    if options.action != "verify":
        raise ConcordError("The action is: verify")
    secret = os.environ.get("CONCORD_WEBHOOK_SECRET")
    if not secret:
        raise ConcordError("Set CONCORD_WEBHOOK_SECRET to the secret of the webhook (whsec_...).")
    headers = dict(_split_header(header) for header in options.header)
    tolerance = None if options.any_time else TOLERANCE_SECONDS
    message = verify_webhook(options.file.read_bytes(), headers, secret, tolerance=tolerance)
    print(f"Valid: {message['type']} of {message['timestamp']}")


def _split_header(text: str) -> tuple[str, str]:
    name, separator, value = text.partition(":")
    if not separator:
        raise ConcordError(f"{text!r} is no header such as 'webhook-id: 17'")
    return name.strip(), value.strip()


def run_mcp_server(_options: Any) -> None:
    from .mcp_server import build_server

    build_server(Client()).run("stdio")


if __name__ == "__main__":
    sys.exit(main())
