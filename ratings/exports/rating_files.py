"""The file of current ratings as CSV, JSON Lines or Parquet."""

from __future__ import annotations

import datetime
import functools
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from django.db.models import CharField, Func, Max, QuerySet
from django.utils.text import slugify

from core.api.errors import BadRequest
from core.web.tables import escape_formula
from projects.api.base import get_question
from projects.models import Category, Project, Question, Rater
from ratings.files import parquet_file
from ratings.models import ExportRun, Rating
from ratings.services.judgement import KEY_FIELDS

from . import documents
from .documents import (
    COLUMN_KINDS,
    COLUMNS,
    INVALID_EXPORT,
    OTHER_COLUMNS,
    RATER_COLUMNS,
    TIME_COLUMNS,
    BinaryFormat,
    Document,
    ExportKind,
    Filters,
    Format,
    Section,
    TextFormat,
)

ExportRow = tuple[Any, ...]  # a value for each of COLUMNS


class _TimeAsText(Func):
    """Expression for a time as text in UTC; reading it is faster than building datetime objects."""

    output_field = CharField()
    template = "CAST(%(expressions)s AS text)"  # SQLite: 2026-03-01 09:30:00[.000005]

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        template = "to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')"
        return self.as_sql(compiler, connection, template=template)


class _RaterKeys(dict[int, str]):
    """Raters' keys by id, as they are when the first is used; those of new raters are added later.

    So each rater has one key in the whole file, even if raters are hidden or restored meanwhile.
    """

    def __init__(self, project_ids: set[int]) -> None:
        super().__init__()
        self.raters = Rater.objects.filter(project__in=project_ids)

    def __missing__(self, pk: int) -> str:
        raters = self.raters.filter(pk=pk) if self else self.raters
        keys = dict(raters.values_list("pk", "key"))
        self.update(keys)
        return keys[pk]


def build_sections(questions: Iterable[Question], last_id: int | None = None) -> list[Section]:
    """Return a section of the current ratings of each question, with the columns COLUMNS.

    Times are texts such as 2026-03-01T09:30:00Z, with microseconds if there are any. The order is
    by creation of the item and by the rater's key, so that a project that imports the file exports
    it in the same order. ``last_id``: leave out ratings with a larger id (None: none).
    """
    questions = list(questions)
    keys = _RaterKeys({question.project_id for question in questions})
    sections = []
    for question in questions:
        ratings = Rating.objects.current().filter(question=question)
        if last_id is not None:
            ratings = ratings.filter(pk__lte=last_id)
        iter_rows = functools.partial(_iter_rows, question=question, ratings=ratings, keys=keys)
        sections.append(Section(ratings, iter_rows))
    return sections


def _iter_rows(
    after: int, end: int, *, question: Question, ratings: QuerySet[Rating], keys: _RaterKeys
) -> Iterator[ExportRow]:
    """Yield the rows of the items with ids above ``after``, up to and including ``end``.

    They are ordered by item id, then by the rater's key.
    """
    labels = dict(Category.objects.filter(question=question).values_list("code", "label"))
    other_values = [RATER_COLUMNS.get(name, name) for name in OTHER_COLUMNS]
    times = [_TimeAsText(name) for name in TIME_COLUMNS]
    columns: list[Any] = ["item__key", "rater_id", "code", *times, *other_values]
    rows = ratings.filter(item_id__gt=after, item_id__lte=end).order_by("item_id", "rater_id")
    value_rows = rows.values_list(*columns).iterator(chunk_size=documents.ROWS_PER_CHUNK)
    for _item, item_rows in itertools.groupby(value_rows, key=itemgetter(0)):
        by_key = sorted(item_rows, key=lambda row: keys[row[1]])
        for item, rater, code, rated_at, changed_at, *other_values in by_key:
            head = (item, keys[rater], question.key, labels[code])
            yield (*head, _format_time(rated_at), _format_time(changed_at), *other_values)


def _format_time(text: str) -> str:
    return text.replace(" ", "T").removesuffix(".000000") + "Z"


# --- CSV


CSV_HEADER = ",".join(COLUMNS) + "\r\n"


def iter_csv_lines(rows: Iterable[ExportRow]) -> Iterator[str]:
    cached_cell = functools.lru_cache(maxsize=50_000)(format_cell)
    for item, rater, question, label, rated_at, changed_at, *other_values in rows:
        line = (
            f"{cached_cell(item)},{cached_cell(rater)},{cached_cell(question)}"
            f",{cached_cell(label)},{rated_at},{changed_at}"
        )
        for value in other_values:
            line += "," if value in (None, "") else f",{_format_uncached_cell(value)}"
        yield f"{line}\r\n"


def _format_uncached_cell(value: str | float) -> str:
    """Format a cell without caching it as keys are, because most comments occur once."""
    return format_cell(value) if isinstance(value, str) else str(value)


def format_cell(text: str) -> str:
    """Return a CSV cell that no spreadsheet runs as a formula, quoted where needed."""
    escaped = escape_formula(text)
    if (
        escaped != text
        or any(character in escaped for character in ',"\r\n;\t|')
        or escaped != escaped.strip()
    ):
        return '"' + escaped.replace('"', '""') + '"'
    return escaped


# --- JSON Lines


def iter_json_lines(rows: Iterable[ExportRow]) -> Iterator[str]:
    encode = json.JSONEncoder(ensure_ascii=False).encode
    encode_cached = functools.lru_cache(maxsize=50_000)(encode)
    for item, rater, question, label, rated_at, changed_at, *other_values in rows:
        line = (
            f'"item":{encode_cached(item)},"rater":{encode_cached(rater)}'
            f',"question":{encode_cached(question)},"label":{encode_cached(label)}'
            f',"rated_at":"{rated_at}","changed_at":"{changed_at}"'
        )
        for name, value in zip(OTHER_COLUMNS, other_values, strict=True):
            # Comments are not cached as keys are, because most occur once.
            encoded = encode(value) if value and isinstance(value, str) else encode_cached(value)
            line += f',"{name}":{encoded}'
        yield f"{{{line}}}\n"


# --- Parquet


def iter_parquet_chunks(rows: Iterable[ExportRow]) -> Iterator[bytes]:
    """Yield the chunks of a Parquet file of the rows, with the column types of COLUMN_KINDS.

    Times are timestamps in UTC with microseconds; numbers can be null.
    """
    import pyarrow

    arrow_types = {
        "text": pyarrow.string(),
        "time": pyarrow.timestamp("us", tz="UTC"),
        "number": pyarrow.int32(),
        "decimal": pyarrow.float64(),
    }
    fields = [(name, arrow_types[kind]) for name, kind in COLUMN_KINDS.items()]
    parse_time = datetime.datetime.fromisoformat
    n_keys = len(KEY_FIELDS)
    n_texts = n_keys + len(TIME_COLUMNS)
    converted_rows = (
        (*row[:n_keys], *map(parse_time, row[n_keys:n_texts]), *row[n_texts:]) for row in rows
    )
    yield from parquet_file.iter_parquet(converted_rows, fields)


# File format -> (how its rows become bytes, content type).
FORMATS: dict[str, tuple[Format, str]] = {
    "csv": (TextFormat(iter_csv_lines, head=CSV_HEADER), "text/csv; charset=utf-8"),
    "jsonl": (TextFormat(iter_json_lines), "application/jsonl"),
    "parquet": (BinaryFormat(iter_parquet_chunks), "application/vnd.apache.parquet"),
}


def build_ratings_document(
    project: Project, questions: Sequence[Question], kind: str, *, last_id: int | None = None
) -> Document:
    """Return the file of the questions' ratings in a format of FORMATS.

    ``last_id``: leave out ratings with a larger id (None: none).
    """
    file_format, content_type = FORMATS[kind]
    file_name = f"{slugify(project.name) or 'project'}-{project.pk}.{kind}"
    return Document(build_sections(questions, last_id), file_format, content_type, file_name)


def _parse_rating_request(
    project: Project, parameters: Mapping[str, str]
) -> tuple[list[Question], Filters]:
    unknown = sorted(set(parameters) - {"question"})
    if unknown:
        fields = dict.fromkeys(unknown, "only for labels")
        raise BadRequest(INVALID_EXPORT, fields=fields)
    if "question" in parameters:
        return [get_question(project, parameters["question"])], {}
    return list(project.questions.all()), {}


def _get_last_rating_id() -> int:
    return Rating.objects.aggregate(last_id=Max("pk"))["last_id"] or 0


def _build_run_document(run: ExportRun, questions: Sequence[Question]) -> Document:
    return build_ratings_document(run.project, questions, run.file_format, last_id=run.last_id)


RATINGS = ExportKind(
    formats=list(FORMATS),
    parse_request=_parse_rating_request,
    get_last_id=_get_last_rating_id,
    build_document=_build_run_document,
)
