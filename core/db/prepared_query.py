"""Queries that every request makes, built once for a process, and the objects of their rows.

The ORM takes longer to build such a query than the database to answer it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from django.db import connection, models
from django.db.models import Expression, Field, IntegerField, QuerySet


class Parameter(Expression):
    """A placeholder in a query, for a value that is known when the query is executed."""

    def __init__(self, name: str, output_field: Field[Any, Any] | None = None) -> None:
        super().__init__(output_field=output_field or IntegerField())
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, Any]:
        return "%s", [self]


class PreparedQuery:
    """The SQL of a query with parameters."""

    def __init__(self, query: QuerySet[Any, Any]) -> None:
        self.sql, self._values = query.query.sql_with_params()

    def bind(self, **values: Any) -> list[Any]:
        """Return the values of the SQL, with ``values`` in the place of the parameters."""
        return [
            values[value.name] if isinstance(value, Parameter) else value for value in self._values
        ]


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
