"""Judgement: the answer of a rater to a question about an item, with its optional fields.

The API, exports and the admin are driven by this list. A text that a source may send and that is
stored until the source sends another one is an entry in DETAIL_FIELDS with ``is_stored_text=True``,
a field of Judgement, and a column of the same name in the abstract model
ratings.models.rating.JudgementBase. The annotation form and the columns of imports are separate.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ratings.models import NO_CODE


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingField:
    """A field of a judgement: name, type, limits and texts for API, export and admin.

    ``name`` is its name in the API and in files and, except for KEY_FIELDS, that of a column of
    Rating.
    """

    name: str
    kind: Literal["text", "time", "number"] = "text"
    max_length: int = 0  # characters that the API accepts; 0: it cannot be sent
    required: bool = False
    nullable: bool = False
    help_text: str = ""  # API description of the request field
    output_help_text: str = ""  # API description of the response field
    is_stored_text: bool = False  # a text that is stored until the source sends another one


# Rater, item, question and label: looked up in the project by key.
KEY_FIELDS = (
    RatingField(name="item", max_length=255, required=True, help_text="Key of the item"),
    RatingField(
        name="rater", max_length=150, help_text="Key of the rater; the caller's own when left out"
    ),
    RatingField(
        name="question",
        max_length=64,
        help_text="Key of the question; may be left out where the project has one",
    ),
    RatingField(
        name="label",
        max_length=200,
        required=True,
        nullable=True,
        help_text="A label of the question; null withdraws",
        output_help_text="null: withdrawn",
    ),
)
# Further fields of a rating. Null is the same as leaving the field out.
DETAIL_FIELDS = (
    RatingField(
        name="rated_at",
        kind="time",
        max_length=100,
        nullable=True,
        help_text="ISO-8601 with a zone; now, when left out",
    ),
    RatingField(name="changed_at", kind="time"),
    RatingField(name="comment", max_length=10_000, nullable=True, is_stored_text=True),
    RatingField(
        name="guidelines",
        kind="number",
        nullable=True,
        output_help_text="The version of the guidelines it was made under; null: unknown",
    ),
    RatingField(
        name="item_version",
        kind="number",
        nullable=True,
        output_help_text="The version of the item's content that was rated; null: unknown",
    ),
)
FIELDS = (*KEY_FIELDS, *DETAIL_FIELDS)
STORED_TEXTS = tuple(field.name for field in DETAIL_FIELDS if field.is_stored_text)


class Judgement(NamedTuple):
    """An answer to record: item, rater, code and optional fields.

    The ids belong to the question's project; ``code`` is a category's code, or NO_CODE to withdraw.
    """

    item_id: int
    rater_id: int
    code: int
    rated_at: datetime.datetime | None = None
    comment: str | None = None
    seconds: float | None = None
    # Version of the guidelines that the rater saw; the current one if None
    guidelines: int | None = None
    # Version of the item's content that the rater saw; the current one if None
    item_version: int | None = None
    # Earlier (code, rated_at) of the same source for this item and rater: recorded in the history,
    # but never current.
    superseded: tuple[tuple[int, datetime.datetime | None], ...] = ()


@dataclass
class RecordOutcome:
    """Numbers of judgements by their effect."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    withdrawn: int = 0

    def add(self, judgement: Judgement, previous_code: int | None, *, is_unchanged: bool) -> None:
        """Count the effect of a judgement; ``previous_code`` is None if nothing was stored."""
        if is_unchanged:
            self.unchanged += 1
        elif judgement.code == NO_CODE:
            self.withdrawn += 1
        elif previous_code is None or previous_code == NO_CODE:
            self.created += 1
        else:
            self.changed += 1

    def __add__(self, other: RecordOutcome) -> RecordOutcome:
        return RecordOutcome(
            self.created + other.created,
            self.changed + other.changed,
            self.unchanged + other.unchanged,
            self.withdrawn + other.withdrawn,
        )


class UnknownCode(ValueError):
    """The code is no active category of the question."""
