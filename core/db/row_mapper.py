"""Build model objects from rows of plain SQL.

For queries that every request makes: the ORM takes longer to build such a query than the database
takes to answer it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from django.db import connection, models

ModelT = TypeVar("ModelT", bound=models.Model)


class RowMapper(Generic[ModelT]):
    """Map rows of plain SQL to model objects, with all fields or the named ones.

    Other fields are deferred.
    """

    def __init__(self, model: type[ModelT], *names: str) -> None:
        self._model = model
        self._fields = [
            field for field in model._meta.concrete_fields if not names or field.attname in names
        ]
        self._names = [field.attname for field in self._fields]
        self._converters = functools.cache(self._list_converters)

    def build_select_list(self, table: str) -> str:
        """Return the columns for a SELECT, from the table with this alias."""
        return ", ".join(f'{table}."{field.column}"' for field in self._fields)

    def build(self, values: Sequence[Any]) -> ModelT:
        """Return the model object of one row of these columns."""
        converted = list(values)
        for position, column, convert in self._converters(connection.vendor):
            converted[position] = convert(converted[position], column, connection)
        return self._model.from_db(connection.alias, self._names, converted)

    def _list_converters(self, vendor: str) -> list[tuple[int, Any, Any]]:
        """List (position of a value, its column, converter) of the fields that need conversion.

        A converter turns the database's value into Python's. ``vendor`` is only the key of the
        cache.
        """
        columns = [(position, field.cached_col) for position, field in enumerate(self._fields)]
        return [
            (position, column, convert)
            for position, column in columns
            for convert in (
                *connection.ops.get_db_converters(column),
                *column.get_db_converters(connection),
            )
        ]
