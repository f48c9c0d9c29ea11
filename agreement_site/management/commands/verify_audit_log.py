"""`manage.py verify_audit_log FILE`: check the chain of hashes of an audit log file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, no_translations

from agreement_site.audit_log import stream

MAX_SHOWN = 20


class Command(BaseCommand):
    help = (
        "Check that no line of a file of AUDIT_LOG_FILE was changed, removed or inserted, and that "
        "the entries of the database are those of the file. Exits with status 1 when one was."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    @no_translations
    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        n_problems = n_lines = 0

        def count_lines(lines: Any) -> Any:
            nonlocal n_lines
            for line in lines:
                n_lines += 1
                yield line

        try:
            with file.open("rb") as lines:
                for problem in stream.iter_stream_problems(count_lines(lines)):
                    n_problems += 1
                    if n_problems <= MAX_SHOWN:
                        self.stdout.write(f"line {problem.line}: {problem.description}")
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
        if n_problems:
            raise CommandError(f"{n_problems} of {n_lines} lines are not as they were written.")
        self.stdout.write(f"{n_lines} lines are as they were written.")
