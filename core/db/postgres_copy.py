"""Rows as text for COPY, by which PostgreSQL takes many at once."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

LINES = 10_000  # rows that are text for COPY at a time


def copy_rows(cursor: Any, into: str, rows: Sequence[Sequence[Any]]) -> None:
    """COPY the rows, all of the same length, into a table of PostgreSQL: ``into`` is its name and
    its columns.

    A column at a time instead of `copy.write_row`: that takes as long for a row as all else that
    Python does with it.
    """
    with cursor.copy(f"COPY {into} FROM STDIN") as copy:
        for start in range(0, len(rows), LINES):
            columns = map(_as_text, zip(*rows[start : start + LINES], strict=True))
            copy.write(
                "".join([f"{line}\n" for line in map("\t".join, zip(*columns, strict=True))])
            )


def _as_text(values: Sequence[Any]) -> list[str]:
    """A column as COPY reads it. Raises TypeError for a type that no table here has."""
    first = values[0]
    # as many columns are: the question, the time, no comment
    if all(map(is_, values, itertools.repeat(first))):
        return [_TEXTS[type(first)](first)] * len(values)
    return [_TEXTS[type(value)](value) for value in values]


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES) if _SPECIAL.search(text) else text


_SPECIAL = re.compile(r"[\\\t\n\r]")
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


class _Texts(dict[type, Callable[[Any], str]]):
    """How a value of a type is written for COPY; of an enumeration's as of what it is made of."""

    def __missing__(self, kind: type) -> Callable[[Any], str]:
        for known in kind.__mro__[1:]:
            if known in self:
                self[kind] = self[known]
                return self[kind]
        raise TypeError(f"COPY is not told of {kind.__name__}")


_TEXTS = _Texts(
    {
        type(None): lambda _none: r"\N",
        bool: str,
        int: str,
        float: repr,
        str: _escaped,
        bytes: lambda value: rf"\\x{value.hex()}",
        datetime.date: datetime.date.isoformat,
        datetime.datetime: datetime.datetime.isoformat,
    }
)
