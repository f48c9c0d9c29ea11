"""What the lead decided about a file: stored with its run as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ratings.models import ImportRun


@dataclass
class Mapping:
    """What a file is, what its columns mean, and where its rows belong.

    ``source`` is a name of SOURCES. ``columns`` maps item, rater, label, rated_at, comment and
    question to an index; in the wide layout only item, and every column except those of
    ``leave_out`` is a rater. ``question_id`` is None where a new question is made.
    """

    source: str = "csv"
    encoding: str = ""
    delimiter: str = ""
    layout: str = "long"
    columns: dict[str, int] = field(default_factory=dict)
    leave_out: list[int] = field(default_factory=list)
    make_new: bool = True
    question_id: int | None = None
    question_key: str = ""
    question_text: str = ""
    project_name: str = ""
    scale: str = ""
    categories: list[str] = field(default_factory=list)
    stands: str = "last"

    @classmethod
    def of(cls, run: ImportRun) -> Mapping:
        return cls(**run.mapping)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
