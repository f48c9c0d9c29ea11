"""Model objects made of rows that plain SQL brought, for what every request asks: the ORM takes
longer to build such a query than the database to answer it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from django.db import connection, models

Made = TypeVar("Made", bound=models.Model)


class Row(Generic[Made]):
    """The columns of a model's fields (all of them, or those named; the others are fetched when
    somebody asks)."""

    def __init__(self, model: type[Made], *names: str) -> None:
        self._model = model
        self._fields = [
            field for field in model._meta.concrete_fields if not names or field.attname in names
        ]
        self._names = [field.attname for field in self._fields]
        self._converters = functools.cache(self._find_converters)

    def columns(self, table: str) -> str:
        """What a SELECT names, of the table with this alias."""
        return ", ".join(f'{table}."{field.column}"' for field in self._fields)

    def made(self, values: Sequence[Any]) -> Made:
        """The object of one row of these columns."""
        found = list(values)
        for place, column, convert in self._converters(connection.vendor):
            found[place] = convert(found[place], column, connection)
        return self._model.from_db(connection.alias, self._names, found)

    def _find_converters(self, vendor: str) -> list[tuple[int, Any, Any]]:
        """(place of a value, its column, how this database's value becomes Python's)."""
        columns = [(place, field.cached_col) for place, field in enumerate(self._fields)]
        return [
            (place, column, convert)
            for place, column in columns
            for convert in (
                *connection.ops.get_db_converters(column),
                *column.get_db_converters(connection),
            )
        ]
