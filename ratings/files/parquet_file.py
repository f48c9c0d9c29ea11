"""Parquet, where pyarrow (requirements-extra.txt) is installed."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext as _

ROWS_OF_A_GROUP = 20_000  # columns are packed group by group


def has_parquet() -> bool:
    """Whether pyarrow is installed; it is not loaded by asking."""
    return importlib.util.find_spec("pyarrow") is not None


def missing() -> HttpResponse:
    """The answer to who asks for a Parquet file where it is not."""
    said = _(
        "Parquet files need pyarrow on the server: pip install -r requirements-extra.txt,"
        " then start it again."
    )
    return HttpResponse(said, status=501, content_type="text/plain; charset=utf-8")


class Pieces:
    """A file to write into, whose content is taken away as it comes."""

    closed = False

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.place = 0

    def write(self, data: Any) -> int:
        self.pieces.append(bytes(data))
        self.place += len(self.pieces[-1])
        return len(self.pieces[-1])

    def tell(self) -> int:
        return self.place

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        self.closed = True

    def take(self) -> bytes:
        taken = b"".join(self.pieces)
        self.pieces.clear()
        return taken


def pieces_of(rows: Iterator[Sequence[Any]], fields: Sequence[tuple[str, Any]]) -> Iterator[bytes]:
    """A file of these rows, piece by piece; ``fields``: name and Arrow type of each column."""
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema(list(fields))
    pieces = Pieces()
    file = pyarrow.PythonFile(pieces, mode="w")
    with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while some := list(itertools.islice(rows, ROWS_OF_A_GROUP)):
            columns = []
            for values, kind in zip(zip(*some, strict=True), schema.types, strict=True):
                columns.append(pyarrow.array(values, kind))
            writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))
            yield pieces.take()
    yield pieces.take()
