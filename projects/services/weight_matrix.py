"""Custom weight matrices: how much two different answers count as agreement.

Rows and columns are in the declared order of the categories. 1 is full agreement, 0 is none.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _


def find_matrix_problem(matrix: Any, size: int, labels: Sequence[str] = ()) -> str | None:
    """Return the problem of the matrix for ``size`` categories, or None.

    The problem has its row and column.
    """
    if message := _find_shape_problem(matrix, size):
        return message
    for i, j in itertools.product(range(size), repeat=2):
        if message := _find_cell_problem(matrix, i, j, labels):
            return message
    return None


def _find_shape_problem(matrix: Any, size: int) -> str | None:
    if not isinstance(matrix, list | tuple) or not all(
        isinstance(row, list | tuple) for row in matrix
    ):
        return "The matrix must be a list of rows of numbers."
    if len(matrix) != size:
        return f"The matrix has {len(matrix)} rows but needs {size}."
    for row_number, row in enumerate(matrix, start=1):
        if len(row) != size:
            return f"Row {row_number} of the matrix has {len(row)} numbers but needs {size}."
    return None


def _find_cell_problem(matrix: Any, i: int, j: int, labels: Sequence[str]) -> str | None:
    cell, mirror = matrix[i][j], matrix[j][i]
    values = {"place": _describe_cell(i, j, labels), "found": _format_cell(cell)}
    if not _is_weight(cell):
        return _("The weight in %(place)s is %(found)s, not a number from 0 to 1.") % values
    if i == j and cell != 1:
        return _("The weight in %(place)s is %(found)s, but the diagonal must be 1.") % values
    if j < i and cell != mirror:
        return _("Not symmetric: %(place)s is %(found)s, but %(mirror)s is %(other)s.") % {
            **values,
            "mirror": _describe_cell(j, i, labels),
            "other": _format_cell(mirror),
        }
    return None


def _is_weight(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool) and 0 <= cell <= 1


def _describe_cell(i: int, j: int, labels: Sequence[str]) -> str:
    if not labels:
        return _("row %(row)s, column %(column)s") % {"row": i + 1, "column": j + 1}
    return _("row %(row)s (%(row_label)s), column %(column)s (%(column_label)s)") % {
        "row": i + 1,
        "row_label": labels[i],
        "column": j + 1,
        "column_label": labels[j],
    }


def _format_cell(cell: Any) -> str:
    if cell is None or cell == "":
        return _("empty")
    if isinstance(cell, float):
        return f"{cell:g}"
    return str(cell)[:40]


def find_order_violation(matrix: Sequence[Sequence[float]], labels: Sequence[str]) -> str | None:
    """Return a message on the first row whose weights contradict the categories' order, or None.

    In such a row, a more distant category agrees more than a nearer one. For ordered scales.
    """
    size = len(matrix)
    for i in range(size):
        for nearer, farther in [
            *((j, j + 1) for j in range(i, size - 1)),
            *((j, j - 1) for j in range(i, 0, -1)),
        ]:
            if matrix[i][farther] > matrix[i][nearer]:
                return _(
                    "“%(one)s” agrees more with “%(farther)s” than with “%(nearer)s” between "
                    "them. Is this intended?"
                ) % {"one": labels[i], "farther": labels[farther], "nearer": labels[nearer]}
    return None


def rearrange_matrix(matrix: list[list[float]], sources: Sequence[int | None]) -> list[list[float]]:
    """Return the matrix in a new order of categories; ``sources`` are their old positions.

    ``sources[i]`` is the old index of category i, None for a new one. A new category agrees with
    itself alone: 1 on the diagonal, 0 elsewhere.
    """
    return [
        [
            1.0
            if i == j
            else 0.0
            if source_row is None or source_column is None
            else float(matrix[source_row][source_column])
            for j, source_column in enumerate(sources)
        ]
        for i, source_row in enumerate(sources)
    ]


def build_rank_matrix(weights: str, size: int) -> list[list[float]]:
    """Return the matrix of the weights none, linear or quadratic, by rank; (size, size)."""
    power = {"none": 0, "linear": 1, "quadratic": 2}[weights]
    steps = max(size - 1, 1)
    return [
        [1.0 if i == j else 1 - (abs(i - j) / steps) ** power for j in range(size)]
        for i in range(size)
    ]
