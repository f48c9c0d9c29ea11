"""What the lead decided about a file: stored with its run as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from django.utils.translation import gettext_lazy

from ratings.models import ImportRun

# What becomes of an item that a rater rated more than once.
STANDS = {
    "last": gettext_lazy("the last row of the file stands"),
    "first": gettext_lazy("the first row of the file stands"),
    "repeat": gettext_lazy(
        "the first row stands, and the second is kept as a repeat: how far raters agree with"
        " themselves"
    ),
}
# The same where the project has ratings already.
AGAIN = (
    "again",
    gettext_lazy("what the project has stands, and what the file says again is kept as a repeat"),
)


@dataclass
class Mapping:
    """What a file is, what its columns mean, and where its rows belong.

    ``source`` is a name of SOURCES. The others speak of tables unless they say else: ``columns``
    maps a role (columns.ROLES) to the index of its column; ``parts`` are columns of content that
    are shown under their names, ``attributes`` columns that are kept and never shown. ``layout``:
    "long" (a row a rating; with ``one_rater`` all are this one's), "wide" (a row an item; every
    column without another meaning, except ``leave_out``, is a rater), or "items" (no ratings).

    Where rows belong: with ``every_question``, to the questions that the file names, which are made
    where the project does not have them; else all to one: ``question_id``, or a new one.
    ``questions`` are other keys for questions of the file, ``members`` the accounts that raters of
    the file are (see `matching`).
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
    time_zone: str = "UTC"  # of a new project
    stands: str = "last"  # of STANDS
    parts: list[int] = field(default_factory=list)
    attributes: list[int] = field(default_factory=list)
    # the rater of a file that names none; also for tools' files
    one_rater: str = ""
    every_question: bool = False
    questions: dict[str, str] = field(default_factory=dict)
    members: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, run: ImportRun) -> Mapping:
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in run.mapping.items() if name in known})

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
