"""Parquet: a columnar table, read in batches of rows.

Needs pyarrow (requirements-extra.txt).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings

from ratings.files.parquet_file import has_parquet
from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.problems import UnreadableFileError

from .base import CountedLines, TableSource
from .csv import MAX_CELL_LENGTH, MAX_COLUMNS
from .table_end import TableLine

BATCH_ROWS = 1000


class ParquetSource(TableSource):
    """Source of Parquet files (see FileSource)."""

    name = "Parquet"
    extensions = (".parquet",)
    has_encoding = False

    def can_read(self, sample: FileSample) -> bool:
        return sample.kind == "parquet"

    def open_lines(self, path: Path, mapping: ImportMapping) -> ParquetLines:
        return ParquetLines(path)


class ParquetLines(CountedLines):
    """Rows as lines of cells: the names of the columns are line 1, the first row is line 2."""

    def __iter__(self) -> Iterator[TableLine]:
        if not has_parquet():
            raise UnreadableFileError("parquet_missing")
        if not self.path.is_file():
            raise UnreadableFileError("file_missing")
        try:
            yield from self._iter_lines()
        except (UnreadableFileError, GeneratorExit):
            raise
        except Exception:  # pyarrow's errors have no common base class
            raise UnreadableFileError("parquet", line=self.rows_read + 1) from None

    def _iter_lines(self) -> Iterator[TableLine]:
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(self.path) as file:
            _validate_size(file.metadata)
            names = file.schema_arrow.names
            if len(names) > MAX_COLUMNS:
                raise UnreadableFileError(
                    "columns_many", line=1, found=len(names), limit=MAX_COLUMNS
                )
            self.n_rows = file.metadata.num_rows or 1
            yield 1, names
            for batch in file.iter_batches(batch_size=BATCH_ROWS):
                columns = [column.to_pylist() for column in batch.columns]
                for cells in zip(*columns, strict=True):
                    self.rows_read += 1
                    yield self.rows_read + 1, [self._clean_cell(cell) for cell in cells]

    def _clean_cell(self, cell: Any) -> Any:
        if isinstance(cell, str):
            if len(cell) > MAX_CELL_LENGTH:
                raise UnreadableFileError(
                    "cell_long", line=self.rows_read + 1, limit=MAX_CELL_LENGTH
                )
            if "\0" in cell:
                raise UnreadableFileError("nul", line=self.rows_read + 1)
        return None if isinstance(cell, bytes) else cell


def _validate_size(metadata: Any) -> None:
    """Raise UnreadableFileError if the file declares more bytes than IMPORT_MAX_BYTES.

    The size that it declares limits the size of its pages.
    """
    groups = range(metadata.num_row_groups)
    unpacked_bytes = sum(metadata.row_group(group).total_byte_size for group in groups)
    if unpacked_bytes > settings.IMPORT_MAX_BYTES:
        raise UnreadableFileError("too_large", limit=settings.IMPORT_MAX_BYTES)
