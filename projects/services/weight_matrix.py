"""The one check of a question's own weight matrix: how much of an agreement two different answers
count.

Rows and columns stand in the declared order of the categories. 1 is full agreement, 0 is none.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _


def problem(matrix: Any, size: int, labels: Sequence[str] = ()) -> str | None:
    """What is wrong with the matrix of ``size`` categories, naming row and column; None when it may
    be used."""
    if wrong := _shape_problem(matrix, size):
        return wrong
    for i, j in itertools.product(range(size), repeat=2):
        if wrong := _cell_problem(matrix, i, j, labels):
            return wrong
    return None


def _shape_problem(matrix: Any, size: int) -> str | None:
    if not isinstance(matrix, list | tuple) or not all(
        isinstance(row, list | tuple) for row in matrix
    ):
        return _("The matrix is a list of rows, and each row a list of numbers.")
    if len(matrix) != size:
        return _("The matrix has %(rows)s rows; %(size)s are needed, one for each category.") % {
            "rows": len(matrix),
            "size": size,
        }
    for number, row in enumerate(matrix, start=1):
        if len(row) != size:
            return _(
                "Row %(row)s of the matrix has %(cells)s numbers; %(size)s are needed, one "
                "for each category."
            ) % {
                "row": number,
                "cells": len(row),
                "size": size,
            }
    return None


def _cell_problem(matrix: Any, i: int, j: int, labels: Sequence[str]) -> str | None:
    cell, mirror = matrix[i][j], matrix[j][i]
    where = {"place": _place(i, j, labels), "found": _shown(cell)}
    if not _is_weight(cell):
        return _("The weight of %(place)s is %(found)s: a number from 0 to 1 is needed.") % where
    if i == j and cell != 1:
        return (
            _(
                "The weight of %(place)s is %(found)s: equal answers agree fully, so the "
                "diagonal holds 1."
            )
            % where
        )
    if j < i and cell != mirror:
        return _(
            "The matrix is not symmetric: %(place)s is %(found)s, but %(mirror)s is %(other)s."
        ) % {
            **where,
            "mirror": _place(j, i, labels),
            "other": _shown(mirror),
        }
    return None


def _is_weight(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool) and 0 <= cell <= 1


def _place(i: int, j: int, labels: Sequence[str]) -> str:
    if not labels:
        return _("row %(row)s, column %(column)s") % {"row": i + 1, "column": j + 1}
    return _("row %(row)s (%(row_label)s), column %(column)s (%(column_label)s)") % {
        "row": i + 1,
        "row_label": labels[i],
        "column": j + 1,
        "column_label": labels[j],
    }


def _shown(cell: Any) -> str:
    if cell is None or cell == "":
        return _("empty")
    if isinstance(cell, float):
        return f"{cell:g}"
    return str(cell)[:40]


def rises(matrix: Sequence[Sequence[float]], labels: Sequence[str]) -> str | None:
    """On an ordered scale: the first place where an answer farther away agrees more than a nearer
    one; None where there is none."""
    size = len(matrix)
    for i in range(size):
        for nearer, farther in [
            *((j, j + 1) for j in range(i, size - 1)),
            *((j, j - 1) for j in range(i, 0, -1)),
        ]:
            if matrix[i][farther] > matrix[i][nearer]:
                return _(
                    "“%(one)s” agrees more with “%(farther)s” than with “%(nearer)s”, which lies "
                    "between them. Is that meant?"
                ) % {"one": labels[i], "farther": labels[farther], "nearer": labels[nearer]}
    return None


def rearranged(matrix: list[list[float]], sources: Sequence[int | None]) -> list[list[float]]:
    """The matrix after its categories moved: ``sources[i]`` is the old place of category i, None
    for a new one.

    A new category starts as "no credit for anything else": 1 on the diagonal, 0 beside it.
    """
    return [
        [
            1.0 if i == j else 0.0 if a is None or b is None else float(matrix[a][b])
            for j, b in enumerate(sources)
        ]
        for i, a in enumerate(sources)
    ]


def usual(weights: str, size: int) -> list[list[float]]:
    """The matrix behind the choices none, linear and quadratic, by rank: what an editor shows and
    begins with."""
    power = {"none": 0, "linear": 1, "quadratic": 2}[weights]
    steps = max(size - 1, 1)
    return [
        [1.0 if i == j else 1 - (abs(i - j) / steps) ** power for j in range(size)]
        for i in range(size)
    ]
