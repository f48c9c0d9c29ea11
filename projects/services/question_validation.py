"""Validate questions, their categories and weight matrices, for the API, forms and imports.

Rows and columns of a weight matrix are in the declared order of the categories. 1 is full
agreement, 0 is none.
"""

from __future__ import annotations

import itertools
import math
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from core.text import fold_lookalikes, has_control_character, has_invisible_character
from projects.models import Scale, Weights


def find_matrix_problem(matrix: Any, size: int) -> str | None:
    """Return a message about the first invalid part of a weight matrix, or None.

    For an invalid weight, the message names its row and column. ``size``: number of categories,
    which the matrix must have as rows and columns.
    """
    if message := _find_shape_problem(matrix, size):
        return message
    for i, j in itertools.product(range(size), repeat=2):
        if message := _find_cell_problem(matrix, i, j):
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


def _find_cell_problem(matrix: Any, i: int, j: int) -> str | None:
    cell, mirror = matrix[i][j], matrix[j][i]
    values = {"place": _describe_cell(i, j), "found": _format_cell(cell)}
    is_diagonal = i == j
    if not _is_weight(cell) or (is_diagonal and cell != 1):
        required = {"wanted": "1" if is_diagonal else "0–1"}
        return _("The weight in %(place)s must be %(wanted)s, not %(found)s.") % (values | required)
    if j < i and cell != mirror:
        return _("Not symmetric: %(place)s is %(found)s, %(mirror)s %(other)s.") % {
            **values,
            "mirror": _describe_cell(j, i),
            "other": _format_cell(mirror),
        }
    return None


def _is_weight(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool) and 0 <= cell <= 1


def _describe_cell(i: int, j: int) -> str:
    return _("row %(row)s, column %(column)s") % {"row": i + 1, "column": j + 1}


def _format_cell(cell: Any) -> str:
    if cell is None or cell == "":
        return _("empty")
    if isinstance(cell, float):
        return f"{cell:g}"
    return str(cell)[:40]


def find_order_violation(matrix: Sequence[Sequence[float]], labels: Sequence[str]) -> str | None:
    """Return a message if the weights contradict the order of the categories, else None.

    For ordered scales. It names the first category whose weight with a more distant category is
    greater than with a nearer one.
    """
    size = len(matrix)
    for i in range(size):
        for nearer, farther in [
            *((j, j + 1) for j in range(i, size - 1)),
            *((j, j - 1) for j in range(i, 0, -1)),
        ]:
            if matrix[i][farther] > matrix[i][nearer]:
                return _(
                    "Intended? “%(one)s” agrees more with “%(farther)s” than with the nearer "
                    "“%(nearer)s”."
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


def build_weight_matrix(weights: str, size: int) -> list[list[float]]:
    """Build the (size, size) matrix of weights by rank: none, linear or quadratic."""
    power = {"none": 0, "linear": 1, "quadratic": 2}[weights]
    steps = max(size - 1, 1)
    return [
        [1.0 if i == j else 1 - (abs(i - j) / steps) ** power for j in range(size)]
        for i in range(size)
    ]


CategoryProblems = dict[str, dict[str, str]]  # {index from 0: {field: message}}

MAX_QUESTIONS = 50  # per project
MAX_CATEGORIES = 50  # per question
KEY_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
# Keys of the annotation page: undo, skip, comment, flag, guidelines, the list of keys. Categories
# must not use them.
RESERVED_HOTKEYS = frozenset("uscfg?")
DEFAULT_HOTKEYS = (
    "1234567890abdehijklmnopqrtvwxyz"  # for categories without a hotkey, in this order
)
NUMERIC_SCALES = [scale for scale in Scale if scale.numeric]
NON_NEGATIVE_SCALES = [scale for scale in Scale if scale.is_non_negative]


@dataclass(frozen=True, slots=True)
class NewCategory:
    """Label, value and hotkey of a category to create or to change.

    ``value`` is None without a number, ``hotkey`` empty for the default one.
    """

    label: str
    value: float | None = None
    hotkey: str = ""


@dataclass(frozen=True, slots=True)
class NewQuestion:
    """A question to create; ``categories`` in their declared order."""

    key: str
    text: str
    scale: str = Scale.NOMINAL
    weights: str = Weights.NONE
    weight_matrix: list[list[float]] | None = None
    categories: Sequence[NewCategory] = field(default_factory=tuple)


class InvalidQuestions(ValueError):
    """One or more questions are not valid.

    ``problems`` maps the index of a question, as a text, to its problems (see
    ``find_question_problems``).
    """

    def __init__(self, problems: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__("The questions have problems.")
        self.problems = problems


def find_question_problems(question: NewQuestion) -> dict[str, object]:
    """Return {field: message} of a question's problems, empty without any.

    The value for ``categories`` is a message, or {index from 0: {field: message}}.
    """
    problems: dict[str, object] = {}
    if not KEY_PATTERN.fullmatch(question.key):
        problems["key"] = _("At most 64 letters, digits, “_”, “.” or “-”; first a letter or digit.")
    for name, choices in (("scale", Scale), ("weights", Weights)):
        value = getattr(question, name)
        if value not in choices.values:
            problems[name] = f"unknown {name} {value!r}; one of {', '.join(choices.values)}."
    if category_problems := find_category_problems(question.categories, scale=question.scale):
        problems["categories"] = category_problems
    if matrix_problem := _find_matrix_problem(question):
        problems["weight_matrix"] = matrix_problem
    return problems


def find_category_problems(
    categories: Sequence[NewCategory], *, scale: str
) -> CategoryProblems | str | None:
    """Return the problems of a list of categories, None when there are none.

    They are a message about the whole list, or {index from 0: {field: message}}.
    """
    if not 2 <= len(categories) <= MAX_CATEGORIES:
        return _("Enter 2 to %(most)s categories.") % {"most": MAX_CATEGORIES}
    problems: dict[str, dict[str, str]] = {}
    for index, category in enumerate(categories):
        if errors := _find_single_category_problems(category, scale):
            problems[str(index)] = errors
    for name, get_value in _UNIQUE_FIELDS.items():
        for index, first_index in _find_duplicates(
            [get_value(category) for category in categories]
        ):
            duplicate = getattr(categories[index], name)
            problems.setdefault(str(index), {}).setdefault(
                name, f"{duplicate!r} stands at {first_index} already (counted from 0)."
            )
    if not problems and len({category.value is None for category in categories}) == 2:
        index = next(index for index, category in enumerate(categories) if category.value is None)
        problems[str(index)] = {"value": _("Give all categories a value, or none.")}
    return problems or None


_UNIQUE_FIELDS: dict[str, Callable[[NewCategory], Any]] = {
    "label": lambda category: fold_lookalikes(category.label),
    "hotkey": lambda category: category.hotkey.casefold() or None,
}


def _find_single_category_problems(category: NewCategory, scale: str) -> dict[str, str]:
    problems = {}
    label = category.label
    if (
        not label
        or label != label.strip()
        or len(label) > 200
        or has_control_character(label)
        or has_invisible_character(label)
    ):
        problems["label"] = _("1 to 200 visible characters; no leading or trailing spaces.")
    if category.hotkey and (
        len(category.hotkey) != 1
        or category.hotkey.isspace()
        or has_control_character(category.hotkey)
    ):
        problems["hotkey"] = _("Use one visible character.")
    elif category.hotkey and is_reserved_hotkey(category.hotkey):
        problems["hotkey"] = _("“%(key)s” is reserved (U, S, C, F, G, ?). Use another.") % {
            "key": category.hotkey
        }
    if category.value is None:
        if scale in NUMERIC_SCALES:
            problems["value"] = _("On this scale, categories need values.")
    elif not math.isfinite(category.value):
        problems["value"] = _("Enter a number.")
    elif scale in NON_NEGATIVE_SCALES and category.value < 0:
        problems["value"] = _("Ratio scale values can't be negative.")
    return problems


def assign_hotkeys(declared: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Return the hotkey of each category, in order; ``declared`` has "" for categories without one.

    These get the next default hotkey that no other category has, or "" if none is left. If all
    labels are single digits, each label is its own default: the label 0 must not get the key 1.
    """
    used = {key.casefold() for key in declared if key}
    own_keys = {label for label in labels if label}
    if any(len(label) != 1 or label not in string.digits for label in own_keys):
        own_keys = set()
    unused = iter([key for key in DEFAULT_HOTKEYS if key not in used | own_keys])
    return [
        key or (label if label in own_keys - used else next(unused, ""))
        for key, label in zip(declared, labels, strict=True)
    ]


def is_reserved_hotkey(hotkey: str) -> bool:
    """Return True if the annotation page itself uses this key, in either case."""
    return hotkey.casefold() in RESERVED_HOTKEYS


def _find_duplicates(values: list[Any]) -> list[tuple[int, int]]:
    """Return (index, index of its first occurrence) of each repeated value; None is ignored."""
    first_indexes: dict[Any, int] = {}
    return [
        (index, first_indexes[value])
        for index, value in enumerate(values)
        if value is not None and first_indexes.setdefault(value, index) != index
    ]


def _find_matrix_problem(question: NewQuestion) -> str | None:
    if question.weight_matrix is None:
        return (
            "Custom weights need a weight_matrix." if question.weights == Weights.CUSTOM else None
        )
    if len(question.categories) > MAX_CATEGORIES:
        return None
    return find_matrix_problem(question.weight_matrix, len(question.categories))


def validate_questions(questions: Sequence[NewQuestion]) -> None:
    """Raise InvalidQuestions if a question has a problem or two have the same key."""
    problems = {
        str(index): question_problems
        for index, question in enumerate(questions)
        if (question_problems := find_question_problems(question))
    }
    for index, first_index in _find_duplicates([question.key for question in questions]):
        problems.setdefault(str(index), {}).setdefault(
            "key", f"This key stands at {first_index} already (counted from 0)."
        )
    if problems:
        raise InvalidQuestions(problems)
