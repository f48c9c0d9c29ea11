"""Parquet: a table by columns, read some rows at a time. Needs pyarrow (requirements-extra.txt)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from ratings.files.parquet_file import has_parquet
from ratings.imports.decoding.sample import Sample
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.problems import Unreadable
from ratings.imports.readers.tables.rows import Line

from .base import CountedLines, TableSource
from .csv_records import MAX_CELL, MAX_COLUMNS

ROWS_AT_A_TIME = 1000


class Parquet(TableSource):
    """The source of Parquet files (see Source)."""

    name = _("table: Parquet")
    endings = (".parquet",)
    encodings = False

    def recognises(self, sample: Sample) -> bool:
        return sample.kind == "parquet"

    def lines(self, path: Path, chosen: Mapping) -> ParquetLines:
        return ParquetLines(path)


class ParquetLines(CountedLines):
    """The rows as lines of cells; a row's line is its number below the names."""

    def __iter__(self) -> Iterator[Line]:
        if not has_parquet():
            raise Unreadable("parquet_missing")
        if not self.path.is_file():
            raise Unreadable("lost")
        try:
            yield from self._lines()
        except (Unreadable, GeneratorExit):
            raise
        except Exception:  # any: pyarrow's errors have no common base
            raise Unreadable("parquet", line=self.rows + 1) from None

    def _lines(self) -> Iterator[Line]:
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(self.path) as file:
            _check_size(file.metadata)
            names = file.schema_arrow.names
            if len(names) > MAX_COLUMNS:
                raise Unreadable("columns_many", line=1, found=len(names), limit=MAX_COLUMNS)
            self.n_rows = file.metadata.num_rows or 1
            yield 1, names
            for batch in file.iter_batches(batch_size=ROWS_AT_A_TIME):
                columns = [column.to_pylist() for column in batch.columns]
                for cells in zip(*columns, strict=True):
                    self.rows += 1
                    yield self.rows + 1, [self._cell(cell) for cell in cells]

    def _cell(self, cell: Any) -> Any:
        if isinstance(cell, str):
            if len(cell) > MAX_CELL:
                raise Unreadable("cell_long", line=self.rows + 1, limit=MAX_CELL)
            if "\0" in cell:
                raise Unreadable("nul", line=self.rows + 1)
        return None if isinstance(cell, bytes) else cell


def _check_size(metadata: Any) -> None:
    """The sizes that the file itself declares; its pages are bounded by them."""
    groups = range(metadata.num_row_groups)
    unpacked = sum(metadata.row_group(group).total_byte_size for group in groups)
    if unpacked > settings.IMPORT_MAX_BYTES:
        raise Unreadable("too_large", limit=settings.IMPORT_MAX_BYTES)
