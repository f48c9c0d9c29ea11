"""Rows of the API -> judgements: keys and labels to ids and codes, or what is wrong with each row.

Plain checks instead of serializers: one rating must cost a fraction of a millisecond, ten thousand
a fraction of a second.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.utils import timezone
from django.utils.translation import gettext as _

from core.api.parameters import rows_error
from projects.models import Member, Project, Question
from projects.services.row_validation import kind_of
from ratings.models import NOTHING
from ratings.services import permissions
from ratings.services.days import parse_rated_at
from ratings.services.judgement import FIELDS, KEPT, Judgement
from ratings.services.record import Said

from .row_lookup import Known, look_up

_TAKEN = {field.name: field for field in FIELDS if field.longest}
_NEEDED = [field for field in FIELDS if field.needed]

_Key = tuple[str, str, str]  # what a row says about which question, item, and rater


@dataclass(frozen=True, slots=True)
class Sent:
    """What one request says: its rows by their place in it, and what is wrong with the shape of
    others. ``project`` comes from the door, with the caller's role."""

    project: Project
    user: Any
    rows: dict[int, dict[str, Any]]
    wrong: dict[int, list[str]]


def read(project: Project, user: Any, rows: Sequence[Any]) -> Sent:
    """The rows, looked at by themselves."""
    sent = Sent(project, user, {}, {})
    is_annotator = _is_annotator(project)
    for place, row in enumerate(rows):
        problems = _shape_problems(row)
        if is_annotator and not problems and row.get("rated_at") is not None:
            problems = ["'rated_at' is for leads to send; yours is the time of the request"]
        if problems:
            sent.wrong[place] = problems
        else:
            sent.rows[place] = row
    return sent


def _shape_problems(row: Any) -> list[str]:
    if not isinstance(row, dict):
        return [f"an object is needed, not {kind_of(row)}"]
    found = []
    if not _TAKEN.keys() >= row.keys():
        name = next(name for name in row if name not in _TAKEN)
        found.append(f"unknown field '{name[:60]}'; one of {', '.join(_TAKEN)}")
    for field in _NEEDED:
        if field.name not in row:
            hint = "; null withdraws a rating" if field.nullable else ""
            found.append(f"'{field.name}' is missing{hint}")
    for name, value in row.items():
        if name not in _TAKEN:
            continue
        field = _TAKEN[name]
        if value is None and field.nullable:
            continue
        if not isinstance(value, str):
            wanted = "a text or null" if field.nullable else "a text"
            found.append(f"'{name}' must be {wanted}, not {kind_of(value)}")
            continue
        shortest = 0 if field.nullable else 1
        if not shortest <= len(value) <= field.longest:
            wanted = f"{shortest} to {field.longest} characters"
            found.append(f"'{name}' must have {wanted}; it has {len(value)}")
    return found


def resolve(sent: Sent) -> Said:
    """The judgements of each question, and what of them may be no correction.

    Raises BadRequest naming every bad row, PermissionDenied when an annotator names a rater that is
    not theirs, Paused, and NotExamined (of ratings.services.permissions).
    """
    rows = list(sent.rows.values())
    is_annotator = _is_annotator(sent.project)
    names_all_raters = all("rater" in row for row in rows)
    asks_own = is_annotator or not names_all_raters
    own = sent.user.pk if asks_own else None
    known = look_up(sent.project, rows, own_rater_of=own, given_alone=is_annotator)
    if is_annotator:
        _refuse_others(known, rows)
        permissions.refuse_paused(known.is_paused, known.told)
        permissions.refuse_unexamined(known.exam_due)
    only_question = known.only_question
    now = timezone.now()
    wrong = dict(sent.wrong)
    first: dict[_Key, int] = {}
    judgements: dict[Question, list[Judgement]] = {}
    for place, row in sent.rows.items():
        question = row.get("question") or only_question
        rater = row.get("rater", known.own_rater) or ""
        key = (question, row["item"], known.shown.get(rater, rater))
        judgement = _judgement(row, key, known, now)
        if judgement is None:
            wrong[place] = list(_unknown(row, key, known, now))
        else:
            judgements.setdefault(known.questions[question].question, []).append(judgement)
        if first.setdefault(key, place) != place:
            repeated = f"the same item and rater stand in row {first[key]} already"
            wrong.setdefault(place, []).append(repeated)
    if wrong:
        raise rows_error("rating", wrong)
    closed = set(known.items.values()) - known.open_items
    return Said(judgements, sent.user, None if known.may_correct else closed)


def _is_annotator(project: Project) -> bool:
    return project.role != Member.Role.LEAD  # type: ignore[attr-defined]  # set by the door


def _refuse_others(known: Known, rows: Collection[dict[str, Any]]) -> None:
    """PermissionDenied for an annotator who has no rater or names another than their own."""
    own = known.own_rater
    if own is None:
        raise PermissionDenied(
            _("Your account is tied to no rater of this project; its lead can do that.")
        )
    named = {row["rater"] for row in rows if "rater" in row}
    if any(known.shown.get(rater, rater) != own for rater in named):
        raise PermissionDenied(_("You may rate as '%(own)s' alone.") % {"own": own})


def _judgement(
    row: dict[str, Any], key: _Key, known: Known, now: datetime.datetime
) -> Judgement | None:
    """None where something is not to be accepted: ``_unknown`` says what."""
    question, item, rater = key
    asked = known.questions.get(question)
    item_id = known.items.get(item)
    rater_id = known.raters.get(rater)
    if asked is None or item_id is None or rater_id is None:
        return None
    label = row["label"]
    code = NOTHING if label is None else asked.codes.get(label)
    if code is None:
        return None
    rated_at = row.get("rated_at")
    if rated_at is not None:
        try:
            rated_at = parse_rated_at(rated_at, now=now)
        except ValueError:
            return None
    kept: dict[str, Any] = {name: row.get(name) for name in KEPT}
    return Judgement(item_id, rater_id, code, rated_at, **kept)


def _unknown(row: dict[str, Any], key: _Key, known: Known, now: datetime.datetime) -> Iterator[str]:
    question, item, rater = key
    label = row["label"]
    asked = known.questions.get(question)
    if asked is None:
        said = f"unknown question '{question}'" if question else "'question' is missing"
        yield f"{said}; one of {', '.join(known.questions)}"
    elif label is not None and label not in asked.codes:
        yield f"unknown label '{label[:60]}'; one of {', '.join(asked.codes)}"
    if item not in known.items:
        yield f"unknown item '{item[:60]}'{known.or_not_given}"
    if rater not in known.raters:
        yield f"unknown rater '{rater[:60]}'" if rater else "'rater' is missing"
    if row.get("rated_at") is not None:
        try:
            parse_rated_at(row["rated_at"], now=now)
        except ValueError as error:
            yield f"rated_at: {error}"
