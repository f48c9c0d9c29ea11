"""Everything that can be wrong with a file, each with its words. Stored by kind and values, worded
when shown."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from django.utils.translation import gettext

from ratings.services.days import WRONG_TIMES

from .messages import ALLOWED, MESSAGES, WHAT
from .records import Wrong
from .skipped_rows import REASONS

MAX_LISTED = 1000  # all problems are counted, the first of them are listed
MAX_SHOWN = 300  # characters of a file's text in a message


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, with its line in the file (from 1) and the name of its column, where
    it has them."""

    kind: str
    line: int | None = None
    column: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Unreadable(Exception):
    """The file cannot be read, or not further than this."""

    def __init__(self, kind: str, *, line: int | None = None, **values: Any) -> None:
        super().__init__(kind)
        self.problem = Problem(kind, line, "", values)

    def as_record(self) -> Wrong:
        """What a reader yields where the file cannot be read further."""
        return Wrong(self.problem.line, self.problem.kind, "", self.problem.values, fatal=True)


def shown(text: str) -> str:
    """A piece of the file as messages may carry it."""
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"


def message(problem: dict[str, Any]) -> str:
    """The words of a stored problem, in the reader's language."""
    values = problem["values"]
    if problem["kind"] == "time":
        values = {"reason": str(WRONG_TIMES[values["why"]]) % values}
    elif problem["kind"] in ("pdf", "html", "binary"):
        values = {"allowed": ALLOWED}
    elif problem["kind"] == "media_absent":
        values = {"what": WHAT[values["what"]], "value": values["value"]}
    elif problem["kind"] == "nothing_usable":
        values = {"reasons": _reasons(values["left_out"])}
    return str(MESSAGES[problem["kind"]][1]) % values


def _reasons(left_out: dict[str, Any]) -> str:
    """What was left out of a file, in words."""
    parts = []
    for reason, told in left_out.items():
        parts.append(f"{REASONS[reason]} ({told['count']})")
    return "; ".join(parts) or gettext("no item and no rating")


def in_words(error: Unreadable) -> str:
    """What is wrong with a file, with its line where it has one, in the reader's language."""
    words = message(error.problem.as_json())
    line = error.problem.line
    if line is None:
        return words
    return gettext("Line %(line)s: %(message)s") % {"line": line, "message": words}


def why_stopped(kind: str, value: str) -> str:
    """Why a checked file could not be written, in the reader's language."""
    words = {
        "categories": gettext(
            "The question's categories were changed since the check; the file says '%(value)s'."
        ),
        "question": gettext("Question '%(value)s' was removed since the check."),
        "items": gettext("Item '%(value)s' was removed since the check."),
        "raters": gettext("Rater '%(value)s' was removed since the check."),
        "archived": gettext("The project '%(value)s' is archived: nobody rates in it."),
        "lost": gettext("The checked file is not there any more."),
        "error": gettext(
            "The import failed several times for a reason of the server, which is in its log."
        ),
    }
    return words[kind] % {"value": value}


class Found:
    """The problems of a check: all counted by kind, the first ones kept."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.listed: list[Problem] = []

    def add(self, kind: str, line: int | None, column: str = "", **values: Any) -> None:
        self.kinds[kind] += 1
        if len(self.listed) < MAX_LISTED:
            texts = {
                name: shown(value) if isinstance(value, str) else value
                for name, value in values.items()
            }
            self.listed.append(Problem(kind, line, shown(column), texts))

    def add_fatal(self, problem: Problem) -> None:
        self.kinds[problem.kind] += 1
        # The reading ends here: this one is named even where the list is full.
        self.listed = [*self.listed[: MAX_LISTED - 1], problem]

    def __bool__(self) -> bool:
        return bool(self.kinds)
