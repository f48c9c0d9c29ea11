"""Problems of an imported file: stored as kind and values, formatted when shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from django.utils.translation import gettext

from ratings.services.rating_times import TIME_ERRORS

from .decoding.table_times import has_ambiguous_date_order
from .messages import ALLOWED_FORMATS, MEDIA_KIND_NAMES, MESSAGES
from .records import ReaderProblem
from .skipped_rows import SKIPPED_RECORD_REASONS

MAX_LISTED = 1000  # problems listed; all of them are counted
MAX_TEXT_LENGTH = 300  # characters of the file's text quoted in a message


@dataclass(frozen=True)
class ImportProblem:
    """One problem of a file: kind, values, line from 1 and column name if known."""

    kind: str
    line: int | None = None
    column: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the problem as it is stored in `ImportRun.problems`."""
        return asdict(self)


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


def format_problem(problem: dict[str, Any]) -> str:
    """Return the message of a stored problem in the user's language."""
    values = problem["values"]
    if problem["kind"] == "time":
        values = {"reason": _format_time_error(values)}
    elif problem["kind"] in ("pdf", "html", "binary"):
        values = {"allowed": ALLOWED_FORMATS}
    elif problem["kind"] == "media_missing":
        values = {"what": MEDIA_KIND_NAMES[values["what"]], "value": values["value"]}
    elif problem["kind"] == "nothing_usable":
        values = {"reasons": _format_skipped_records(values["skipped_records"])}
    return str(MESSAGES[problem["kind"]][1]) % values


def _format_time_error(values: Mapping[str, Any]) -> str:
    """Return what is wrong with a time, and what to do."""
    reason = str(TIME_ERRORS[values["why"]]) % values
    if values["why"] != "shape":
        return reason
    if has_ambiguous_date_order(values["time"]):
        return gettext(
            "'%(time)s' can be a day and month or a month and day. Choose which comes first"
            " (--dates dmy or --dates mdy)"
        ) % {"time": values["time"]}
    return gettext(
        "%(reason)s. Choose no column as the time of the rating to leave the times away (--map"
        " rated_at=)"
    ) % {"reason": reason}


def _format_skipped_records(skipped_records: dict[str, Any]) -> str:
    """Return the reasons why records were skipped, with their counts, as one text."""
    parts = []
    for reason, skipped in skipped_records.items():
        parts.append(f"{SKIPPED_RECORD_REASONS[reason]} ({skipped['count']})")
    return "; ".join(parts) or gettext("no item and no rating")


def format_error(error: UnreadableFileError) -> str:
    """Return the message of an error, with its line if it has one, in the user's language."""
    text = format_problem(error.problem.to_json())
    line = error.problem.line
    if line is None:
        return text
    return gettext("Line %(line)s: %(message)s") % {"line": line, "message": text}


def describe_stop(kind: str, value: str) -> str:
    """Return why a validated file could not be written, in the user's language."""
    messages = {
        "categories": gettext(
            "The question's categories were changed since the check; the file says '%(value)s'."
        ),
        "question": gettext("Question '%(value)s' was removed since the check."),
        "items": gettext("Item '%(value)s' was removed since the check."),
        "raters": gettext("Rater '%(value)s' was removed since the check."),
        "archived": gettext("The project '%(value)s' is archived: nobody rates in it."),
        "file_missing": gettext("The checked file is not there any more."),
        "error": gettext(
            "The import failed several times for a reason of the server, which is in its log."
        ),
    }
    return messages[kind] % {"value": value}


class ProblemList:
    """Problems found in a file: all counted by kind, the first `MAX_LISTED` kept."""

    def __init__(self) -> None:
        self.counts_by_kind: Counter[str] = Counter()
        self.listed: list[ImportProblem] = []

    def add(self, kind: str, line: int | None, column: str = "", **values: Any) -> None:
        """Count a problem and list it while there is room."""
        self.counts_by_kind[kind] += 1
        if len(self.listed) < MAX_LISTED:
            short_values = {
                name: truncate_text(value) if isinstance(value, str) else value
                for name, value in values.items()
            }
            self.listed.append(ImportProblem(kind, line, truncate_text(column), short_values))

    def add_fatal(self, problem: ImportProblem) -> None:
        """Count and list a problem after which the file cannot be read further."""
        self.counts_by_kind[problem.kind] += 1
        # Reading ends here, so this problem is listed even when the list is full.
        self.listed = [*self.listed[: MAX_LISTED - 1], problem]

    def __bool__(self) -> bool:
        return bool(self.counts_by_kind)
