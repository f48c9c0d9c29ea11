"""What changes ratings. The rating is on disk, with its history, before anybody is answered."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from django.db import connection, transaction
from django.utils import timezone

from groundwork.database import bulk
from projects.locks import hold_categories
from projects.models import Question
from ratings import changes
from ratings.models import NOTHING

from . import places, writing
from .days import aware
from .guideline_stamp import Guidelines

FEW = 32  # ratings that are asked for by a statement each, which the database knows already
FEW_RATERS = 5  # are asked for by name; of more, all ratings of the items are read


class NewRating(NamedTuple):
    """One thing said about one item: ids of this question's project, a category's code, or NOTHING
    to withdraw."""

    item_id: int
    rater_id: int
    code: int
    rated_at: datetime.datetime | None = None
    comment: str | None = None
    seconds: float | None = None
    # the version that the rater had before them; the one in force where nobody says
    guidelines: int | None = None
    # Other things that the same source said earlier for this item and rater: kept in the history,
    # never standing.
    superseded: tuple[tuple[int, datetime.datetime | None], ...] = ()


@dataclass
class Outcome:
    created: int = 0
    changed: int = 0
    unchanged: int = 0
    withdrawn: int = 0


class UnknownCode(ValueError):
    """A code that is no category of the question (any more)."""


@transaction.atomic
def record(*, question: Question, ratings: Sequence[NewRating], by: Any, source: str) -> Outcome:
    """Write ratings and their history in one transaction; after the commit, hint that there is
    something to count.

    All or nothing. ``ratings`` name each (item, rater) once. Raises UnknownCode when a code is not
    an active category. A rating that says what already stands changes nothing. ``rated_at`` stays
    what it was unless the source brings one; a rating given again after a withdrawal is a new
    rating.
    """
    return record_all([(question, ratings)], by=by, source=source)


Group = tuple[Question, Sequence[NewRating]]


def record_all(
    groups: Sequence[Group], *, by: Any, source: str, then: Sequence[bulk.Statement] = ()
) -> Outcome:
    """``record`` of several questions of one project, in a transaction of the caller's that ends
    without effect when this raises anything. ``then`` is sent with the last writing."""
    return record_submissions([Submission(groups, by)], source=source, then=then)[0]


@dataclass(frozen=True, slots=True)
class Submission:
    """What one user says at once: ratings of each question."""

    groups: Sequence[Group]
    by: Any


def record_submissions(
    submissions: Sequence[Submission], *, source: str, then: Sequence[bulk.Statement] = ()
) -> list[Outcome]:
    """``record_all`` of several users in one go, none of whom names a rating that another one
    names.

    In one order for all writers: question by question, and after all ratings the items whose places
    they take. Who held an item while asking for the next question's ratings could wait in a circle
    with who came from there.
    """
    outcomes = [Outcome() for _ in submissions]
    questions: dict[int, tuple[Question, list[_Said]]] = {}
    for submission, outcome in zip(submissions, outcomes, strict=True):
        by_id = submission.by.pk if submission.by is not None else None
        for question, ratings in submission.groups:
            _question, said = questions.setdefault(question.pk, (question, []))
            said += [_Said(new, by_id, outcome) for new in ratings]
    if not questions:
        bulk.several(then)
        return outcomes
    *others, last = sorted(questions)
    written: list[tuple[NewRating, int]] = []
    for pk in others:
        batch = _prepare(*questions[pk])
        written += batch.written()
        batch.write(source=source, then=[])
    batch = _prepare(*questions[last])
    taken = places.following([*written, *batch.written()], overlap=batch.question.project.overlap)
    batch.write(source=source, then=[*taken, *then])
    return outcomes


class _Said(NamedTuple):
    """A rating of a submission."""

    new: NewRating
    by_id: int | None
    outcome: Outcome  # of its submission


@dataclass(frozen=True, slots=True)
class _Batch:
    """What is to be written of one question's ratings, and what stood there before."""

    question: Question
    in_force: _InForce
    standing: dict[tuple[int, int], _Standing]
    now: datetime.datetime
    rows: list[writing.Row]

    def written(self) -> list[tuple[NewRating, int]]:
        """Each new rating with the code that stood before it."""
        return [(row.new, _code_before(self.standing, row.new)) for row in self.rows]

    def write(self, *, source: str, then: Sequence[bulk.Statement]) -> None:
        if not self.rows:
            bulk.several(then)
            return
        shared = writing.Circumstances(
            self.now, source, self.in_force.zone, self.in_force.guidelines
        )
        writing.write(self.question.pk, self.rows, shared, then=then)
        changes.announce(self.question.pk)


def _prepare(question: Question, said: Sequence[_Said]) -> _Batch:
    """Reads and locks what stands. Raises UnknownCode; adds to the outcomes."""
    in_force, standing = _read(question, {(one.new.item_id, one.new.rater_id) for one in said})
    if unknown := {one.new.code for one in said} - in_force.codes - {NOTHING}:
        raise UnknownCode(f"no category of question '{question.key}' has the code {min(unknown)}")
    batch = _Batch(question, in_force, standing, timezone.now(), [])
    for one in said:
        old = standing.get((one.new.item_id, one.new.rater_id))
        row = _next_row(one, old, now=batch.now)
        _tally_outcome(one.outcome, one.new, old, row)
        if row is not None:
            batch.rows.append(row)
    return batch


@dataclass(frozen=True, slots=True)
class _InForce:
    """The codes of the active categories, the project's time zone and its guidelines, as they are
    now."""

    codes: set[int]
    zone: ZoneInfo
    guidelines: Guidelines


# Plain SQL: every rating passes here, and the ORM takes ten times as long to build this query.
_IN_FORCE = (
    "SELECT c.code, p.time_zone, p.guidelines_version, g.made_at"
    " FROM projects_category c JOIN projects_question q ON q.id = c.question_id"
    " JOIN projects_project p ON p.id = q.project_id LEFT JOIN projects_guidelineversion g"
    " ON g.project_id = p.id AND g.number = p.guidelines_version WHERE q.id = %s AND NOT c.retired"
)


def _in_force(question: Question, rows: list[tuple[Any, ...]]) -> _InForce:
    zone, number, since = rows[0][1:] if rows else (question.project.time_zone, 0, None)
    return _InForce(
        {row[0] for row in rows}, ZoneInfo(zone), Guidelines(number, since and aware(since))
    )


_Standing = tuple[int, datetime.datetime, str]


def _read(
    question: Question, wanted: set[tuple[int, int]]
) -> tuple[_InForce, dict[tuple[int, int], _Standing]]:
    """What is in force, read with the lock of the categories in hand (the caller's copies may be
    older than a change), and (item, rater) -> (code, rated_at, comment) of what stands; locked
    until the transaction ends."""
    holding = hold_categories(question.pk)
    statements = [*holding, (_IN_FORCE, [question.pk]), *_locked_rows(question.pk, wanted)]
    known, *parts = bulk.several(statements)[len(holding) :]
    standing = {
        (item, rater): (code, aware(rated_at), comment)
        for part in parts
        for item, rater, code, rated_at, comment in part
        if (item, rater) in wanted
    }
    return _in_force(question, known), standing


def _code_before(standing: dict[tuple[int, int], _Standing], new: NewRating) -> int:
    old = standing.get((new.item_id, new.rater_id))
    return NOTHING if old is None else old[0]


_STANDING = (
    "SELECT item_id, rater_id, code, rated_at, comment FROM ratings_rating"
    " WHERE question_id = %s AND item_id = %s AND rater_id = %s"
)


def _locked_rows(question_id: int, wanted: set[tuple[int, int]]) -> Iterator[bulk.Statement]:
    """For (item, rater, code, rated_at, comment) of what stands; none where nothing is wanted."""
    lock = " FOR UPDATE" if connection.features.has_select_for_update else ""
    if len(wanted) <= FEW:
        # In one order everywhere, so that two writers never wait for each other in a circle.
        yield from ((_STANDING + lock, [question_id, *pair]) for pair in sorted(wanted))
        return
    conditions, values = "question_id = %s", [question_id]
    for column, ids in (
        ("item_id", {item for item, _ in wanted}),
        ("rater_id", {rater for _, rater in wanted}),
    ):
        if column == "item_id" or len(ids) <= FEW_RATERS:
            condition, listed = bulk.among(column, sorted(ids))
            conditions += f" AND {condition}"
            values += listed
    yield (
        f"SELECT item_id, rater_id, code, rated_at, comment FROM ratings_rating WHERE {conditions}"  # noqa: S608 - only fixed names
        f" ORDER BY item_id, rater_id{lock}",
        values,
    )


def _next_row(said: _Said, old: _Standing | None, *, now: datetime.datetime) -> writing.Row | None:
    """The row to write, or None when nothing changes."""
    new = said.new
    if old is None:
        if new.code == NOTHING:
            return None
        return writing.Row(new, said.by_id, rated_at=new.rated_at or now, comment=new.comment or "")
    old_code, old_rated_at, old_comment = old
    if new.code == NOTHING:
        rated_at = old_rated_at
    elif old_code == NOTHING:
        rated_at = new.rated_at or now
    else:
        rated_at = new.rated_at or old_rated_at
    comment = old_comment if new.comment is None else new.comment
    if (new.code, rated_at, comment) == old:
        return None
    return writing.Row(new, said.by_id, rated_at=rated_at, comment=comment)


def _tally_outcome(
    outcome: Outcome, new: NewRating, old: _Standing | None, row: writing.Row | None
) -> None:
    if row is None:
        outcome.unchanged += 1
    elif new.code == NOTHING:
        outcome.withdrawn += 1
    elif old is None or old[0] == NOTHING:
        outcome.created += 1
    else:
        outcome.changed += 1
