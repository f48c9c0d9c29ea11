"""Rows of the API -> ratings of this project: keys and labels to ids and codes, or what is wrong with each row.

Plain checks instead of serializers: one rating must cost a fraction of a millisecond, ten thousand a fraction of a
second. A few queries for any number of rows.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import PermissionDenied
from django.utils import timezone
from django.utils.translation import gettext as _

from projects import bulk
from projects.api_view import rows_error
from projects.catalogue import kind_of
from projects.models import Member, Project, Question

from .actions import NewRating
from .days import parse_rated_at
from .models import NOTHING

FIELDS = ("item", "rater", "question", "label", "rated_at", "comment")

_KNOWN = frozenset(FIELDS)
# name -> most characters, what to say where it is missing (None: it may be), whether null is allowed
_TEXTS: dict[str, tuple[int, str | None, bool]] = {
    "item": (255, "", False),
    "rater": (150, None, False),
    "question": (64, None, False),
    "label": (200, "; null withdraws a rating", True),
    "rated_at": (100, None, True),
    "comment": (10_000, None, True),
}


@dataclass
class _Asked:
    """A question with the codes of its labels."""

    question: Question
    codes: dict[str, int] = field(default_factory=dict)


@dataclass
class _Known:
    """What the rows may name."""

    questions: dict[str, _Asked]
    items: dict[str, int]
    raters: dict[str, int]
    only_question: str | None
    own_rater: str | None


class _Problems:
    def __init__(self) -> None:
        self.rows: dict[int, list[str]] = {}

    def add(self, place: int, problem: str) -> None:
        self.rows.setdefault(place, []).append(problem)

    def refuse(self) -> None:
        if self.rows:
            raise rows_error("rating", self.rows)


def resolve(project: Project, user: Any, rows: Sequence[Any]) -> list[tuple[Question, list[NewRating]]]:
    """The ratings of each question, in one order for all writers.

    ``project`` comes from the door, with the caller's role. Raises BadRequest naming every bad row, and
    PermissionDenied when an annotator names a rater that is not theirs.
    """
    problems = _Problems()
    for place, row in enumerate(rows):
        for problem in _shape_problems(row):
            problems.add(place, problem)
    sound = {place: row for place, row in enumerate(rows) if place not in problems.rows}
    known = _look_up(project, user, sound.values())
    own = known.own_rater
    now = timezone.now()
    first: dict[tuple[str, str, str], int] = {}
    ratings: dict[str, list[NewRating]] = {}
    for place, row in sound.items():
        question, rating = _resolved(row, known, now, functools.partial(problems.add, place))
        key = (question, row["item"], row.get("rater") or own or "")
        if first.setdefault(key, place) != place:
            problems.add(place, f"the same item and rater stand in row {first[key]} already")
        if rating is not None:
            ratings.setdefault(question, []).append(rating)
    problems.refuse()
    groups = [(known.questions[key].question, some) for key, some in ratings.items()]
    for _question, some in groups:
        # Two writers of the same rows must not wait for each other in a circle.
        some.sort(key=lambda rating: (rating.item_id, rating.rater_id))
    return sorted(groups, key=lambda group: group[0].pk)


def _shape_problems(row: Any) -> list[str]:
    if not isinstance(row, dict):
        return [f"an object is needed, not {kind_of(row)}"]
    found = []
    if not _KNOWN.issuperset(row):
        name = next(name for name in row if name not in _KNOWN)
        found.append(f"unknown field '{name[:60]}'; one of {', '.join(FIELDS)}")
    for name, (longest, needed, nullable) in _TEXTS.items():
        value = row.get(name)
        if isinstance(value, str):
            if len(value) > longest or not (value or nullable):
                found.append(f"'{name}' must have {0 if nullable else 1} to {longest} characters; it has {len(value)}")
        elif name not in row:
            found += [f"'{name}' is missing{needed}"] if needed is not None else []
        elif value is not None or not nullable:
            found.append(f"'{name}' must be a text{' or null' if nullable else ''}, not {kind_of(value)}")
    return found


_QUESTIONS = (
    "SELECT q.id, q.key, c.label, c.code FROM projects_question q"
    " LEFT JOIN projects_category c ON c.question_id = q.id AND NOT c.retired"
    " WHERE q.project_id = %s ORDER BY q.position, q.id, c.position, c.code"
)
_OWN_RATER = "SELECT key, id FROM projects_rater WHERE project_id = %s AND user_id = %s"


def _look_up(project: Project, user: Any, rows: Collection[dict[str, Any]]) -> _Known:
    """One journey to the database for all that the rows may name."""
    items = bulk.find("projects_item", "id", project.pk, {row["item"] for row in rows})
    raters = bulk.find("projects_rater", "id", project.pk, {key for row in rows if (key := row.get("rater"))})
    annotator = project.role != Member.Role.LEAD  # type: ignore[attr-defined]  # set by the door
    own_rater = [(_OWN_RATER, [project.pk, user.pk])] if annotator or not all("rater" in row for row in rows) else []
    asked, *found = bulk.several([(_QUESTIONS, [project.pk]), *items, *raters, *own_rater])
    questions = _questions(project, asked)
    mine = found[-1] if own_rater else []
    own = mine[0][0] if mine else None
    if annotator:
        _refuse_others(own, rows)
    return _Known(
        questions=questions,
        items={key: pk for part in found[: len(items)] for key, pk in part},
        raters={key: pk for part in found[len(items) :] for key, pk in part},
        only_question=next(iter(questions)) if len(questions) == 1 else None,
        own_rater=own,
    )


def _refuse_others(own: str | None, rows: Collection[dict[str, Any]]) -> None:
    """PermissionDenied for an annotator who has no rater or names another than their own."""
    if own is None:
        raise PermissionDenied(_("Your account is tied to no rater of this project; its lead can do that."))
    if any(row.get("rater", own) != own for row in rows):
        raise PermissionDenied(_("You may rate as '%(own)s' alone.") % {"own": own})


def _questions(project: Project, rows: Iterable[tuple[Any, ...]]) -> dict[str, _Asked]:
    """The project's questions by key, in their order, with the codes of their labels in declared order."""
    found: dict[str, _Asked] = {}
    for pk, key, label, code in rows:
        asked = found.get(key)
        if asked is None:
            asked = found[key] = _Asked(Question(pk=pk, key=key, project=project))
        if label is not None:
            asked.codes[label] = code
    return found


def _resolved(
    row: dict[str, Any], known: _Known, now: datetime.datetime, add: Callable[[str], None]
) -> tuple[str, NewRating | None]:
    """The key of the row's question, and its rating; None after ``add`` was told what is unknown."""
    question = row.get("question") or known.only_question or ""
    code = _code(row["label"], known.questions.get(question), add)
    if question not in known.questions:
        said = f"unknown question '{question}'" if question else "'question' is missing"
        add(f"{said}; one of {', '.join(known.questions)}")
    item_id = known.items.get(row["item"])
    if item_id is None:
        add(f"unknown item '{row['item'][:60]}'")
    rater = row.get("rater", known.own_rater) or ""
    rater_id = known.raters.get(rater)
    if rater_id is None:
        add(f"unknown rater '{rater[:60]}'" if rater else "'rater' is missing")
    rated_at = None
    if row.get("rated_at") is not None:
        try:
            rated_at = parse_rated_at(row["rated_at"], now=now)
        except ValueError as error:
            add(f"rated_at: {error}")
    if code is None or item_id is None or rater_id is None:
        return question, None
    return question, NewRating(item_id, rater_id, code, rated_at=rated_at, comment=row.get("comment"))


def _code(label: str | None, asked: _Asked | None, add: Callable[[str], None]) -> int | None:
    if asked is None:
        return None
    if label is None:
        return NOTHING
    code = asked.codes.get(label)
    if code is None:
        add(f"unknown label '{label[:60]}'; one of {', '.join(asked.codes)}")
    return code
