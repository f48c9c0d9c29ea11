"""The whole file is read once and everything wrong with it is named by line; what is right is
staged for the writing.

Nothing is written to the database here but the run's own row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from projects.models import Item, Project, Question, Rater

from .judging import Judge, Row, moment_text
from .mapping import Mapping
from .problems import Found, shown
from .sources import Reader
from .staging import Beat, Staged, Staging

BATCH = 5000  # rows between two looks at the clock
MAX_REPEATS = 1000  # lines that one rater may have for one item
PREVIEW = 20  # rows
EXAMPLES = 20


@dataclass
class Report:
    """What the check found; ``labels`` counts the rows of each label."""

    found: Found
    rows: int = 0
    items: int = 0
    raters: int = 0
    new_items: int = 0
    new_raters: int = 0
    repeats: int = 0
    of_other_questions: int = 0
    labels: dict[str, int] = field(default_factory=dict)
    preview: list[list[Any]] = field(default_factory=list)
    repeat_examples: list[list[Any]] = field(default_factory=list)


def check(
    reader: Reader,
    mapping: Mapping,
    *,
    project: Project | None,
    question: Question | None,
    staging: Staging,
    beat: Beat,
) -> Report:
    """Read, judge and stage the whole file."""
    judge = Judge(staging, question, new_key=mapping.question_key)
    report = Report(judge.found)
    batch: list[Row] = []
    for row in reader.rows(judge):
        batch.append(row)
        if len(batch) == BATCH:
            report.rows += _stage(staging, batch, judge.found)
            beat()
    report.rows += _stage(staging, batch, judge.found)
    report.of_other_questions = judge.of_other_questions
    labels = judge.labels.numbers
    for label, number in labels.items():
        if judge.labels.counts[number]:
            report.labels[label] = judge.labels.counts[number]
    if not judge.found:
        staging.finish([(number, label) for label, number in labels.items()])
        _describe(report, Staged(staging.db), project=project, make_new=mapping.make_new)
    return report


def _stage(staging: Staging, batch: list[Row], found: Found) -> int:
    """Put a batch aside; once there is a problem, nothing will be written and nothing needs
    staging."""
    count = len(batch)
    if not found:
        staging.add(batch)
    batch.clear()
    return count


def _describe(report: Report, staged: Staged, *, project: Project | None, make_new: bool) -> None:
    for said in staged.beyond(MAX_REPEATS, limit=EXAMPLES):
        report.found.add(
            "repeats_many", said.line, item=said.item, rater=said.rater, limit=MAX_REPEATS
        )
    report.items, report.new_items = _count_keys(
        report.found, staged, project, Item, make_new=make_new
    )
    report.raters, report.new_raters = _count_keys(
        report.found, staged, project, Rater, make_new=make_new
    )
    report.repeats = staged.count_repeats()
    for said in staged.first(PREVIEW):
        rated_at, comment = moment_text(said.rated_at), shown(said.comment or "")
        report.preview.append([said.line, said.item, said.rater, said.label, rated_at, comment])
    for one, other in staged.repeats(EXAMPLES):
        report.repeat_examples.append(
            [one.item, one.rater, one.line, one.label, other.line, other.label]
        )


def _count_keys(
    found: Found,
    staged: Staged,
    project: Project | None,
    model: type[Item] | type[Rater],
    *,
    make_new: bool,
) -> tuple[int, int]:
    """(keys in the file, those that the project does not know); each unknown one is a problem
    unless it may be made."""
    name = model.__name__.lower()
    total = new = 0
    for batch in staged.keys(name):
        keys = [key for key, _ in batch]
        known: set[str] = set()
        if project is not None:
            rows = model._default_manager.filter(project=project, key__in=keys)
            known = set(rows.values_list("key", flat=True))
        total += len(keys)
        for key, line in batch:
            if key not in known:
                new += 1
                if not make_new:
                    found.add(f"{name}_unknown", line, value=key)
    return total, new
