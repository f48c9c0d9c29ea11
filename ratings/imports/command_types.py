"""Options and result of an import without the wizard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from projects.models import Project

from .interpretation import FileInterpretation
from .values.label_interpretation import LabelOptions

COUNT_NAMES = ("items", "raters", "ratings", "gold", "skips")


@dataclass(frozen=True)
class ImportOptions:
    """Options of an import; an empty option is guessed.

    ``columns`` are (role, name of the column), ``members`` (rater key in the file, user name),
    ``questions`` (key in the file, key in the project). ``match_raters``: accept suggested members
    for raters with the e-mail address or the name of a member.
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
    scale: str = ""
    order: Sequence[str] = ()
    duplicate_policy: str = ""  # a key of DUPLICATE_POLICIES, "again", or empty for "last"
    zone: str = ""
    date_order: str = ""
    labels: LabelOptions = field(default_factory=LabelOptions)
    dry_run: bool = False


@dataclass
class FileResult:
    """Result of the import of one file.

    ``labels`` has for each question the notes on its labels; and for a new question its scale, its
    labels in their order, and what the order is based on. ``stored``: whether the rows are in the
    project now; in a dry run, whether they would be.
    """

    path: Path
    source: str = ""
    project: Project | None = None
    stored: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    skipped_records: dict[str, int] = field(default_factory=dict)
    problems: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    understood: FileInterpretation | None = None
    labels: dict[str, dict[str, Any]] = field(default_factory=dict)

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

    def add_problem(self, message: str, *, kind: str = "", **details: Any) -> None:
        """Add a problem because of which the file is not imported (see `ProblemGroup.to_json`)."""
        self.problems.append(
            {
                "file": str(self.path),
                "kind": kind,
                "line": None,
                "column": "",
                "count": 1,
                "lines": [],
                "columns": [],
                "message": message,
                **details,
            }
        )
