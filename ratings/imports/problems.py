"""Problems of an imported file: stored as kind and values, formatted when shown."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from django.utils.translation import gettext

from ratings.services.rating_timestamps import TIME_ERRORS

from .decoding.table_times import has_ambiguous_date_order
from .messages import ALLOWED_FORMATS, MESSAGES, NEXT_STEPS
from .records import SKIPPED_RECORD_REASONS, ReaderProblem, StoredSkippedRecords

MAX_LISTED = 20  # problems of each kind that are listed; all of them are counted
MAX_SHOWN_LINES = 5
MAX_SHOWN_VALUES = 5
MAX_TEXT_LENGTH = 300  # characters of the file's text quoted in a message


class StoredProblem(TypedDict):
    """A problem as it is stored in `ImportRun.problems`; see `ImportProblem`."""

    kind: str
    line: int | None
    column: str
    values: dict[str, Any]


class ReportedProblem(TypedDict):
    """All problems of one kind for the output of a command; see `ProblemGroup`."""

    kind: str
    line: int | None
    column: str
    count: int
    lines: list[int]
    columns: list[str]
    message: str


@dataclass(frozen=True)
class ImportProblem:
    """One problem of a file: kind, values, line from 1 and column name if known."""

    kind: str
    line: int | None = None
    column: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> StoredProblem:
        """Return the problem as it is stored in `ImportRun.problems`."""
        return {
            "kind": self.kind,
            "line": self.line,
            "column": self.column,
            "values": self.values,
        }


class UnreadableFileError(Exception):
    """The file cannot be read, or cannot be read beyond the problem's line."""

    def __init__(self, kind: str, *, line: int | None = None, **values: Any) -> None:
        super().__init__(kind)
        self.problem = ImportProblem(kind, line, "", values)

    def to_record(self) -> ReaderProblem:
        """Return the fatal record that a reader yields where the file cannot be read further."""
        return ReaderProblem(
            self.problem.line, self.problem.kind, "", self.problem.values, fatal=True
        )


def truncate_text(text: str) -> str:
    """Return a text of the file, cut to the length that messages may quote."""
    return text if len(text) <= MAX_TEXT_LENGTH else text[:MAX_TEXT_LENGTH] + "…"


def format_problem(problem: StoredProblem) -> str:
    """Return the message of a stored problem in the user's language."""
    values = problem["values"]
    if problem["kind"] == "time":
        values = {"reason": _format_time_error(values)}
    elif problem["kind"] in ("pdf", "html", "binary", "yaml"):
        values = {"allowed": ALLOWED_FORMATS}
    elif problem["kind"] == "nothing_usable":
        values = {"reasons": _format_skipped_records(values["skipped_records"])}
    return str(MESSAGES[problem["kind"]]) % values


def _format_time_error(values: Mapping[str, Any]) -> str:
    """Return the message on an invalid time: the error, and the next step."""
    reason = str(TIME_ERRORS[values["why"]]) % values
    if values["why"] != "shape":
        return reason
    if has_ambiguous_date_order(values["time"]):
        return gettext(
            "'%(time)s' is ambiguous. Choose the order of day and month (--dates dmy or "
            "--dates mdy)"
        ) % {"time": values["time"]}
    return gettext("%(reason)s. Correct or ignore times (--map rated_at=)") % {"reason": reason}


def _format_skipped_records(skipped_records: Mapping[str, StoredSkippedRecords]) -> str:
    """Return the reasons why records were skipped, with their counts, as one text."""
    parts = []
    for reason, skipped in skipped_records.items():
        parts.append(f"{SKIPPED_RECORD_REASONS[reason]} ({skipped['count']})")
    return "; ".join(parts) or gettext("no item or rating")


def build_error_group(error: UnreadableFileError) -> ProblemGroup:
    """Return the problem of an unreadable file as a group of one, in the user's language."""
    (group,) = group_problems([error.problem.to_json()], {})
    return group


def format_error(error: UnreadableFileError) -> str:
    """Return the message of an error, with its line if it has one, in the user's language."""
    return build_error_group(error).format()


def describe_write_failure(kind: str, value: str) -> str:
    """Return why a validated file could not be written, in the user's language."""
    messages = {
        "archived": gettext("Archived projects accept no ratings."),
        "file_missing": gettext("The uploaded file is gone. Upload it again."),
        "error": gettext("The import failed. See the server log."),
    }
    changed = gettext("'%(value)s' has changed. Check the file again.")
    return messages.get(kind, changed) % {"value": value}


@dataclass(frozen=True)
class ProblemGroup:
    """All problems of one kind: their number, the first lines and columns, and what to do.

    ``message`` describes the first problem. ``next_step``, and the command's ``options``, say what
    to do about it; they are empty if the message says it.
    """

    kind: str
    count: int
    lines: list[int]
    columns: list[str]
    message: str
    next_step: str
    options: str

    @property
    def places(self) -> str:
        """Return the first lines and the number of problems, in the user's language.

        Empty without lines.
        """
        lines = ", ".join(map(str, self.lines[:MAX_SHOWN_LINES]))
        if not lines:
            return ""
        if self.count == 1:
            return gettext("line %(lines)s") % {"lines": lines}
        if self.count > len(self.lines[:MAX_SHOWN_LINES]):
            lines += ", …"
        return gettext("lines %(lines)s (%(count)s times)") % {"count": self.count, "lines": lines}

    def format(self) -> str:
        """Return the sentences for a command: places, message, and the options to use."""
        text = self.message
        if self.places:
            text = f"{self.places[0].upper()}{self.places[1:]}: {text}"
        if self.next_step:
            text += " " + self.next_step.rstrip(".")
            text += f" ({self.options})." if self.options else "."
        return text

    def to_json(self) -> ReportedProblem:
        """Return the group for the output of a command."""
        return {
            "kind": self.kind,
            "line": self.lines[0] if self.lines else None,
            "column": self.columns[0] if self.columns else "",
            "count": self.count,
            "lines": self.lines,
            "columns": self.columns,
            "message": self.format(),
        }


def group_problems(
    problems: Sequence[StoredProblem], counts: Mapping[str, int]
) -> list[ProblemGroup]:
    """Return the stored problems grouped by kind, in the user's language.

    ``counts`` has the number of problems of each kind, also of those that are not stored.
    """
    by_kind: dict[str, list[ImportProblem]] = {}
    for problem in problems:
        by_kind.setdefault(problem["kind"], []).append(ImportProblem(**problem))
    return [_build_group(kind, group, counts) for kind, group in by_kind.items()]


def _build_group(
    kind: str, problems: list[ImportProblem], counts: Mapping[str, int]
) -> ProblemGroup:
    first = problems[0]
    message = format_problem(first.to_json())
    values = [problem.values.get("value") for problem in problems]
    further_values = [
        str(value) for value in dict.fromkeys(values) if value not in (None, values[0])
    ]
    if further_values:
        quoted_values = ", ".join(f"'{value}'" for value in further_values[:MAX_SHOWN_VALUES])
        quoted_values += ", …" if len(further_values) > MAX_SHOWN_VALUES else ""
        message += " " + gettext("Likewise %(values)s.") % {"values": quoted_values}
    next_step, options = NEXT_STEPS.get(first.values.get("step", kind), ("", ""))
    quoted = {name: quote_argument(str(value)) for name, value in first.values.items()}
    return ProblemGroup(
        kind,
        max(counts.get(kind, 0), len(problems)),
        list(dict.fromkeys(problem.line for problem in problems if problem.line)),
        list(dict.fromkeys(problem.column for problem in problems if problem.column)),
        message,
        str(next_step) % first.values,
        options % quoted,
    )


def quote_argument(text: str) -> str:
    """Return a text as it can be typed in a shell."""
    return text if text.isalnum() else shlex.quote(text)  # it quotes all letters but those of ASCII


class ProblemList:
    """Problems found in a file: all counted by kind, the first `MAX_LISTED` of each kept."""

    def __init__(self) -> None:
        self.counts_by_kind: Counter[str] = Counter()
        self.listed: list[ImportProblem] = []

    def add(self, kind: str, line: int | None, column: str = "", **values: Any) -> None:
        """Count a problem, and list it if it is among the first of its kind.

        ``line`` is None for a problem of the whole file; ``values`` are those of the message.
        """
        self.counts_by_kind[kind] += 1
        if self.counts_by_kind[kind] <= MAX_LISTED:
            short_values = {
                name: truncate_text(value) if isinstance(value, str) else value
                for name, value in values.items()
            }
            self.listed.append(ImportProblem(kind, line, truncate_text(column), short_values))

    def add_fatal(self, problem: ImportProblem) -> None:
        """Count and list a problem after which the file cannot be read further."""
        self.counts_by_kind[problem.kind] += 1
        self.listed.append(problem)

    def list_groups(self) -> list[ProblemGroup]:
        """Return the problems by kind, in the user's language."""
        return group_problems([problem.to_json() for problem in self.listed], self.counts_by_kind)

    def __bool__(self) -> bool:
        return bool(self.counts_by_kind)
