"""Export of current ratings as streamed CSV, JSON Lines or Parquet, for the page and the API."""

from __future__ import annotations

import datetime
import functools
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Case, CharField, F, Func, When
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils.text import slugify
from django.views.decorators.http import require_GET

from core import security_log
from core.web.tables import escape_formula
from projects.models import Category, Member, Project, Question, Rater
from projects.permissions import get_project
from ratings.files import parquet_file
from ratings.models import Rating
from ratings.services.judgement import FIELDS, KEY_FIELDS

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
ROWS_PER_CHUNK = 2_000  # rows that are fetched at a time and sent as one chunk

ExportRow = tuple[Any, ...]  # a value for each of COLUMNS


class _TimeAsText(Func):
    """Expression for a time as text in UTC; reading it is faster than building datetime objects."""

    output_field = CharField()
    template = "CAST(%(expressions)s AS text)"  # SQLite: 2026-03-01 09:30:00[.000005]

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        template = "to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')"
        return self.as_sql(compiler, connection, template=template)


class _RaterKeys(dict[int, str]):
    """Raters' keys by id at the start of the export; those of new raters are looked up later.

    So each rater has one key in the whole file, even if raters are hidden or restored meanwhile.
    """

    def __init__(self, project_ids: set[int]) -> None:
        raters = Rater.objects.filter(project__in=project_ids)
        super().__init__(raters.values_list("pk", "key"))

    def __missing__(self, pk: int) -> str:
        self[pk] = key = Rater.objects.values_list("key", flat=True).get(pk=pk)
        return key


def iter_rows(questions: Iterable[Question]) -> Iterator[ExportRow]:
    """Yield the current ratings as rows with the columns COLUMNS.

    Times are texts such as 2026-03-01T09:30:00Z, with microseconds if there are any. The order is
    by question, by creation of the item, and by the rater's key, so that a project that imports the
    file exports it in the same order.
    """
    questions = list(questions)
    keys = _RaterKeys({question.project_id for question in questions})
    for question in questions:
        labels = dict(Category.objects.filter(question=question).values_list("code", "label"))
        other_values = [RATER_COLUMNS.get(name, name) for name in OTHER_COLUMNS]
        times = [_TimeAsText(name) for name in TIME_COLUMNS]
        columns: list[Any] = ["item__key", "rater_id", "code", *times, *other_values]
        current_ratings = Rating.objects.current().filter(question=question)
        ratings = current_ratings.order_by("item_id", "rater_id").values_list(*columns)
        value_rows = ratings.iterator(chunk_size=ROWS_PER_CHUNK)
        for _item, item_rows in itertools.groupby(value_rows, key=itemgetter(0)):
            by_key = sorted(item_rows, key=lambda row: keys[row[1]])
            for item, rater, code, rated_at, changed_at, *other_values in by_key:
                head = (item, keys[rater], question.key, labels[code])
                yield (*head, _format_time(rated_at), _format_time(changed_at), *other_values)


def _format_time(text: str) -> str:
    return text.replace(" ", "T").removesuffix(".000000") + "Z"


# --- CSV


def iter_csv(rows: Iterable[ExportRow]) -> Iterator[bytes]:
    return join_lines(_iter_csv_lines(rows))


def _iter_csv_lines(rows: Iterable[ExportRow]) -> Iterator[str]:
    yield ",".join(COLUMNS) + "\r\n"
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


def iter_jsonl(rows: Iterable[ExportRow]) -> Iterator[bytes]:
    return join_lines(_iter_json_lines(rows))


def _iter_json_lines(rows: Iterable[ExportRow]) -> Iterator[str]:
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


def join_lines(lines: Iterator[str]) -> Iterator[bytes]:
    """Yield the lines joined to chunks of the response, because each chunk costs a system call."""
    while chunk := list(itertools.islice(lines, ROWS_PER_CHUNK)):
        yield "".join(chunk).encode()


def iter_parquet_rows(rows: Iterable[ExportRow]) -> Iterator[bytes]:
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


# File format -> (function that creates it, content type).
FORMATS: dict[str, tuple[Callable[[Iterable[ExportRow]], Iterator[bytes]], str]] = {
    "csv": (iter_csv, "text/csv; charset=utf-8"),
    "jsonl": (iter_jsonl, "application/jsonl"),
    "parquet": (iter_parquet_rows, "application/vnd.apache.parquet"),
}


@login_required
@require_GET
def export_ratings(request: HttpRequest, project_id: int, kind: str) -> HttpResponseBase:
    """Stream a file of the project's current ratings in the requested format."""
    project, questions = _get_questions(request, project_id)
    if kind == "parquet" and not parquet_file.has_parquet():
        return parquet_file.build_missing_response()
    return stream_ratings(project, questions, kind)


def stream_ratings(
    project: Project, questions: Sequence[Question], kind: str
) -> StreamingHttpResponse:
    """Return the response that streams the ratings of the questions in a format of FORMATS."""
    security_log.log_event("export", exported="ratings", kind=kind)
    iter_file, content_type = FORMATS[kind]
    file_name = f"{slugify(project.name) or 'project'}-{project.pk}.{kind}"
    headers: dict[str, object] = {"Content-Disposition": f'attachment; filename="{file_name}"'}
    return StreamingHttpResponse(
        iter_file(iter_rows(questions)), content_type=content_type, headers=headers
    )


def _get_questions(request: HttpRequest, project_id: int) -> tuple[Project, list[Question]]:
    """Return the project and its questions; with ``?question=KEY``, only this question."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    key = request.GET.get("question")
    if key is None:
        return project, list(project.questions.all())
    return project, [get_object_or_404(project.questions, key=key)]
