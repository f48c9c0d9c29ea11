"""What a reader yields: the neutral shape of every file, whatever tool wrote it.

A reader knows its tool and nothing of Concord's tables; what comes after it knows no tool. Every
record has the line that it stands on, from 1. Texts are as the file has them: the judge says what
is wrong with them (judging.py).
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple

# What a time may be: ISO-8601 text with its zone, or a datetime.
Time = str | datetime.datetime | None


class Item(NamedTuple):
    """What is judged. ``body`` and ``attributes`` as the API has them; None: the file says nothing
    of them, and what stands stays."""

    line: int
    key: str
    body: dict[str, Any] | None = None
    attributes: dict[str, Any] | None = None


class Rater(NamedTuple):
    """Who judges. The version of a model's prompt belongs into its key: another version is another
    rater (`model_key`)."""

    line: int
    key: str
    kind: str = "human"  # or "model"
    name: str = ""
    column: str = ""
    model: str = ""
    prompt_version: str = ""


class Question(NamedTuple):
    """What was asked, where the file knows more than the answers: its words, and labels that
    nobody may have given yet."""

    line: int
    key: str
    text: str = ""
    labels: Sequence[str] = ()


class Judgement(NamedTuple):
    """One answer of one rater. ``question`` is the file's own key of it, empty where the file has
    one question without a name. ``label`` None: the rater skipped the item. ``column`` names the
    label in problems. ``seconds``: time spent. ``guidelines`` is the version that it was made
    under, empty where the file says that nobody knows; None: the file does not speak of it."""

    line: int
    item: str
    rater: str
    question: str
    label: str | None
    rated_at: Time = None
    comment: str | None = None
    seconds: float | None = None
    column: str = ""
    guidelines: str | None = None


class Gold(NamedTuple):
    """A known answer of an item; several of one item and question are all right."""

    line: int
    item: str
    question: str
    label: str
    column: str = ""


class LeftOut(NamedTuple):
    """Something of the file that is not imported. ``reason`` is a key of left_out.REASONS."""

    line: int
    reason: str
    value: str = ""


class Wrong(NamedTuple):
    """A problem that only the reader can see; ``kind`` is a key of problems.MESSAGES. ``fatal``:
    the file cannot be read further."""

    line: int | None
    kind: str
    column: str = ""
    values: dict[str, Any] = {}
    fatal: bool = False


Record = Item | Rater | Question | Judgement | Gold | LeftOut | Wrong


def model_key(name: str, version: str = "") -> str:
    """The key of the rater that a model in one version is."""
    name, version = name.strip(), version.strip()
    if not version or version == name:
        return name
    return f"{name}@{version}" if name else version
