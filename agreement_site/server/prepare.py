"""Migrate the database and print how to sign in, before `make run` starts the site.

One process runs both commands, because most of their time is the start of Django; on Linux it is a
fork of the supervisor (launcher.py). The progress goes to stderr; stdout has the text about signing
in.
"""

from __future__ import annotations

import io
import sys

import django
from django.core.management import call_command

from agreement_site import releases
from agreement_site.startup_errors import exit_with_one_sentence

STEPS_PER_LINE = 10


class MigrationProgress(io.TextIOBase):
    """Output stream for `migrate` that prints how many of ``n_steps`` migrations are done."""

    def __init__(self, n_steps: int) -> None:
        self.n_steps, self.n_done = n_steps, 0

    def write(self, text: str, /) -> int:
        """Count one migration for each "OK" that `migrate` writes."""
        if text.strip() == "OK":
            self.n_done += 1
            if self.n_done % STEPS_PER_LINE == 0 or self.n_done == self.n_steps:
                sys.stderr.write(f"  {self.n_done} of {self.n_steps} steps\n")
        return len(text)


def count_pending_migrations() -> int:
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def main(*, show: bool) -> None:
    with exit_with_one_sentence():
        django.setup()
        if n_steps := count_pending_migrations():
            sys.stderr.write(f"Creating or updating the tables, {n_steps} steps ...\n")
        progress = MigrationProgress(n_steps)
        call_command("migrate", interactive=False, stdout=progress, no_color=True)
        releases.exit_on_schema_mismatch()  # where the tables are of a newer release
        call_command("create_first_user", show=show)


if __name__ == "__main__":
    main(show="--show" in sys.argv)
