"""Options and result of an import without the wizard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from projects.models import Project
from ratings.models import ImportRun

from . import services
from .interpretation import FileInterpretation, Repeats
from .problems import ProblemGroup, ReportedProblem, group_problems
from .readers import TABLE_SOURCES
from .records import SKIPPED_RECORD_REASONS
from .values.label_interpretation import LabelOptions
from .values.label_notes import UNDECIDED_KINDS, StoredNote, format_command_note

COUNT_NAMES = ("items", "raters", "ratings", "gold", "skips")
# Reasons to leave out answers that a person may expect to be imported.
UNREAD_ANSWERS = {"several_labels", "lists_differ", "no_rater", "ranking", "merged", "missing"}
NO_ANSWERS_TEXT = (
    "the file has items and answers, but none of these can be a rating: {}. To import the items "
    "alone, add --layout items"
)
SIMILAR_RATERS_NOTE = (
    "raters whose names differ only in capital letters or blanks, or as 1 and 1.0 do, are "
    "different raters: {}; correct them in the file if they are one"
)
SIMILAR_ITEMS_NOTE = (
    "items whose IDs differ only in capital letters or blanks, or as 001, 1 and 1.0 do, are "
    "different items: {}; correct them in the file if they are one"
)


@dataclass(frozen=True)
class ImportOptions:
    """Options of an import without the wizard; an empty option is guessed.

    ``columns`` are (role, name of the column), ``members`` (rater key in the file, user name),
    ``questions`` (key in the file, key in the project). ``match_raters``: match raters whose key or
    name is that of a member.
    """

    source: str = ""
    encoding: str = ""
    columns: Sequence[tuple[str, str]] = ()
    layout: str = ""
    sheets: str = ""
    question: str = ""
    rater: str = ""
    match_raters: bool = False
    members: Sequence[tuple[str, str]] = ()
    questions: Sequence[tuple[str, str]] = ()
    project_name: str = ""
    scales: Mapping[str, str] = field(default_factory=dict)  # by question; "": of all others
    order: Sequence[str] = ()
    duplicate_policy: str = ""  # a key of DUPLICATE_POLICIES, "again", or empty for "last"
    zone: str = ""
    date_order: str = ""
    labels: LabelOptions = field(default_factory=LabelOptions)
    dry_run: bool = False


class FileProblem(ReportedProblem):
    """A reported problem with the name of its file."""

    file: str


class ReportedNote(StoredNote):
    """A stored note on labels with its text."""

    message: str


class ReportedLabels(TypedDict):
    """Labels of a question with numbers of ratings and notes; scale and order of a new question."""

    labels: dict[str, int]
    notes: list[ReportedNote]
    scale: NotRequired[str]
    order: NotRequired[list[str]]
    order_basis: NotRequired[str]


@dataclass
class FileResult:
    """Result of the import of one file.

    ``labels`` maps each question to its labels. ``stored``: the rows are in the project now; in a
    dry run, they would be.
    """

    path: Path
    source: str = ""
    project: Project | None = None
    stored: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    skipped_records: dict[str, int] = field(default_factory=dict)
    problems: list[FileProblem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    understood: FileInterpretation | None = None
    labels: dict[str, ReportedLabels] = field(default_factory=dict)

    def to_json(self) -> Mapping[str, Any]:
        """Return the result for the API, with everything that was understood."""
        return {
            "stored": self.stored,
            **{name: self.counts.get(name, 0) for name in COUNT_NAMES},
            "left_out": self.skipped_records,
            "problems": self.problems,
            "notes": self.notes,
            "labels": self.labels,
            "source": self.source,
            "understood": self.understood.to_json() if self.understood else None,
        }

    def add_problem(self, message: str, *, kind: str = "", count: int = 1) -> None:
        """Add a problem that concerns no single line; ``count`` is how often it occurs."""
        group = ProblemGroup(kind, count, [], [], message, "", "")
        self.add_problem_group(group)

    def add_problem_group(self, group: ProblemGroup) -> None:
        """Add a group of problems that prevent the import of the file."""
        self.problems.append({"file": str(self.path), **group.to_json()})


def add_check_results(run: ImportRun, result: FileResult, options: ImportOptions) -> None:
    """Copy counts, skipped records and problems of the check to the result."""
    summary = run.summary
    result.counts = {
        "items": summary["items"],
        "raters": summary["raters"],
        "ratings": summary["rows"] - summary["repeats"],
        "gold": summary["gold_answers"],
        "skips": summary["skips"],
    }
    result.skipped_records = {
        reason: skipped["count"] for reason, skipped in summary["skipped_records"].items()
    }
    if summary["n_other_questions"]:
        result.skipped_records["other_question"] = summary["n_other_questions"]
    assert result.understood is not None
    result.understood.counts = {
        name: result.counts[name] for name in ("items", "raters", "ratings", "gold", "skips")
    }
    if summary["repeats"]:
        result.understood.repeats = Repeats(summary["repeats"], summary["repeat_examples"])
        if not options.duplicate_policy:
            result.notes.append(result.understood.format_repeats())
    result.understood.add_skipped_records(summary["skipped_records"])
    if summary.get("similar_raters"):
        result.notes.append(SIMILAR_RATERS_NOTE.format("; ".join(summary["similar_raters"])))
    if summary.get("similar_items"):
        result.notes.append(SIMILAR_ITEMS_NOTE.format("; ".join(summary["similar_items"])))
    _add_label_notes(run, result)
    _add_problem_on_unread_answers(run, result, options)
    if run.state == ImportRun.State.CHECKED:
        _add_problem_on_repeated_rows(run, result, options)
    for group in group_problems(run.problems, summary["problem_counts"]):
        result.add_problem_group(group)


def _add_problem_on_unread_answers(
    run: ImportRun, result: FileResult, options: ImportOptions
) -> None:
    """Add a problem if the import would store items but none of the file's answers.

    Only if answers were skipped, or a table of ratings has none; not if the layout "items" is
    chosen.
    """
    skipped = run.summary["skipped_records"].keys()
    has_own_layout = run.mapping["source"] in TABLE_SOURCES and run.mapping["layout"] != "items"
    reasons = skipped & (UNREAD_ANSWERS | {"no_label"} if has_own_layout else UNREAD_ANSWERS)
    has_answers = any(result.counts[name] for name in ("ratings", "gold", "skips"))
    if reasons and result.counts["items"] and not has_answers and options.layout != "items":
        listed = "; ".join(
            f"{SKIPPED_RECORD_REASONS[reason]} ({run.summary['skipped_records'][reason]['count']})"
            for reason in sorted(reasons)
        )
        result.add_problem(NO_ANSWERS_TEXT.format(listed), kind="no_answers")


def _add_label_notes(run: ImportRun, result: FileResult) -> None:
    """Add notes on how labels were interpreted; those that need a decision become problems."""
    questions = services.list_questions(run)
    for key, details in questions:
        notes: list[ReportedNote] = [
            {**note, "message": format_command_note(note)} for note in details["notes"]
        ]
        result.labels[key] = {"labels": details["labels"], "notes": notes}
        for note in notes:
            prefix = f"question '{key}': " if len(questions) > 1 else ""
            if note["kind"] in UNDECIDED_KINDS:
                result.add_problem(prefix + note["message"], kind=note["kind"])
            else:
                result.notes.append(prefix + note["message"])


def _add_problem_on_repeated_rows(
    run: ImportRun, result: FileResult, options: ImportOptions
) -> None:
    """Add a problem if a table without a column of raters repeats items.

    Not if an option decides what happens to the repeats.
    """
    assert result.understood is not None
    message = "" if options.duplicate_policy else result.understood.format_repeated_rows()
    if message:
        result.add_problem(message, kind="repeated_rows", count=run.summary["repeats"])
