"""`manage.py verify_audit_log FILE ...`: check the chains of hashes of audit log files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, no_translations

from agreement_site.audit_log import recorder

MAX_SHOWN = 20


class Command(BaseCommand):
    help = (
        "Check that no line of the files of AUDIT_LOG_FILE was changed, removed or inserted, that "
        "the entries of the database are those of the files, and that none between the first and "
        "the last is missing: give the files of all machines. Exits with status 1 otherwise."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, nargs="+")

    @no_translations
    def handle(self, *args: Any, file: list[Path], **options: Any) -> None:
        self.n_problems = 0
        written = recorder.WrittenEntries()
        for path in file:
            try:
                with path.open("rb") as lines:
                    for problem in recorder.iter_file_problems(lines, written):
                        self.report(f"{path}, line {problem.line}: {problem.description}")
            except OSError as error:
                raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
        for entry_id in written.iter_missing():
            self.report(f"entry {entry_id} of the database is in none of these files")
        if self.n_problems:
            raise CommandError(f"{self.n_problems} problems in {written.n_lines} lines.")
        self.stdout.write(f"{written.n_lines} lines are as they were written, and none is missing.")

    def report(self, problem: str) -> None:
        """Count a problem, and print the first ones."""
        self.n_problems += 1
        if self.n_problems <= MAX_SHOWN:
            self.stdout.write(problem)
