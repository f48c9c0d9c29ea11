"""Rows of the API -> ratings of this project: keys and labels to ids and codes, or what is wrong
with each row.

Plain checks instead of serializers: one rating must cost a fraction of a millisecond, ten thousand
a fraction of a second. A few queries for any number of rows.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import PermissionDenied
from django.utils import timezone
from django.utils.translation import gettext as _

from groundwork.database import bulk
from groundwork.rest.errors import BadRequest
from groundwork.rest.parameters import rows_error
from projects.catalogue.rows import kind_of
from projects.models import Member, Project, Question
from ratings.models import NOTHING
from ratings.recording.days import parse_rated_at
from ratings.recording.record import Group, NewRating

FIELDS = ("item", "rater", "question", "label", "rated_at", "comment")

_KNOWN = frozenset(FIELDS)
# name -> most characters, whether null is allowed
_TEXTS = {
    "item": (255, False),
    "rater": (150, False),
    "question": (64, False),
    "label": (200, True),
    "rated_at": (100, True),
    "comment": (10_000, True),
}
# name -> what to add where it is missing
_NEEDED = {"item": "", "label": "; null withdraws a rating"}


@dataclass
class _Asked:
    """A question with the codes of its labels."""

    question: Question
    codes: dict[str, int] = field(default_factory=dict)


@dataclass
class _Known:
    """What the rows may name. ``own_raters``: user id -> key."""

    questions: dict[str, _Asked]
    items: dict[str, int]
    raters: dict[str, int]
    only_question: str | None
    own_raters: dict[int, str]


@dataclass(frozen=True, slots=True)
class Sent:
    """What one request says: its rows by their place in it, and what is wrong with the shape of
    others."""

    project: Project
    user: Any
    rows: dict[int, dict[str, Any]]
    wrong: dict[int, list[str]]

    @property
    def annotator(self) -> bool:
        return bool(self.project.role != Member.Role.LEAD)  # type: ignore[attr-defined]  # set by the door

    @property
    def asks_for_own_rater(self) -> bool:
        return self.annotator or not all("rater" in row for row in self.rows.values())


_Key = tuple[str, str, str]  # what a row says about which question, item and rater
Groups = list[Group]


def read(project: Project, user: Any, rows: Sequence[Any]) -> Sent:
    """The rows, looked at by themselves. ``project`` comes from the door, with the caller's
    role."""
    sent = Sent(project, user, {}, {})
    for place, row in enumerate(rows):
        if problems := _shape_problems(row):
            sent.wrong[place] = problems
        else:
            sent.rows[place] = row
    return sent


def resolve(sent: Sent) -> Groups:
    """The ratings of each question.

    Raises BadRequest naming every bad row, and PermissionDenied when an annotator names a rater
    that is not theirs.
    """
    return _resolved(sent, _look_up([sent]))


def resolve_together(several: Sequence[Sent]) -> list[Groups | None]:
    """The same of several requests about one project, on one journey to the database; None where
    one is refused."""
    known = _look_up(several)
    found: list[Groups | None] = []
    for sent in several:
        try:
            found.append(_resolved(sent, known))
        except (BadRequest, PermissionDenied):
            found.append(None)
    return found


def _resolved(sent: Sent, known: _Known) -> Groups:
    own = known.own_raters.get(sent.user.pk)
    if sent.annotator:
        _refuse_others(own, sent.rows.values())
    only = known.only_question or ""
    now = timezone.now()
    wrong = dict(sent.wrong)
    first: dict[_Key, int] = {}
    ratings: dict[str, list[NewRating]] = {}
    for place, row in sent.rows.items():
        key = (row.get("question") or only, row["item"], row.get("rater", own) or "")
        rating = _rating(row, key, known, now)
        if rating is None:
            wrong[place] = list(_unknown(row, key, known, now))
        else:
            ratings.setdefault(key[0], []).append(rating)
        if first.setdefault(key, place) != place:
            wrong.setdefault(place, []).append(
                f"the same item and rater stand in row {first[key]} already"
            )
    if wrong:
        raise rows_error("rating", wrong)
    return [(known.questions[question].question, some) for question, some in ratings.items()]


def _shape_problems(row: Any) -> list[str]:
    if not isinstance(row, dict):
        return [f"an object is needed, not {kind_of(row)}"]
    found = []
    if not _KNOWN.issuperset(row):
        name = next(name for name in row if name not in _KNOWN)
        found.append(f"unknown field '{name[:60]}'; one of {', '.join(FIELDS)}")
    for name, needed in _NEEDED.items():
        if name not in row:
            found.append(f"'{name}' is missing{needed}")
    for name, value in row.items():
        if name not in _TEXTS:
            continue
        longest, nullable = _TEXTS[name]
        if isinstance(value, str):
            if len(value) > longest or not (value or nullable):
                found.append(
                    f"'{name}' must have {0 if nullable else 1} to {longest} characters; it has {len(value)}"
                )
        elif value is not None or not nullable:
            found.append(
                f"'{name}' must be a text{' or null' if nullable else ''}, not {kind_of(value)}"
            )
    return found


_QUESTIONS = (
    "SELECT q.id, q.key, c.label, c.code FROM projects_question q"
    " LEFT JOIN projects_category c ON c.question_id = q.id AND NOT c.retired"
    " WHERE q.project_id = %s ORDER BY q.position, q.id, c.position, c.code"
)


def _look_up(several: Sequence[Sent]) -> _Known:
    """One journey to the database for all that the requests about one project may name."""
    project, rows = several[0].project, [row for sent in several for row in sent.rows.values()]
    items = bulk.find("projects_item", "id", project.pk, {row["item"] for row in rows})
    raters = bulk.find(
        "projects_rater", "id", project.pk, {key for row in rows if (key := row.get("rater"))}
    )
    own_raters = _own_raters(project, {sent.user.pk for sent in several if sent.asks_for_own_rater})
    asked, *found = bulk.several([(_QUESTIONS, [project.pk]), *items, *raters, *own_raters])
    questions = _questions(project, asked)
    own = found.pop() if own_raters else []
    return _Known(
        questions=questions,
        items={key: pk for part in found[: len(items)] for key, pk in part},
        raters={
            key: pk for part in [*found[len(items) :], [row[:2] for row in own]] for key, pk in part
        },
        only_question=next(iter(questions)) if len(questions) == 1 else None,
        own_raters={user: key for key, _pk, user in own},
    )


def _own_raters(project: Project, users: set[int]) -> list[bulk.Statement]:
    if not users:
        return []
    condition, values = bulk.among("user_id", sorted(users))
    sql = f"SELECT key, id, user_id FROM projects_rater WHERE project_id = %s AND {condition}"  # noqa: S608 - ids are values
    return [(sql, [project.pk, *values])]


def _refuse_others(own: str | None, rows: Collection[dict[str, Any]]) -> None:
    """PermissionDenied for an annotator who has no rater or names another than their own."""
    if own is None:
        raise PermissionDenied(
            _("Your account is tied to no rater of this project; its lead can do that.")
        )
    if any(row.get("rater", own) != own for row in rows):
        raise PermissionDenied(_("You may rate as '%(own)s' alone.") % {"own": own})


def _questions(project: Project, rows: Iterable[tuple[Any, ...]]) -> dict[str, _Asked]:
    """The project's questions by key, in their order, with the codes of their labels in declared
    order."""
    found: dict[str, _Asked] = {}
    for pk, key, label, code in rows:
        asked = found.get(key)
        if asked is None:
            asked = found[key] = _Asked(Question(pk=pk, key=key, project=project))
        if label is not None:
            asked.codes[label] = code
    return found


def _rating(
    row: dict[str, Any], key: _Key, known: _Known, now: datetime.datetime
) -> NewRating | None:
    """None where something is not to be accepted: ``_unknown`` says what."""
    question, item, rater = key
    asked, item_id, rater_id = (
        known.questions.get(question),
        known.items.get(item),
        known.raters.get(rater),
    )
    if asked is None or item_id is None or rater_id is None:
        return None
    label, rated_at = row["label"], row.get("rated_at")
    code = NOTHING if label is None else asked.codes.get(label)
    if code is None:
        return None
    if rated_at is not None:
        try:
            rated_at = parse_rated_at(rated_at, now=now)
        except ValueError:
            return None
    return NewRating(item_id, rater_id, code, rated_at, row.get("comment"))


def _unknown(
    row: dict[str, Any], key: _Key, known: _Known, now: datetime.datetime
) -> Iterator[str]:
    question, item, rater = key
    asked = known.questions.get(question)
    if asked is None:
        said = f"unknown question '{question}'" if question else "'question' is missing"
        yield f"{said}; one of {', '.join(known.questions)}"
    elif row["label"] is not None and row["label"] not in asked.codes:
        yield f"unknown label '{row['label'][:60]}'; one of {', '.join(asked.codes)}"
    if item not in known.items:
        yield f"unknown item '{item[:60]}'"
    if rater not in known.raters:
        yield f"unknown rater '{rater[:60]}'" if rater else "'rater' is missing"
    if row.get("rated_at") is not None:
        try:
            parse_rated_at(row["rated_at"], now=now)
        except ValueError as error:
            yield f"rated_at: {error}"
