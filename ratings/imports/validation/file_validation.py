"""The whole file is read once and everything wrong with it is named by line; what is right is
staged for the writing.

Nothing is written to the database here but the run's own row.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from projects.models import Item, Project, Question, Rater
from projects.services.items.upsert import same
from projects.services.raters import pseudonyms
from ratings.imports import media_references
from ratings.imports.archives import Media
from ratings.imports.mapping import matching
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.problems import Found, Unreadable, shown
from ratings.imports.readers import Reader
from ratings.imports.staging.database import Beat, Staging
from ratings.imports.staging.queries import Staged
from ratings.imports.staging.timestamps import moment_text

from .row_validation import Judge

BATCH = 5000  # records between two looks at the clock
MEDIA_BATCH = 50  # items whose pictures, sound and film are read between two of them
MAX_REPEATS = 1000  # lines that one rater may have for one item
PREVIEW = 20  # rows
EXAMPLES = 20


@dataclass
class Report:
    """What the check found.

    ``rows`` are ratings, ``contents`` items of which the file says more than the key, ``skips``
    items that a rater skipped. ``questions`` has for each key whether the project knows it, its
    text, and how often each label was given. ``named``: the file's keys of questions -> the
    project's. ``unmatched``: people that the project does not know; ``suggested``: rater -> account
    (see `matching`).
    """

    found: Found
    rows: int = 0
    contents: int = 0
    golds: int = 0
    skips: int = 0
    items: int = 0
    raters: int = 0
    new_items: int = 0
    new_raters: int = 0
    changed_items: int = 0
    without_media: int = 0
    guidelines: int = 0  # the highest version that is named
    doubles: int = 0
    double_examples: list[list[str]] = field(default_factory=list)
    untimed: int = 0
    repeats: int = 0
    of_other_questions: int = 0
    questions: dict[str, dict[str, Any]] = field(default_factory=dict)
    named: list[tuple[str, str]] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    suggested: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, Any] = field(default_factory=dict)
    preview: list[list[Any]] = field(default_factory=list)
    repeat_examples: list[list[Any]] = field(default_factory=list)

    @property
    def work(self) -> int:
        """Steps of the writing."""
        return self.rows + self.contents + self.skips


def check(
    reader: Reader,
    mapping: Mapping,
    *,
    project: Project | None,
    question: Question | None,
    staging: Staging,
    beat: Beat,
    by: Any = None,
    archive: Media | None = None,
) -> Report:
    """Read, judge and stage the whole file for ``by``. ``question`` is the one that all answers
    are of, where it exists. ``archive`` has the pictures, sound and film that the file names."""
    chosen = None
    if not mapping.every_question:
        chosen = question.key if question else mapping.question_key
    judge = Judge(
        staging,
        questions=_known(project, question),
        chosen=chosen,
        columns=reader.columns,
        # only tables have columns that somebody chose
        lenient=mapping.every_question and not mapping.columns,
        raters_here=matching.matched(project, mapping.members, by=by).raters,
        questions_here=mapping.questions,
    )
    report = Report(judge.found)
    for place, record in enumerate(reader.records(), start=1):
        judge.take(record)
        if place % BATCH == 0:
            _stage(report, staging)
            beat()
    _stage(report, staging)
    _drop_free_texts(report, judge, staging)
    usable = bool(report.rows or report.contents or report.golds or report.skips)
    _look_at_the_whole(judge, reader, usable=usable)
    report.named = list(judge.named.items())
    report.of_other_questions = judge.of_other_questions
    report.left_out = judge.left_out.as_json()
    _tell_questions(report, judge)
    if not judge.found:
        questions = list(judge.questions.values())
        staging.finish(
            [(answers.number, answers.key) for answers in questions],
            [
                (number, answers.number, label)
                for answers in questions
                for label, number in answers.numbers.items()
            ],
        )
        staged = Staged(staging.db)
        _describe(report, staged, project=project, make_new=mapping.make_new)
        _compare(report, staged, project, archive=archive, beat=beat)
        _match(report, staged, project, by)
    return report


def _match(report: Report, staged: Staged, project: Project | None, by: Any) -> None:
    """Who of the file's people may be whom of the members."""
    people = staged.people(matching.LOOKED_AT)
    report.suggested = matching.suggested(project, people.items(), by=by)
    known = set()
    if project is not None:
        known = set(Rater.objects.filter(project=project).values_list("key", flat=True))
        known |= set(pseudonyms.pseudonyms(project))
    new = [key for key in people if key not in known]
    report.unmatched = new[: matching.LISTED]


def _known(project: Project | None, question: Question | None) -> dict[str, Question]:
    found = {question.key: question} if question else {}
    if project is not None:
        for one in project.questions.all():
            found.setdefault(one.key, one)
    return found


def _stage(report: Report, staging: Staging) -> None:
    """Put a batch aside; once there is a problem, nothing will be written and nothing needs
    staging."""
    report.rows += len(staging.rows)
    report.contents += len(staging.contents)
    report.golds += len(staging.golds)
    report.skips += len(staging.skips)
    staging.flush(keep=not report.found)


def _drop_free_texts(report: Report, judge: Judge, staging: Staging) -> None:
    """Questions that turned out to be answered by free texts are left out whole."""
    for key, answers in list(judge.questions.items()):
        if answers.free_text:
            dropped = staging.drop(answers.number)
            report.rows -= dropped
            judge.left_out.counts["free_text"] += dropped
            del judge.questions[key]


def _look_at_the_whole(judge: Judge, reader: Reader, *, usable: bool) -> None:
    """What can be said only after the last line."""
    labels = {label for answers in judge.questions.values() for label in answers.numbers}
    trouble = reader.trouble(labels, usable=usable or bool(judge.left_out.counts))
    said_more = bool(judge.found)
    if trouble and trouble.kind != "only_names":
        judge.take(trouble)
    if said_more or usable or judge.found:
        return
    if judge.of_other_questions:
        others = judge.other_questions()
        judge.found.add("question_absent", None, question=judge.chosen, found=others)
    elif trouble:
        judge.take(trouble)
    else:
        judge.found.add("nothing_usable", None, left_out=judge.left_out.as_json())


def _tell_questions(report: Report, judge: Judge) -> None:
    for place, (key, answers) in enumerate(judge.questions.items()):
        report.questions[key] = {
            # PostgreSQL keeps no order of an object's fields
            "place": place,
            "known": not answers.learning,
            "text": shown(answers.text),
            "labels": dict(answers.counts),
        }


def _describe(report: Report, staged: Staged, *, project: Project | None, make_new: bool) -> None:
    for said in staged.beyond(MAX_REPEATS, limit=EXAMPLES):
        report.found.add(
            "repeats_many", said.line, item=said.item, rater=said.rater, limit=MAX_REPEATS
        )
    for key, first, last in staged.different(EXAMPLES):
        report.found.add("item_differs", last, value=key, other=first)
    report.items, report.new_items = _count_keys(
        report.found, staged, project, Item, make_new=make_new
    )
    report.raters, report.new_raters = _count_keys(
        report.found, staged, project, Rater, make_new=make_new
    )
    report.contents = staged.count("content")
    report.golds = staged.count("gold")
    report.guidelines = staged.newest_guidelines()
    report.doubles = staged.count_doubles()
    report.double_examples = staged.doubles(EXAMPLES)
    report.untimed = staged.count("untimed")
    report.repeats = staged.count_repeats()
    for said in staged.first(PREVIEW):
        rated_at, comment = moment_text(said.rated_at), shown(said.comment or "")
        report.preview.append([said.line, said.item, said.rater, said.label, rated_at, comment])
    for one, other in staged.repeats(EXAMPLES):
        report.repeat_examples.append(
            [one.item, one.rater, one.line, one.label, other.line, other.label]
        )


def _compare(
    report: Report,
    staged: Staged,
    project: Project | None,
    *,
    archive: Media | None,
    beat: Beat,
) -> None:
    """How many items stand with another content, and how many name a file that was not uploaded:
    where an archive came with the file, each is a problem."""
    for batch in staged.described(0, MEDIA_BATCH if archive else BATCH):
        beat()
        bodies = {one.item: json.loads(one.body) for one in batch if one.body is not None}
        try:
            missing = media_references.resolve(project, bodies, archive)
        except Unreadable as error:
            report.found.add_fatal(error.problem)
            return
        if archive:
            lines = {one.item: one.line for one in batch}
            for key, (kind, name) in missing.items():
                report.found.add("media_absent", lines[key], what=kind, value=name)
        else:
            report.without_media += len(missing)
        if project is None:
            continue
        standing = Item.objects.filter(project=project, key__in=bodies)
        for key, body in standing.values_list("key", "body"):
            report.changed_items += not same(body, bodies[key])


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
