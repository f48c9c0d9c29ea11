"""Count the ratings of a project whose label a staged file changes."""

from __future__ import annotations

from itertools import islice

from projects.models import Category, Project
from ratings.imports.staging.database import Heartbeat
from ratings.imports.staging.queries import StagedRows
from ratings.models import Rating

RATINGS_PER_BATCH = 5000  # between two heartbeats


def count_changed_ratings(staged_rows: StagedRows, project: Project, heartbeat: Heartbeat) -> int:
    """Return the number of current ratings of the project that get another label.

    The last rating of a question, item and rater in the file counts.
    """
    categories = Category.objects.filter(question__project=project)
    labels = {
        (question, code): label
        for question, code, label in categories.values_list("question__key", "code", "label")
    }
    n_changed, rows = 0, staged_rows.iter_ratings(0)
    while batch := list(islice(rows, RATINGS_PER_BATCH)):
        heartbeat()
        new_labels = {(row.question, row.item, row.rater): row.label for row in batch}
        existing = Rating.objects.current().filter(
            question__project=project,
            item__key__in={row.item for row in batch},
            rater__key__in={row.rater for row in batch},
        )
        for question, item, rater, code in existing.values_list(
            "question__key", "item__key", "rater__key", "code"
        ):
            new_label = new_labels.get((question, item, rater))
            n_changed += new_label not in (None, labels.get((question, code)))
    return n_changed
