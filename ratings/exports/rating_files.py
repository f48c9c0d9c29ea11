"""The standing ratings as CSV, JSON Lines or Parquet: pieces of a file, made while it is read."""

from __future__ import annotations

import datetime
import functools
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any

from django.db.models import Case, CharField, F, Func, When

from projects.models import Category, Question, Rater
from ratings.files import parquet_file
from ratings.files.formula_escaping import guard
from ratings.models import Rating
from ratings.services.judgement import FIELDS, KEYS

# Of the rater, where it is a model: one that nobody named is called by its key, so that who reads
# the file knows models from people.
MODEL = Case(
    When(rater__kind=Rater.Kind.MODEL, rater__model="", then=F("rater__key")),
    default=F("rater__model"),
)
OF_RATER = {"model": MODEL, "prompt_version": F("rater__prompt_version")}
KIND_OF = {field.name: field.kind for field in FIELDS if field.exported} | dict.fromkeys(
    OF_RATER, "text"
)
NAMES = tuple(KIND_OF)
# Item, rater, question, label, and rated_at come first; the others are texts and numbers.
OTHERS = NAMES[len(KEYS) + 1 :]
ROWS_AT_A_TIME = 2_000  # are fetched, and sent as one piece

Row = tuple[Any, ...]  # a value for each of NAMES


class _InWords(Func):
    """A time as its database writes it, in UTC: to make a datetime of each takes longer than all
    the rest of a line."""

    output_field = CharField()
    template = "CAST(%(expressions)s AS text)"  # SQLite: 2026-03-01 09:30:00[.000005]

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        template = "to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')"
        return self.as_sql(compiler, connection, template=template)


class _Keys(dict[int, str]):
    """Raters' keys as they were when the file was begun: a rater whose name is hidden, or shown
    again, meanwhile stands in it under one key. Who joins meanwhile is asked for."""

    def __init__(self, project_ids: set[int]) -> None:
        raters = Rater.objects.filter(project__in=project_ids)
        super().__init__(raters.values_list("pk", "key"))

    def __missing__(self, pk: int) -> str:
        self[pk] = key = Rater.objects.values_list("key", flat=True).get(pk=pk)
        return key


def rows(questions: Iterable[Question]) -> Iterator[Row]:
    """NAMES of the ratings that stand; plain values, no objects, some at a time. Times are written
    as 2026-03-01T09:30:00Z, with microseconds where there are any.

    Question by question and item by item as they were made, and those of an item by their raters'
    keys: what another project imports it exports alike."""
    questions = list(questions)
    keys = _Keys({question.project_id for question in questions})
    for question in questions:
        labels = dict(Category.objects.filter(question=question).values_list("code", "label"))
        others = [OF_RATER.get(name, name) for name in OTHERS]
        columns: list[Any] = ["item__key", "rater_id", "code", _InWords("rated_at"), *others]
        standing = Rating.objects.standing().filter(question=question)
        ratings = standing.order_by("item_id", "rater_id").values_list(*columns)
        found = ratings.iterator(chunk_size=ROWS_AT_A_TIME)
        for _item, of_item in itertools.groupby(found, key=itemgetter(0)):
            by_key = sorted(of_item, key=lambda row: keys[row[1]])
            for item, rater, code, time, *others in by_key:
                moment = time.replace(" ", "T").removesuffix(".000000") + "Z"
                yield (item, keys[rater], question.key, labels[code], moment, *others)


# --- CSV


def csv(found: Iterable[Row]) -> Iterator[bytes]:
    return parcels(_csv_lines(found))


def _csv_lines(found: Iterable[Row]) -> Iterator[str]:
    yield ",".join(NAMES) + "\r\n"
    known = functools.lru_cache(maxsize=50_000)(cell)
    for item, rater, question, label, rated_at, *others in found:
        line = f"{known(item)},{known(rater)},{known(question)},{known(label)},{rated_at}"
        for value in others:
            line += f",{_other_cell(value)}" if value else ","
        yield f"{line}\r\n"


def _other_cell(value: str | int) -> str:
    """A comment may be seen once: it is not remembered as keys are."""
    return cell(value) if isinstance(value, str) else str(value)


def cell(text: str) -> str:
    """A cell that no spreadsheet runs as a formula, quoted where its text could be taken for
    something else."""
    safe = guard(text)
    if safe != text or any(character in safe for character in ',"\r\n;\t|') or safe != safe.strip():
        return '"' + safe.replace('"', '""') + '"'
    return safe


# --- JSON Lines


def jsonl(found: Iterable[Row]) -> Iterator[bytes]:
    return parcels(_json_lines(found))


def _json_lines(found: Iterable[Row]) -> Iterator[str]:
    write = json.JSONEncoder(ensure_ascii=False).encode
    text = functools.lru_cache(maxsize=50_000)(write)
    for item, rater, question, label, rated_at, *others in found:
        line = f'"item":{text(item)},"rater":{text(rater)},"question":{text(question)}'
        line += f',"label":{text(label)},"rated_at":"{rated_at}"'
        for name, value in zip(OTHERS, others, strict=True):
            # A comment may be seen once: it is not remembered as keys are.
            written = write(value) if value and isinstance(value, str) else text(value)
            line += f',"{name}":{written}'
        yield f"{{{line}}}\n"


def parcels(lines: Iterator[str]) -> Iterator[bytes]:
    """Many lines in one piece of the answer: a piece costs a system call."""
    while some := list(itertools.islice(lines, ROWS_AT_A_TIME)):
        yield "".join(some).encode()


def parquet(found: Iterable[Row]) -> Iterator[bytes]:
    """Texts, but for ``rated_at``, a time in UTC with microseconds, and ``guidelines``, a number or
    null."""
    import pyarrow

    of_kind = {
        "text": pyarrow.string(),
        "time": pyarrow.timestamp("us", tz="UTC"),
        "number": pyarrow.int32(),
    }
    fields = [(name, of_kind[kind]) for name, kind in KIND_OF.items()]
    moment = datetime.datetime.fromisoformat
    time_at = NAMES.index("rated_at")
    source = ((*row[:time_at], moment(row[time_at]), *row[time_at + 1 :]) for row in found)
    yield from parquet_file.pieces_of(source, fields)


# What a file may be -> (how it is made, its type).
KINDS: dict[str, tuple[Callable[[Iterable[Row]], Iterator[bytes]], str]] = {
    "csv": (csv, "text/csv; charset=utf-8"),
    "jsonl": (jsonl, "application/jsonl"),
    "parquet": (parquet, "application/vnd.apache.parquet"),
}
