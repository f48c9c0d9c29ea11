"""Documents: the content of an exported file, which a response streams and a worker writes.

A document has a section for each question. A section can be read in pieces that end between two
items, in the order of their ids, so a worker continues after the last piece that it stored. Both
ways call the same functions, and so give the same bytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Case, F, QuerySet, When
from django.http import StreamingHttpResponse

from core.hooks import Hook
from projects.models import Project, Question, Rater
from projects.permissions import MAX_ID
from ratings.models import ExportRun
from ratings.services.judgement import FIELDS, KEY_FIELDS

ROWS_PER_CHUNK = 2_000  # rows that are fetched at a time and sent as one chunk
ROWS_PER_PIECE = 20_000  # rows that a worker writes between two updates of its progress

# Columns of the file of ratings. They are here, not in rating_files, because the import recognizes
# them: a command that reads a file without the site must not load the API.
# Name of the rater's model: a model without a name gets its key, so that readers of the file can
# distinguish models from people.
MODEL_NAME = Case(
    When(rater__kind=Rater.Kind.MODEL, rater__model="", then=F("rater__key")),
    default=F("rater__model"),
)
RATER_COLUMNS = {
    "model": MODEL_NAME,
    "prompt_version": F("rater__prompt_version"),
    "group": F("rater__group"),
}
# The columns of the API's list in its order, then those that only files have.
COLUMN_KINDS: dict[str, str] = {
    **{field.name: field.kind for field in FIELDS},
    **dict.fromkeys(RATER_COLUMNS, "text"),
    "seconds": "decimal",
}
COLUMNS = tuple(COLUMN_KINDS)
TIME_COLUMNS = [name for name, kind in COLUMN_KINDS.items() if kind == "time"]
# Item, rater, question, label and the times come first; the other columns are texts and numbers.
OTHER_COLUMNS = COLUMNS[len(KEY_FIELDS) + len(TIME_COLUMNS) :]

Row = Any  # what ``Section.iter_rows`` yields and the functions of a format accept


@dataclass(frozen=True)
class Section:
    """The rows of one question.

    ``queryset``: has a row for each row of the file, and an ``item_id``. ``iter_rows``: yields the
    rows of the items whose ids are above the first number, up to and including the second.
    """

    queryset: QuerySet[Any]
    iter_rows: Callable[[int, int], Iterator[Row]]

    def find_piece_end(self, after: int) -> int:
        """Return the id of the item at which a piece ends; MAX_ID for the last piece.

        It has ROWS_PER_PIECE rows, or a few more, because it has all rows of its items.
        """
        rows = self.queryset.filter(item_id__gt=after).order_by("item_id")
        item_ids = rows.values_list("item_id", flat=True)
        return next(iter(item_ids[ROWS_PER_PIECE - 1 : ROWS_PER_PIECE]), MAX_ID)


@dataclass(frozen=True)
class TextFormat:
    """A format with a text for each row, between a head and a tail."""

    format_lines: Callable[[Iterable[Row]], Iterator[str]]
    head: str = ""
    separator: str = ""
    tail: str = ""

    def encode(self, rows: Iterable[Row]) -> Iterator[bytes]:
        """Yield the chunks of a complete file."""
        lines = self.format_lines(rows)
        first = itertools.islice(lines, 1)
        rest = (f"{self.separator}{line}" for line in lines) if self.separator else lines
        return join_lines(filter(None, itertools.chain([self.head], first, rest, [self.tail])))


@dataclass(frozen=True)
class BinaryFormat:
    """A format that needs all rows. A worker stores them as JSON first (docs/architecture.md)."""

    encode: Callable[[Iterator[Row]], Iterator[bytes]]


Format = TextFormat | BinaryFormat


@dataclass(frozen=True)
class Document:
    """The content of a file, its format and its name."""

    sections: Sequence[Section]
    format: Format
    content_type: str
    file_name: str

    def iter_rows(self) -> Iterator[Row]:
        for section in self.sections:
            yield from section.iter_rows(0, MAX_ID)

    def iter_file(self) -> Iterator[bytes]:
        """Yield the chunks of the file; each section is read by one statement."""
        return self.format.encode(self.iter_rows())

    def count_rows(self) -> int:
        return sum(section.queryset.count() for section in self.sections)


class Piece(NamedTuple):
    """Rows of a section, and the position after them."""

    rows: Iterator[Row]
    n_sections_done: int
    last_item_id: int  # in the next section; 0 at its beginning


def iter_pieces(document: Document, *, n_sections_done: int, last_item_id: int) -> Iterator[Piece]:
    """Yield the pieces after a position. The rows of a piece are read when they are iterated."""
    for number, section in enumerate(document.sections):
        after = last_item_id if number == n_sections_done else 0
        while number >= n_sections_done and after != MAX_ID:
            end = section.find_piece_end(after)
            is_last = end == MAX_ID
            rows = section.iter_rows(after, end)
            yield Piece(rows, number + is_last, 0 if is_last else end)
            after = end


def join_lines(lines: Iterator[str]) -> Iterator[bytes]:
    """Yield the lines joined to chunks of a file, because each chunk costs a system call."""
    while chunk := list(itertools.islice(lines, ROWS_PER_CHUNK)):
        yield "".join(chunk).encode()


def stream_document(document: Document) -> StreamingHttpResponse:
    """Return the response that streams the file."""
    headers: dict[str, object] = {"Content-Disposition": build_disposition(document.file_name)}
    return StreamingHttpResponse(
        document.iter_file(), content_type=document.content_type, headers=headers
    )


def build_disposition(file_name: str) -> str:
    """Return the header Content-Disposition for a file name of ASCII without quotes."""
    return f'attachment; filename="{file_name}"'


# --- Kinds


INVALID_EXPORT = "Export not started."
Filters = dict[str, object]  # the contents of ``ExportRun.filters``


@dataclass(frozen=True)
class ExportKind:
    """A kind of document that workers write.

    ``parse_request``: returns the questions and the filters that the parameters of a request name,
    and raises BadRequest. ``get_last_id``: returns the bound for rows that exist now. The document
    of a run leaves out what is above it.
    """

    formats: Sequence[str]
    parse_request: Callable[[Project, Mapping[str, str]], tuple[list[Question], Filters]]
    get_last_id: Callable[[], int]
    build_document: Callable[[ExportRun, Sequence[Question]], Document]


EXPORT_KINDS: Hook[ExportKind] = Hook("export_kinds")


def build_run_document(run: ExportRun) -> Document:
    """Return the document of a run, with the sections in the order that its position counts.

    Raises KeyError if one of its questions was deleted.
    """
    questions = run.project.questions.in_bulk(run.question_ids)
    ordered = [questions[pk] for pk in run.question_ids]
    return EXPORT_KINDS[run.kind].build_document(run, ordered)
