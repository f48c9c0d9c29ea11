"""Take the steps of the import wizard for a CSV file, up to its last button.

Usage: python -m tests.drills.start_import FILE

Run it in a process of its own, with the environment of an installation whose worker checks
and writes.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

CHECK_TIMEOUT_SECONDS = 40.0  # for the worker's check, which may be killed in the middle


def main() -> None:
    import django

    django.setup()

    from django.contrib.auth.models import User

    from projects.models import Question
    from ratings.imports import services
    from ratings.imports.mapping.import_mapping import ImportMapping

    question = Question.objects.select_related("project").get()
    lead = User.objects.get(username="lead")
    path = Path(sys.argv[1])
    with path.open("rb") as file:
        run = services.create_run(file=file, name=path.name, project=question.project, by=lead)
    mapping = ImportMapping.from_run(run)
    mapping.question_id = question.pk
    assert services.start_check(run=run, mapping=mapping)
    deadline = time.monotonic() + CHECK_TIMEOUT_SECONDS
    while run.state == "checking":
        assert time.monotonic() < deadline, "the check does not end"
        time.sleep(0.1)
        run.refresh_from_db()
    assert run.state == "checked", run.problems
    services.start_writing(run=run, duplicate_policy="last", new_scales={}, by=lead)


if __name__ == "__main__":
    main()
