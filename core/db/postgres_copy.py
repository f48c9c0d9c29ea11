"""Format rows as text for PostgreSQL's COPY."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

CHUNK_ROWS = 10_000  # rows formatted as text at a time


def copy_rows(cursor: Any, into: str, rows: Sequence[Sequence[Any]]) -> None:
    """Write rows of equal length into a PostgreSQL table by COPY.

    ``into`` is its name and columns.

    Values are formatted a column at a time instead of with `copy.write_row`, which takes as long
    for a row as everything else that Python does with it.
    """
    with cursor.copy(f"COPY {into} FROM STDIN") as copy:
        for start in range(0, len(rows), CHUNK_ROWS):
            columns = map(_format_column, zip(*rows[start : start + CHUNK_ROWS], strict=True))
            copy.write(
                "".join([f"{line}\n" for line in map("\t".join, zip(*columns, strict=True))])
            )


def _format_column(values: Sequence[Any]) -> list[str]:
    """Return a column's values as COPY reads them.

    Raises TypeError for a type that no table here has.
    """
    first_value = values[0]
    # Many columns hold one value in all rows: the question, the time, an empty comment.
    if all(map(is_, values, itertools.repeat(first_value))):
        return [_FORMATTERS[type(first_value)](first_value)] * len(values)
    return [_FORMATTERS[type(value)](value) for value in values]


def _escape(text: str) -> str:
    return text.translate(_ESCAPES) if _SPECIAL.search(text) else text


_SPECIAL = re.compile(r"[\\\t\n\r]")
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


class _CopyFormatters(dict[type, Callable[[Any], str]]):
    """Map each type to the function that formats its values for COPY.

    Enumerations use their base type.
    """

    def __missing__(self, value_type: type) -> Callable[[Any], str]:
        for base in value_type.__mro__[1:]:
            if base in self:
                self[value_type] = self[base]
                return self[value_type]
        raise TypeError(f"COPY cannot format {value_type.__name__}")


_FORMATTERS = _CopyFormatters(
    {
        type(None): lambda _none: r"\N",
        bool: str,
        int: str,
        float: repr,
        str: _escape,
        bytes: lambda value: rf"\\x{value.hex()}",
        datetime.date: datetime.date.isoformat,
        datetime.datetime: datetime.datetime.isoformat,
    }
)
