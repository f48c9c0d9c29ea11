"""Records that every reader yields, independent of the tool that wrote the file.

A reader knows its tool and nothing of Concord's tables; the code after it knows no tool. Every
record has its line number in the file, counted from 1; in formats without lines, the number of its
row or image. Texts are as in the file: row validation reports what is wrong with them.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple

# A time of a record: ISO 8601 text with its zone, or a datetime.
RecordTime = str | datetime.datetime | None


class ItemRecord(NamedTuple):
    """An item of the file.

    ``body`` and ``attributes`` have the form they have in the API. None means that the file does
    not mention them, and the stored values stay.
    """

    line: int
    key: str
    body: dict[str, Any] | None = None
    attributes: dict[str, Any] | None = None


class RaterRecord(NamedTuple):
    """A rater of the file.

    The prompt version of a model belongs into its key, because another version is another rater
    (see `build_model_key`).
    """

    line: int
    key: str
    kind: str = "human"  # "human" or "model"
    name: str = ""
    column: str = ""
    model: str = ""
    prompt_version: str = ""


class QuestionRecord(NamedTuple):
    """A question of the file, if the file has more than answers to it: its text or its labels.

    ``labels`` may include labels that no rating has.
    """

    line: int
    key: str
    text: str = ""
    labels: Sequence[str] = ()


class RatingRecord(NamedTuple):
    """One rating: the answer of one rater to one question about one item.

    ``question`` is the key used in the file, empty when the file has one question without a name.
    ``label`` is None when the rater skipped the item. ``column`` is the column of the label, for
    problem messages. ``seconds`` is the time spent. ``guidelines`` is the version of the guidelines
    that applied: empty when the file states that it is unknown, None when the file does not mention
    it.
    """

    line: int
    item: str
    rater: str
    question: str
    label: str | None
    rated_at: RecordTime = None
    comment: str | None = None
    seconds: float | None = None
    column: str = ""
    guidelines: str | None = None


class GoldRecord(NamedTuple):
    """A gold answer of an item. Several for one item and question are all accepted."""

    line: int
    item: str
    question: str
    label: str
    column: str = ""


class SkippedRecord(NamedTuple):
    """A part of the file that is not imported.

    ``reason`` is a key of `skipped_rows.SKIPPED_RECORD_REASONS`.
    """

    line: int
    reason: str
    value: str = ""


class ReaderProblem(NamedTuple):
    """A problem that only the reader can see.

    ``kind`` is a key of `messages.MESSAGES`. ``fatal`` means that the file cannot be read further.
    """

    line: int | None
    kind: str
    column: str = ""
    values: dict[str, Any] = {}
    fatal: bool = False


Record = (
    ItemRecord
    | RaterRecord
    | QuestionRecord
    | RatingRecord
    | GoldRecord
    | SkippedRecord
    | ReaderProblem
)


def build_model_key(name: str, version: str = "") -> str:
    """Return the rater key of a model in one prompt version."""
    name, version = name.strip(), version.strip()
    if not version or version == name:
        return name
    return f"{name}@{version}" if name else version
