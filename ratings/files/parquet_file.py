"""Write Parquet files if pyarrow (requirements-extra.txt) is installed."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext as _

ROWS_PER_GROUP = 20_000  # rows of a row group


def has_parquet() -> bool:
    """Return whether pyarrow is installed, without importing it."""
    return importlib.util.find_spec("pyarrow") is not None


def build_missing_response() -> HttpResponse:
    """Return the response to a browser's request for a Parquet file if pyarrow is missing."""
    message = _("Ask an administrator to install pyarrow for Parquet.")
    return HttpResponse(message, status=501, content_type="text/plain; charset=utf-8")


def require_parquet_support(kind: str) -> None:
    """Raise BadRequest if an API request asks for a Parquet file and pyarrow is missing."""
    if kind == "parquet" and not has_parquet():
        from core.api.errors import BadRequest  # commands that read files need no REST framework

        raise BadRequest(
            "Parquet is not available on this server.",
            fields={
                "format": "parquet needs pyarrow on the server: pip install -r"
                " requirements-extra.txt; choose csv or jsonl"
            },
        )


class ChunkBuffer:
    """Writable file in memory; the written bytes are taken from it in chunks."""

    closed = False

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.position = 0

    def write(self, data: Any) -> int:
        self.chunks.append(bytes(data))
        self.position += len(self.chunks[-1])
        return len(self.chunks[-1])

    def tell(self) -> int:
        return self.position

    def flush(self) -> None:
        """Do nothing: no data are buffered."""

    def close(self) -> None:
        self.closed = True

    def take_chunks(self) -> bytes:
        data = b"".join(self.chunks)
        self.chunks.clear()
        return data


def iter_parquet(
    rows: Iterator[Sequence[Any]], fields: Sequence[tuple[str, Any]]
) -> Iterator[bytes]:
    """Yield a Parquet file of the rows in chunks; ``fields`` are (name, Arrow type) per column."""
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema(list(fields))
    buffer = ChunkBuffer()
    file = pyarrow.PythonFile(buffer, mode="w")
    with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := list(itertools.islice(rows, ROWS_PER_GROUP)):
            columns = []
            for values, kind in zip(zip(*group, strict=True), schema.types, strict=True):
                columns.append(pyarrow.array(values, kind))
            writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))
            yield buffer.take_chunks()
    yield buffer.take_chunks()
