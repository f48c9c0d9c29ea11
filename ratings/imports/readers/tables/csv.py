"""CSV: plain text, one record a line, in any encoding and with any usual delimiter."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

from django.utils.translation import gettext_lazy as _

from ratings.imports.decoding.encodings import PROVISIONAL_ENCODING
from ratings.imports.decoding.sample import Sample
from ratings.imports.mapping.columns import Look
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.problems import Unreadable

from .base import SAMPLE_ROWS, TableSource
from .csv_records import DELIMITERS, Records

# Troubles that another delimiter may not have.
BY_DELIMITER = ("cell_long", "columns_many", "quote_open", "quote_wrong")


class Csv(TableSource):
    """The source of CSV files (see Source)."""

    name = _("table: CSV")
    endings = (".csv", ".tsv", ".txt")
    encodings = True
    delimiters = True

    def recognises(self, sample: Sample) -> bool:
        return sample.kind == "text"

    def lines(self, path: Path, chosen: Mapping) -> Records:
        encoding = chosen.encoding or PROVISIONAL_ENCODING
        return Records(path, encoding=encoding, delimiter=chosen.delimiter)

    def look(self, path: Path, chosen: Mapping) -> Look:
        """The delimiter is guessed where none is chosen."""
        encoding = chosen.encoding or PROVISIONAL_ENCODING
        delimiter = chosen.delimiter or guess_delimiter(path, encoding=encoding)
        look = super().look(path, dataclasses.replace(chosen, delimiter=delimiter))
        if len(look.names) == 1:
            raise Unreadable("one_column", line=1)
        return dataclasses.replace(look, delimiter=delimiter)


def guess_delimiter(path: Path, *, encoding: str) -> str:
    """The delimiter that splits the first rows into most columns, alike in every row."""
    best = (0.0, 0, "")
    trouble: Unreadable | None = None
    for delimiter in DELIMITERS:
        try:
            records = Records(path, encoding=encoding, delimiter=delimiter)
            rows = list(itertools.islice(records, SAMPLE_ROWS + 1))
        except Unreadable as error:
            if error.problem.kind not in BY_DELIMITER:
                raise
            trouble = trouble or error
            continue
        widths = [len(cells) for _line, cells in rows]
        if widths and widths[0] > 1:
            alike = sum(width == widths[0] for width in widths) / len(widths)
            best = max(best, (alike, widths[0], delimiter))
    if best[2]:
        return best[2]
    raise trouble or Unreadable("one_column", line=1)
