"""What is recorded: one thing that was said about one item, and the one list of its fields.

API, export, and admin ask this list. A text that a source may send, and that stands until it sends
another one, is a line in DETAILS with ``kept=True``, a field of Judgement, and a column of the same
name in Judged (ratings.models). The desk's form and the import's columns have their own.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """``name`` is what the API, files, and (but for KEYS) the columns of Rating call it."""

    name: str
    kind: Literal["text", "time", "number"] = "text"
    longest: int = 0  # characters that the API takes; 0: nobody may send it
    needed: bool = False
    nullable: bool = False
    about: str = ""  # what the description of the API says where it is sent
    about_answer: str = ""  # and where it is answered
    exported: bool = True
    kept: bool = False  # a text that stands until the source sends another one


# Who judges what: they are looked up in the project.
KEYS = (
    Field(name="item", longest=255, needed=True, about="Key of the item"),
    Field(name="rater", longest=150, about="Key of the rater; the caller's own when left out"),
    Field(
        name="question",
        longest=64,
        about="Key of the question; may be left out where the project has one",
    ),
    Field(
        name="label",
        longest=200,
        needed=True,
        nullable=True,
        about="A label of the question; null withdraws",
        about_answer="null: withdrawn",
    ),
)
# What else is known of a rating. Null is as good as left out.
DETAILS = (
    Field(
        name="rated_at",
        kind="time",
        longest=100,
        nullable=True,
        about="ISO-8601 with a zone; now, when left out",
    ),
    Field(name="changed_at", kind="time", exported=False),
    Field(name="comment", longest=10_000, nullable=True, kept=True),
    Field(
        name="guidelines",
        kind="number",
        nullable=True,
        about_answer="The version of the guidelines it was made under; null: unknown",
    ),
    Field(
        name="item_version",
        kind="number",
        nullable=True,
        about_answer="The version of the item's content that was rated; null: unknown",
        exported=False,
    ),
)
FIELDS = (*KEYS, *DETAILS)
KEPT = tuple(field.name for field in DETAILS if field.kept)


class Judgement(NamedTuple):
    """One thing said about one item: ids of the question's project, a category's code, or NOTHING
    to withdraw."""

    item_id: int
    rater_id: int
    code: int
    rated_at: datetime.datetime | None = None
    comment: str | None = None
    seconds: float | None = None
    # the version that the rater had before them; the one in force where nobody says
    guidelines: int | None = None
    # and of the item's content
    item_version: int | None = None
    # Other things that the same source said earlier for this item and rater: kept in the history,
    # never standing.
    superseded: tuple[tuple[int, datetime.datetime | None], ...] = ()


@dataclass
class Outcome:
    """How many judgements did what."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    withdrawn: int = 0


class UnknownCode(ValueError):
    """A code that is no category of the question (any more)."""
